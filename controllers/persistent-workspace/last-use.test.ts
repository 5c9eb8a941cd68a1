import { expect, test } from "vitest";
import { parseTime, timestamp } from "#api/time.ts";
import { LastUse } from "./last-use.ts";

const bound = { phase: "Bound" as const };

test("an end is kept as a status can say it: what is written down is not older than what is known", () => {
  const uses = new LastUse();
  // Clocks tell fractions that are smaller than the microseconds of a timestamp.
  const end = 1767225628602.3044;
  uses.note("ns/ws", end);
  expect(uses.of("ns/ws", bound)).toBe(parseTime(timestamp(end)));
});

test("the latest end counts, whatever the order in which they become known", () => {
  const uses = new LastUse();
  uses.note("ns/ws", 2000);
  uses.note("ns/ws", 1000);
  expect(uses.of("ns/ws", bound)).toBe(2000);
  expect(uses.of("ns/ws", { ...bound, boundTime: timestamp(2001) })).toBeUndefined();
});

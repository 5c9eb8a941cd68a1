import { expect, test } from "vitest";
import { simulate } from "./simulate.ts";
import { testWorlds } from "./worlds.ts";

testWorlds(1, 25);

test("a seed gives the same world each time", async () => {
  const first = await simulate({ seed: 5 });
  const second = await simulate({ seed: 5 });
  expect(first.trace.lines.length).toBeGreaterThan(500);
  expect(second.trace.hash()).toBe(first.trace.hash());
});

import { expect, test } from "vitest";
import type { LogRecord } from "#api/log-record.ts";
import { Tails } from "./tails.ts";

const say = (message: string, attempt = 1, stream: LogRecord["stream"] = "stderr"): LogRecord => ({
  run: "u",
  attempt,
  seq: 1,
  time: "2026-01-01T00:00:00.000000Z",
  stream,
  message,
});

test("the last ten lines of stderr are kept", () => {
  const tails = new Tails();
  for (let i = 1; i <= 12; i++) tails.take(say(`line ${i}`));
  tails.take(say("output", 1, "stdout"));
  expect(tails.of("u")).toEqual(Array.from({ length: 10 }, (_, index) => `line ${index + 3}`));
  expect(tails.of("nobody")).toEqual([]);
});

test("a new attempt begins anew, and late words of the old one do not mix in", () => {
  const tails = new Tails();
  tails.take(say("old"));
  tails.take(say("new", 2));
  tails.take(say("late", 1));
  expect(tails.of("u")).toEqual(["new"]);
});

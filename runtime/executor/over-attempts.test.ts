import { expect, test } from "vitest";
import { OverAttempts } from "#runtime/executor/over-attempts.ts";

const id = (runUid: string, attempt: number) => ({ runUid, attempt });

test("an attempt is over with all before it, a later one is not", () => {
  const over = new OverAttempts();
  over.add(id("a", 3));
  expect([1, 2, 3, 4].map((attempt) => over.has(id("a", attempt)))).toEqual([true, true, true, false]);
  over.add(id("a", 1));
  expect(over.has(id("a", 3))).toBe(true);
  expect(over.has(id("b", 1))).toBe(false);
});

test("the Runs that were not touched for longest are dropped first", () => {
  const over = new OverAttempts(2);
  over.add(id("a", 1));
  over.add(id("b", 1));
  over.add(id("a", 1));
  over.add(id("c", 1));
  expect(["a", "b", "c"].map((runUid) => over.has(id(runUid, 1)))).toEqual([true, false, true]);
});

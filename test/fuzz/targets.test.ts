import { expect, test } from "vitest";
import { plants } from "./plants.ts";
import { targets } from "./targets.ts";

test.each(targets.map((target) => [`${target.name}: ${target.holds}`, target] as const))("%s", async (_, target) => {
  const { outcomes, failure } = await target.run({ seed: 1, runs: target.sliceRuns });
  expect(failure).toBeUndefined();
  expect(Object.keys(outcomes).sort()).toEqual([...target.outcomes].sort());
});

test.each(Object.entries(plants))("a fault is found: %s", async (_, target) => {
  const { failure } = await target.run({ seed: 1, runs: 3000 });
  expect(failure).toMatchObject({ input: expect.stringMatching(/./), error: expect.stringMatching(/./) });
});

test("a fault is planted for every target", () => {
  const planted = new Set(Object.values(plants).map(({ name }) => name));
  expect([...planted].sort()).toEqual(targets.map(({ name }) => name).sort());
});

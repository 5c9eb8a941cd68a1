import { expect, test } from "vitest";
import { targets } from "./fixtures.ts";
import { supervise } from "./supervise.ts";
import type { Target } from "./target.ts";

const module = import.meta.resolve("./fixtures.ts");

function fixture(name: string): Target {
  const target = targets.find((each) => each.name === name);
  if (target === undefined) throw new Error(name);
  return target;
}

const fuzz = (name: string, more: { seed?: number; path?: string } = {}, hangMs = 20_000) =>
  supervise(
    {
      module,
      target: fixture(name),
      seed: 1,
      forMs: more.path === undefined ? 1 : undefined,
      path: undefined,
      ...more,
    },
    { hangMs, memoryMb: 64 },
  );

test("what holds is counted by what became of the inputs", async () => {
  const { executions, outcomes, failure } = await fuzz("sound");
  expect({ outcomes, failure }).toEqual({ outcomes: { done: executions }, failure: undefined });
  expect(executions).toBeGreaterThan(0);
});

test("a failure comes with the smallest input, and seed and path try that one again", async () => {
  const { failure } = await fuzz("wrong");
  expect(failure).toMatchObject({ input: "101", error: expect.stringContaining("too many") });
  const again = await fuzz("wrong", { seed: failure?.seed ?? 0, path: failure?.path ?? "" });
  expect(again).toMatchObject({ executions: 1, failure: { input: "101" } });
});

test.each([
  ["endless", /did not end within/, 1000],
  ["hungry", /ended the process with SIGABRT: .*memory/, 20_000],
])("an input that is %s is found, and its path tries it again", async (name, says, hangMs) => {
  const { failure } = await fuzz(name, {}, hangMs);
  expect(Number(failure?.input)).toBeGreaterThan(500);
  expect(failure?.error).toMatch(says);
  const again = await fuzz(name, { seed: failure?.seed ?? 0, path: failure?.path ?? "" }, hangMs);
  expect(again.failure).toMatchObject({ input: failure?.input, error: expect.stringMatching(says) });
});

test("an input that takes too long is a failure, however it ends", async () => {
  const { failure } = await fixture("slow").run({ seed: 2, runs: 100 });
  expect(failure).toMatchObject({
    input: "901",
    error: expect.stringMatching(/took \d+ ms of processor time, over 50/),
  });
});

import { expect, test } from "vitest";
import type { Work } from "#api/work.ts";
import { inSlices } from "./in-slices.ts";
import type { Clock } from "./ports.ts";

/** A clock that goes on by so much whenever it is asked. */
function ticking(ms: number): Clock & { pauses: number } {
  let now = 0;
  return {
    pauses: 0,
    now: () => now,
    monotonic() {
      now += ms;
      return now;
    },
    after(_ms, fn) {
      this.pauses++;
      queueMicrotask(fn);
      return () => {};
    },
  };
}

function* work(steps: number): Work<string> {
  for (let step = 0; step < steps; step++) yield;
  return "done";
}

test.each([
  ["quick work is never interrupted", 0, 0],
  ["slow work lets the others go on after each 10 ms", 5, 10],
  ["each step that is longer than that is a slice of its own", 20, 20],
] as const)("%s", async (_, ms, pauses) => {
  const clock = ticking(ms);
  expect(await inSlices(work(20), clock)).toBe("done");
  expect(clock.pauses).toBe(pauses);
});

test("what the work throws comes out", async () => {
  // biome-ignore lint/correctness/useYield: it fails before it could be interrupted.
  const failing = (function* (): Work<never> {
    throw new Error("no");
  })();
  await expect(inSlices(failing, ticking(0))).rejects.toThrow("no");
});

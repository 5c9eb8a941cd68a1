import { expect, test } from "vitest";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { LastWords } from "./last-words.ts";
import { Wakeup } from "./wakeup.ts";

const setUp = () => {
  const clock = new VirtualClock();
  const leaving = new AbortController();
  const wakeup = new Wakeup();
  return { clock, leaving, wakeup, words: new LastWords(undefined, clock, leaving.signal) };
};

test("growth ends the wait at once: a log that is still being read is read without pauses", async () => {
  const { clock, wakeup, words } = setUp();
  const waiting = words.wait(wakeup);
  wakeup.wake();
  expect(await waiting).toBe(true);
  expect([clock.pending, clock.monotonic()]).toEqual([0, 0]);
});

test("without growth the log is looked at again, after a while less often, for two seconds after the last progress", async () => {
  const { clock, wakeup, words } = setUp();
  const looks: number[] = [];
  for (;;) {
    wakeup.reset();
    const waiting = words.wait(wakeup);
    await clock.elapse(50);
    while (clock.pending > 0) await clock.elapse(50);
    if (!(await waiting)) break;
    looks.push(clock.monotonic());
    if (looks.length === 2) words.progressed();
    expect(words.isQuiet).toBe(clock.monotonic() >= 350);
  }
  expect(looks.slice(0, 8)).toEqual([50, 100, 150, 200, 250, 300, 350, 600]);
  expect(looks.at(-1)).toBeGreaterThanOrEqual(2100);
  expect(looks.at(-1)).toBeLessThan(2400);
});

test("lines of long ago are not waited for", async () => {
  const clock = new VirtualClock();
  const words = new LastWords(clock.now() - 120_000, clock, new AbortController().signal);
  expect(await words.wait(new Wakeup())).toBe(false);
});

import fc from "fast-check";
import { expect, test } from "vitest";
import { Heap } from "#kube/heap.ts";
import { sleep } from "#kube/ports.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { systemClock, systemRandom } from "#kube/system.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";

test("timers fire in order of their time, then of their creation, and see their own time", () => {
  const clock = new VirtualClock(1000);
  const fired: string[] = [];
  const note = (name: string) => () => fired.push(`${name} ${clock.now()}`);
  clock.after(20, note("b"));
  clock.after(10, note("a"));
  clock.after(20, note("c"));
  const cancel = clock.after(15, note("never"));
  cancel();
  cancel();
  expect(clock.pending).toBe(3);
  expect(clock.nextDue()).toBe(1010);
  clock.advance(20);
  expect(fired).toEqual(["a 1010", "b 1020", "c 1020"]);
  expect(clock.pending).toBe(0);
  expect(clock.runNext()).toBe(false);
});

test("cancelled timers do not pile up, and those that wait keep their order", () => {
  const clock = new VirtualClock();
  const fired: number[] = [];
  for (let i = 0; i < 20_000; i++) {
    const cancel = clock.after(30_000 - (i % 7), () => fired.push(i));
    if (i % 2000 !== 0) cancel();
  }
  expect(clock.pending).toBe(10);
  clock.advance(30_000);
  const byDue = [...fired].sort((a, b) => (b % 7) - (a % 7) || a - b);
  expect(fired).toEqual(byDue);
  expect(fired).toHaveLength(10);
});

test("a timer set by a timer fires within the same advance if it is due", () => {
  const clock = new VirtualClock();
  const at: number[] = [];
  const tick = () => {
    at.push(clock.monotonic());
    clock.after(10, tick);
  };
  clock.after(10, tick);
  clock.advance(35);
  expect(at).toEqual([10, 20, 30]);
  expect(clock.monotonic()).toBe(35);
  expect(clock.runNext()).toBe(true);
  expect(clock.monotonic()).toBe(40);
});

test("a jump moves the wall clock only", () => {
  const clock = new VirtualClock(0);
  let fired = false;
  clock.after(100, () => {
    fired = true;
  });
  clock.jump(1_000_000);
  expect([clock.now(), clock.monotonic()]).toEqual([1_000_000, 0]);
  clock.advance(99);
  expect(fired).toBe(false);
  clock.advanceTo(1_000_100);
  expect(fired).toBe(true);
  clock.advanceTo(5);
  expect(clock.now()).toBe(1_000_100);
});

test("elapse lets promises continue between timers", async () => {
  const clock = new VirtualClock();
  const log: number[] = [];
  const loop = async () => {
    for (let i = 0; i < 3; i++) {
      await sleep(clock, 10);
      await Promise.resolve();
      log.push(clock.monotonic());
    }
  };
  const running = loop();
  await clock.elapse(30);
  await running;
  expect(log).toEqual([10, 20, 30]);
});

test("sleep ends with its signal and leaves no timer", async () => {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const sleeping = sleep(clock, 1000, stop.signal);
  expect(clock.pending).toBe(1);
  stop.abort();
  await sleeping;
  expect(clock.pending).toBe(0);
  await sleep(clock, 1000, stop.signal);
});

test("the heap gives elements in order, also after some were dropped", () => {
  fc.assert(
    fc.property(fc.array(fc.integer()), (numbers) => {
      const heap = new Heap<number>((a, b) => a < b);
      for (const n of numbers) heap.push(n);
      heap.retain((n) => n % 3 !== 0);
      const popped: number[] = [];
      while (heap.size > 0) popped.push(heap.pop() ?? Number.NaN);
      expect(popped).toEqual(numbers.filter((n) => n % 3 !== 0).sort((a, b) => a - b));
    }),
  );
});

test("the same seed gives the same numbers, another seed others, all in [0, 1)", () => {
  const take = (seed: number) => {
    const random = seededRandom(seed);
    return [...Array.from({ length: 1000 }, () => random.next()), random.uuid()];
  };
  expect(take(42)).toEqual(take(42));
  expect(take(42)).not.toEqual(take(43));
  const numbers = take(1).slice(0, 1000) as number[];
  expect(Math.min(...numbers)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...numbers)).toBeLessThan(1);
  const mean = numbers.reduce((a, b) => a + b) / 1000;
  expect(Math.abs(mean - 0.5)).toBeLessThan(0.05);
});

test.each([
  ["seeded", seededRandom(9)],
  ["system", systemRandom],
])("uuids of the %s source are version 4 and differ", (_, random) => {
  const uuids = Array.from({ length: 100 }, () => random.uuid());
  for (const uuid of uuids)
    expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(new Set(uuids).size).toBe(100);
});

test("a system timer of 30 days does not fire at once, and a cancelled one never", async () => {
  const fired: string[] = [];
  const cancelLong = systemClock.after(30 * 24 * 3_600_000, () => fired.push("long"));
  const cancelShort = systemClock.after(1, () => fired.push("cancelled"));
  cancelShort();
  await sleep(systemClock, 15);
  cancelLong();
  expect(fired).toEqual([]);
});

import fc from "fast-check";
import { expect, test } from "vitest";
import { seededRandom } from "#kube/seeded-random.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { WorkQueue } from "#kube/work-queue.ts";

function setup(options: { baseDelayMs?: number; maxDelayMs?: number } = {}) {
  const clock = new VirtualClock();
  const queue = new WorkQueue({ clock, random: seededRandom(1), ...options });
  /** Takes all keys that are ready, without processing them to the end. */
  const takeAll = async () => {
    const keys: string[] = [];
    while (queue.stats().depth > 0) {
      const key = await queue.next();
      if (key !== undefined) keys.push(key);
    }
    return keys;
  };
  return { clock, queue, takeAll };
}

test("a key that is added many times is handed out once", async () => {
  const { queue, takeAll } = setup();
  for (let i = 0; i < 1000; i++) queue.add("a");
  expect(await takeAll()).toEqual(["a"]);
  expect(queue.stats()).toMatchObject({ adds: 1000, taken: 1, depth: 0, processing: 1 });
});

test("a key that is added while it is processed comes once more, after done", async () => {
  const { queue, takeAll } = setup();
  queue.add("a");
  await queue.next();
  queue.add("a");
  queue.add("a");
  expect(await takeAll()).toEqual([]);
  queue.done("a");
  expect(await takeAll()).toEqual(["a"]);
  queue.done("a");
  expect(await takeAll()).toEqual([]);
});

test("the highest priority of all adds counts, and equals keep their order", async () => {
  const { queue, takeAll } = setup();
  queue.add("low", { priority: -1 });
  queue.add("first");
  queue.add("second");
  queue.add("raised", { priority: -1 });
  queue.add("raised", { priority: 5 });
  queue.add("raised", { priority: 1 });
  expect(await takeAll()).toEqual(["raised", "first", "second", "low"]);
});

test("the earliest of all delays counts", async () => {
  const { clock, queue, takeAll } = setup();
  queue.add("a", { afterMs: 5000 });
  queue.add("a", { afterMs: 1000 });
  queue.add("a", { afterMs: 9000 });
  expect(clock.pending).toBe(1);
  clock.advance(999);
  expect(await takeAll()).toEqual([]);
  clock.advance(1);
  expect(await takeAll()).toEqual(["a"]);
  queue.done("a");
  clock.advance(10_000);
  expect(await takeAll()).toEqual([]);
  expect(clock.pending).toBe(0);
});

test("an add without delay overtakes a delayed one", async () => {
  const { clock, queue, takeAll } = setup();
  queue.add("a", { afterMs: 5000 });
  queue.add("a");
  expect(await takeAll()).toEqual(["a"]);
  queue.done("a");
  clock.advance(6000);
  expect(await takeAll()).toEqual([]);
});

test("a delay of 30 days does not fire at once, and no sleep is longer than an hour", async () => {
  const { clock, queue, takeAll } = setup();
  const day = 24 * 3_600_000;
  queue.add("a", { afterMs: 30 * day });
  const due = clock.nextDue() ?? 0;
  expect(due - clock.now()).toBeLessThanOrEqual(3_600_000);
  clock.advance(30 * day - 1);
  expect(await takeAll()).toEqual([]);
  clock.advance(1);
  expect(await takeAll()).toEqual(["a"]);
});

test.each([
  ["forward", 7 * 3_600_000],
  ["back", -7 * 3_600_000],
])("a wall clock set %s moves no delay", async (_, jump) => {
  const { clock, queue, takeAll } = setup();
  queue.add("a", { afterMs: 1000 });
  clock.jump(jump);
  clock.advance(999);
  expect(await takeAll()).toEqual([]);
  clock.advance(1);
  expect(await takeAll()).toEqual(["a"]);
});

test("back-off doubles up to its limit, is spread, and forget ends it", () => {
  const { queue } = setup({ baseDelayMs: 100, maxDelayMs: 1000 });
  const delays = Array.from({ length: 6 }, () => queue.retry("a"));
  const full = [100, 200, 400, 800, 1000, 1000];
  delays.forEach((delay, i) => {
    expect(delay).toBeGreaterThanOrEqual(0.75 * (full[i] ?? 0));
    expect(delay).toBeLessThanOrEqual(1.25 * (full[i] ?? 0));
  });
  expect(queue.retry("b")).not.toBe(queue.retry("c"));
  expect(queue.failures("a")).toBe(6);
  queue.forget("a");
  expect(queue.failures("a")).toBe(0);
  expect(queue.retry("a")).toBeLessThanOrEqual(125);
});

test("drain hands out what is ready, drops what is delayed, and ends when all is done", async () => {
  const { clock, queue } = setup();
  queue.add("ready");
  queue.add("later", { afterMs: 1000 });
  queue.add("busy", { priority: 1 });
  expect(await queue.next()).toBe("busy");
  queue.add("busy");
  let drained = false;
  const end = queue.drain().then(() => {
    drained = true;
  });
  queue.add("too late");
  expect(await queue.next()).toBe("ready");
  queue.done("ready");
  queue.done("busy");
  expect(await queue.next()).toBe("busy");
  expect(await queue.next()).toBeUndefined();
  expect(drained).toBe(false);
  queue.done("busy");
  await end;
  expect(clock.pending).toBe(0);
  expect(queue.stats()).toMatchObject({ depth: 0, delayed: 0, processing: 0, failing: 0 });
});

test("close wakes everybody who waits and leaves no timer", async () => {
  const { clock, queue } = setup();
  const waiting = [queue.next(), queue.next()];
  queue.add("later", { afterMs: 1000 });
  queue.retry("failing");
  await queue.close();
  expect(await Promise.all(waiting)).toEqual([undefined, undefined]);
  expect(clock.pending).toBe(0);
  expect(queue.stats()).toMatchObject({ depth: 0, delayed: 0, processing: 0, failing: 0 });
});

/** What the queue promises, as the simplest program that keeps it: used to judge the real one. */
class Model {
  waiting = new Map<string, { due: number; priority: number }>();
  processing = new Set<string>();

  add(key: string, due: number, priority: number) {
    const old = this.waiting.get(key);
    this.waiting.set(key, {
      due: Math.min(due, old?.due ?? Number.POSITIVE_INFINITY),
      priority: Math.max(priority, old?.priority ?? Number.NEGATIVE_INFINITY),
    });
  }

  ready(now: number): Map<string, number> {
    const result = new Map<string, number>();
    for (const [key, { due, priority }] of this.waiting) {
      if (due <= now && !this.processing.has(key)) result.set(key, priority);
    }
    return result;
  }
}

const keys = fc.constantFrom("a", "b", "c", "d");
const command = fc.oneof(
  fc.record({ do: fc.constant("add" as const), key: keys, priority: fc.integer({ min: -1, max: 1 }) }),
  fc.record({ do: fc.constant("delay" as const), key: keys, ms: fc.integer({ min: 0, max: 50 }) }),
  fc.record({ do: fc.constant("take" as const) }),
  fc.record({ do: fc.constant("done" as const), key: keys }),
  fc.record({ do: fc.constant("advance" as const), ms: fc.integer({ min: 0, max: 30 }) }),
);

test("any sequence of calls: no key twice at a time, priority order, delays kept, nothing lost, nothing leaks", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 60 }), async (commands) => {
      const { clock, queue } = setup();
      const model = new Model();
      const take = async () => {
        const ready = model.ready(clock.monotonic());
        expect(queue.stats().depth).toBe(ready.size);
        if (ready.size === 0) return false;
        const key = (await queue.next()) ?? "";
        expect(ready.get(key)).toBe(Math.max(...ready.values()));
        model.waiting.delete(key);
        model.processing.add(key);
        return true;
      };
      for (const step of commands) {
        if (step.do === "add") {
          queue.add(step.key, { priority: step.priority });
          model.add(step.key, clock.monotonic(), step.priority);
        } else if (step.do === "delay") {
          queue.add(step.key, { afterMs: step.ms });
          model.add(step.key, clock.monotonic() + step.ms, 0);
        } else if (step.do === "take") {
          await take();
        } else if (step.do === "done") {
          queue.done(step.key);
          model.processing.delete(step.key);
        } else clock.advance(step.ms);
      }
      clock.advance(100);
      for (const key of model.processing) queue.done(key);
      model.processing.clear();
      while (await take());
      for (const key of model.processing) queue.done(key);
      expect(queue.stats()).toMatchObject({ depth: 0, delayed: 0, processing: 0 });
      expect(clock.pending).toBe(0);
      await queue.close();
    }),
    { numRuns: 300 },
  );
});

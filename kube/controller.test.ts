import { expect, test } from "vitest";
import { type ControllerOptions, createController } from "#kube/controller.ts";
import { after, done, fatal, type Outcome, retry, soonest } from "#kube/outcome.ts";
import { sleep } from "#kube/ports.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { failure, StatusError } from "#kube/transport.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";

function setup(reconcile: ControllerOptions["reconcile"], options: Partial<ControllerOptions> = {}) {
  const clock = new VirtualClock();
  const controller = createController({
    name: "test",
    reconcile,
    clock,
    random: seededRandom(1),
    logger: silentLogger,
    ...options,
  });
  return { clock, controller };
}

const conflict = () => new StatusError(failure(409, "Conflict", "the object has been modified"));

/** The first pass ends with `outcome`; `passes` says how many there were after ten milliseconds, a second, a minute. */
const outcomes: Record<string, { outcome: () => Outcome; passes: number[]; counted: string }> = {
  "done waits for an event": { outcome: () => done, passes: [1, 1, 1], counted: "done" },
  "after looks again in time": { outcome: () => after(1000, "a deadline"), passes: [1, 2, 2], counted: "after" },
  "after zero looks again at once": { outcome: () => after(0, "more to do"), passes: [2, 2, 2], counted: "after" },
  "retry looks again after a back-off": { outcome: () => retry(new Error("no")), passes: [1, 2, 2], counted: "retry" },
  "a wait that is not a number is a bug, and no hot loop": {
    outcome: () => after(Number.NaN, "broken time"),
    passes: [1, 2, 2],
    counted: "retry",
  },
  "a conflict is a retry that is counted apart": {
    outcome: () => retry(conflict()),
    passes: [1, 2, 2],
    counted: "conflict",
  },
  "fatal is not tried again": { outcome: () => fatal("Invalid", "bad template"), passes: [1, 1, 1], counted: "fatal" },
  "a thrown error is a retry": {
    outcome: () => {
      throw new Error("bug");
    },
    passes: [1, 2, 2],
    counted: "retry",
  },
};

test.each(Object.entries(outcomes))("%s", async (_, { outcome, passes, counted }) => {
  let count = 0;
  const { clock, controller } = setup(async () => (count++ === 0 ? outcome() : done));
  controller.start();
  controller.enqueue("a");
  const seen: number[] = [];
  for (const ms of [10, 990, 59_000]) {
    await clock.elapse(ms);
    seen.push(count);
  }
  expect(seen).toEqual(passes);
  expect(controller.metrics().outcomes).toMatchObject({ [counted]: counted === "done" ? count : 1 });
  await controller.stop();
  expect(clock.pending).toBe(0);
});

test("a fatal outcome is reported once, with the key", async () => {
  const reported: string[] = [];
  const { clock, controller } = setup(async () => fatal("Invalid", "bad template"), {
    onFatal: (key, { reason, message }) => reported.push(`${key} ${reason} ${message}`),
  });
  controller.start();
  controller.enqueue("ns/a");
  await clock.elapse(3_600_000);
  expect(reported).toEqual(["ns/a Invalid bad template"]);
  await controller.stop();
});

test("failures are counted per key until a pass succeeds; planned waits do not count", async () => {
  const results: Outcome[] = [retry(new Error("1")), retry(new Error("2")), after(10, "wait"), done];
  const { clock, controller } = setup(async () => results.shift() ?? done);
  const failures: number[] = [];
  controller.start();
  controller.enqueue("a");
  for (let i = 0; i < 4; i++) {
    await clock.settle();
    failures.push(controller.failures("a"));
    clock.runNext();
  }
  expect(failures).toEqual([1, 2, 0, 0]);
  await controller.stop();
});

test("never two passes over one key at a time, and different keys side by side up to the number of workers", async () => {
  const running = new Map<string, number>();
  let most = 0;
  const { clock, controller } = setup(
    async (key) => {
      running.set(key, (running.get(key) ?? 0) + 1);
      expect(running.get(key)).toBe(1);
      most = Math.max(
        most,
        [...running.values()].reduce((a, b) => a + b),
      );
      await sleep(clock, 10);
      running.set(key, 0);
      return done;
    },
    { workers: 3 },
  );
  controller.start();
  for (let i = 0; i < 200; i++) {
    controller.enqueue(`k${i % 7}`);
    await clock.elapse(3);
  }
  await clock.elapse(100);
  expect(most).toBe(3);
  expect(controller.metrics().thrown).toBe(0);
  await controller.stop();
});

test("the deadline of a pass aborts its signal and is counted", async () => {
  let reason: unknown;
  const { clock, controller } = setup(
    async (_, signal) => {
      await sleep(clock, 60_000, signal);
      reason = signal.reason;
      return done;
    },
    { deadlineMs: 5000 },
  );
  controller.start();
  controller.enqueue("a");
  await clock.elapse(5000);
  expect(reason).toMatchObject({ name: "PassOverdueError" });
  expect(controller.metrics()).toMatchObject({ overdue: 1, outcomes: { done: 1 }, busyMs: 5000 });
  await controller.stop();
});

test("stop aborts the passes that run, waits for them, and no pass begins any more", async () => {
  const ended: string[] = [];
  let begun = 0;
  const { clock, controller } = setup(
    async (key, signal) => {
      begun++;
      await sleep(clock, 60_000, signal);
      await sleep(clock, 100);
      ended.push(key);
      throw new Error("aborted");
    },
    { workers: 2 },
  );
  controller.start();
  for (const key of ["a", "b", "c"]) controller.enqueue(key);
  await clock.elapse(10);
  let stopped = false;
  const stop = controller.stop().then(() => {
    stopped = true;
  });
  await clock.elapse(50);
  expect(stopped).toBe(false);
  await clock.elapse(50);
  await stop;
  expect(ended).toEqual(["a", "b"]);
  expect(controller.metrics().outcomes.retry).toBe(0);
  controller.enqueue("d");
  await clock.elapse(3_600_000);
  expect(begun).toBe(2);
  expect(clock.pending).toBe(0);
});

test("the signal given to start stops the controller, also when it is aborted already", async () => {
  const stop = new AbortController();
  stop.abort();
  let passes = 0;
  const { clock, controller } = setup(async () => {
    passes++;
    return done;
  });
  controller.enqueue("a");
  controller.start(stop.signal);
  await clock.elapse(1000);
  expect(passes).toBe(0);
  await controller.stop();
});

test("starting twice is refused", async () => {
  const { controller } = setup(async () => done);
  controller.start();
  expect(() => controller.start()).toThrow("started before");
  await controller.stop();
});

test("an onFatal that throws does not stop the worker", async () => {
  const { clock, controller } = setup(async (key) => (key === "bad" ? fatal("Invalid", "no") : done), {
    onFatal: () => {
      throw new Error("broken callback");
    },
  });
  controller.start();
  controller.enqueue("bad");
  controller.enqueue("good");
  await clock.elapse(10);
  expect(controller.metrics().outcomes).toMatchObject({ fatal: 1, done: 1 });
  await controller.stop();
});

test("idle resolves when nothing is ready or running, although keys wait for later", async () => {
  const { clock, controller } = setup(async () => {
    await sleep(clock, 10);
    return after(1000, "later");
  });
  controller.enqueue("a");
  let idle = false;
  const waiting = controller.idle().then(() => {
    idle = true;
  });
  controller.start();
  await clock.elapse(5);
  expect(idle).toBe(false);
  await clock.elapse(5);
  await waiting;
  expect(controller.metrics().queue.delayed).toBe(1);
  await controller.stop();
});

test("of several outcomes the most urgent counts", () => {
  const error = retry(new Error("x"));
  const stop = fatal("Invalid", "no");
  expect(soonest()).toEqual(done);
  expect(soonest(done, after(5, "b"), after(3, "a"), after(9, "c"))).toEqual(after(3, "a"));
  expect(soonest(after(1, "a"), error, done)).toBe(error);
  expect(soonest(error, stop)).toBe(stop);
});

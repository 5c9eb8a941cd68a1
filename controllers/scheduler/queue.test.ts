import fc from "fast-check";
import { expect, test } from "vitest";
import type { Waiting } from "./explain.ts";
import { Queue } from "./queue.ts";
import { makeWorkload, type RunOptions } from "./testing/builders.ts";
import type { Topic } from "./topics.ts";
import { isBefore, type Workload } from "./workload.ts";

const waiting = (...topics: Topic[]): Waiting => ({
  reason: "InsufficientCapacity",
  message: "m",
  hopeless: false,
  byLabels: false,
  topics,
  holdable: undefined,
});

/** Takes Runs out of a queue as if each could be placed. */
function drain(queue: Queue, limit = Number.POSITIVE_INFINITY): string[] {
  const names: string[] = [];
  for (let entry = queue.next(); entry !== undefined && names.length < limit; entry = queue.next()) {
    names.push(entry.run.name);
    queue.remove(entry.run.uid);
  }
  return names;
}

function filled(...runs: [string, RunOptions?][]): Queue {
  const queue = new Queue();
  for (const [name, options] of runs) queue.add(makeWorkload(name, options), 0);
  return queue;
}

test("by priority, then age, then order of arrival", () => {
  const queue = filled(
    ["young", { created: 5 }],
    ["old", { created: 1 }],
    ["urgent", { created: 9, spec: { priority: 1 } }],
    ["twin-b", { created: 3 }],
    ["twin-a", { created: 3 }],
  );
  expect(drain(queue)).toEqual(["urgent", "old", "twin-b", "twin-a", "young"]);
});

test("namespaces take turns, then the Runtimes of a namespace: a long queue delays nobody", () => {
  const queue = new Queue();
  for (let i = 0; i < 6; i++) queue.add(makeWorkload(`a${i}`, { namespace: "a" }), 0);
  for (let i = 0; i < 2; i++) queue.add(makeWorkload(`b-bash${i}`, { namespace: "b" }), 0);
  for (let i = 0; i < 2; i++) queue.add(makeWorkload(`b-py${i}`, { namespace: "b", runtime: "python" }), 0);
  expect(drain(queue)).toEqual(["a0", "b-bash0", "a1", "b-py0", "a2", "b-bash1", "a3", "b-py1", "a4", "a5"]);
});

test("when the first of a class is blocked none of the class is tried, others are", () => {
  const queue = filled(["a1"], ["a2"], ["big", { requests: { runs: 2 } }], ["a3"]);
  const first = queue.next();
  expect(first?.run.name).toBe("a1");
  if (first !== undefined) queue.block(first, waiting("capacity"));
  expect(drain(queue)).toEqual(["big"]);
  queue.add(makeWorkload("a4"), 0);
  expect(drain(queue)).toEqual([]);
  expect(queue.wake("ns/bash", "capacity")).toBe(1);
  expect(drain(queue)).toEqual(["a1", "a2", "a3", "a4"]);
});

test("a class is woken by its topics only, and only when its first Run passes the test", () => {
  const queue = filled(["a"], ["b", { requests: { runs: 2 } }]);
  for (let entry = queue.next(); entry !== undefined; entry = queue.next())
    queue.block(entry, waiting("capacity", "pod:x"));
  expect(queue.wake("ns/bash", "pods")).toBe(0);
  expect(queue.wake("ns/python", "capacity")).toBe(0);
  expect(queue.wake("ns/bash", "capacity", (head) => head.requests.runs === 1)).toBe(1);
  expect(drain(queue)).toEqual(["a"]);
  expect(queue.wakeNamespace("other", "pod:x")).toBe(0);
  expect(queue.wakeNamespace("ns", "pod:x")).toBe(1);
  expect(drain(queue)).toEqual(["b"]);
  expect(queue.size).toBe(0);
});

test("Runs of different workspaces do not block each other", () => {
  const queue = filled(["a", { spec: { workspace: { name: "w1" } } }], ["b", { spec: { workspace: { name: "w2" } } }]);
  const first = queue.next();
  if (first !== undefined) queue.block(first, waiting("workspace:w1"));
  expect(drain(queue)).toEqual(["b"]);
});

test("a Run with changed labels keeps its place and its waiting time", () => {
  const queue = new Queue();
  const old = makeWorkload("a");
  queue.add(old, 5);
  queue.add(makeWorkload("b"), 6);
  const entry = queue.add({ ...old, labels: { team: "x" } }, 9);
  expect(entry).toMatchObject({ since: 5, run: { labels: { team: "x" } } });
  expect(drain(queue)).toEqual(["a", "b"]);
});

test("a Run that was overtaken as often as the limit allows is tried again", () => {
  const queue = filled(["big", { requests: { runs: 2 }, created: 1 }]);
  const big = queue.next();
  if (big === undefined) throw new Error("nothing to try");
  queue.block(big, waiting("capacity"));
  const older = makeWorkload("older", { created: 0 });
  const younger = makeWorkload("younger", { created: 2 });
  queue.noteOvertaking(older, "p", 2);
  queue.noteOvertaking(younger, "p", 2);
  expect([big.overtaken, queue.next()]).toEqual([1, undefined]);
  queue.noteOvertaking(younger, "p", 2);
  expect([big.overtaken, queue.next()]).toEqual([2, big]);
});

interface Model {
  readonly runs: Map<string, Workload>;
  /** Names of classes (here: requested places) that are blocked. */
  readonly blocked: Set<number>;
}

const sizeOf = (run: Workload) => run.requests.runs ?? 0;

/** The first in order among the Runs of open classes. */
function expected({ runs, blocked }: Model): Workload | undefined {
  return [...runs.values()].filter((run) => !blocked.has(sizeOf(run))).sort((a, b) => (isBefore(a, b) ? -1 : 1))[0];
}

const step = fc.oneof(
  fc.record({
    kind: fc.constant("add" as const),
    id: fc.integer({ min: 0, max: 30 }),
    places: fc.integer({ min: 1, max: 3 }),
    priority: fc.integer({ min: 0, max: 2 }),
    created: fc.integer({ min: 0, max: 3 }),
  }),
  fc.record({ kind: fc.constant("remove" as const), id: fc.integer({ min: 0, max: 30 }) }),
  fc.record({ kind: fc.constantFrom("place" as const, "block" as const) }),
  fc.record({ kind: fc.constant("wake" as const), places: fc.integer({ min: 1, max: 3 }) }),
);

test("whatever happens, the next one is the first in order of all that are not blocked", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const queue = new Queue();
      const model: Model = { runs: new Map(), blocked: new Set() };
      for (const one of steps) {
        if (one.kind === "add") {
          const { id, places, priority, created } = one;
          if (model.runs.has(`uid-r${id}`)) continue;
          const run = makeWorkload(`r${id}`, { requests: { runs: places }, spec: { priority }, created });
          model.runs.set(run.uid, run);
          queue.add(run, 0);
        } else if (one.kind === "remove") {
          model.runs.delete(`uid-r${one.id}`);
          queue.remove(`uid-r${one.id}`);
        } else if (one.kind === "wake") {
          model.blocked.delete(one.places);
          queue.wake("ns/bash", "capacity", (head) => sizeOf(head) === one.places);
        } else {
          const entry = queue.next();
          expect(entry?.run).toBe(expected(model));
          if (entry === undefined) continue;
          if (one.kind === "block") {
            model.blocked.add(sizeOf(entry.run));
            queue.block(entry, waiting("capacity"));
          } else {
            model.runs.delete(entry.run.uid);
            queue.remove(entry.run.uid);
          }
        }
        // A class that nobody is in any more is forgotten, and with it that it was blocked.
        for (const places of [...model.blocked]) {
          if (![...model.runs.values()].some((run) => sizeOf(run) === places)) model.blocked.delete(places);
        }
        expect(queue.size).toBe(model.runs.size);
        expect(queue.next()?.run).toBe(expected(model));
      }
    }),
    { numRuns: 300 },
  );
});

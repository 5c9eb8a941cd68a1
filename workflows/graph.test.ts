import fc from "fast-check";
import { expect, test } from "vitest";
import { buildGraph, type GraphJob } from "./graph.ts";

const graphOf = (needs: Record<string, string[] | undefined>) =>
  buildGraph(
    Object.fromEntries(Object.entries(needs).map(([id, list]): [string, GraphJob] => [id, { needs: list }])),
    "spec.jobs",
  );

const orders: Record<string, { needs: Record<string, string[] | undefined>; want: string[] }> = {
  "jobs without needs keep the order of the spec": {
    needs: { b: undefined, a: [], c: undefined },
    want: ["b", "a", "c"],
  },
  "a job stands behind the ones it needs": { needs: { c: ["b"], b: ["a"], a: [] }, want: ["a", "b", "c"] },
  "a diamond is walked once": { needs: { d: ["b", "c"], c: ["a"], b: ["a"], a: [] }, want: ["a", "c", "b", "d"] },
  "ids like members of every object are ids": {
    needs: { constructor: [], toString: ["constructor"] },
    want: ["constructor", "toString"],
  },
};

test.each(Object.entries(orders))("%s", (_, { needs, want }) => {
  expect(graphOf(needs)).toMatchObject({ graph: { order: want }, errors: [] });
});

const faults: Record<string, { needs: Record<string, string[]>; want: [path: string, message: string][] }> = {
  "a need that is no job": {
    needs: { a: ["b", "c"], b: [] },
    want: [["spec.jobs.a.needs[1]", 'there is no job "c"']],
  },
  "a member of every object is no job": {
    needs: { a: ["constructor"] },
    want: [["spec.jobs.a.needs[0]", 'there is no job "constructor"']],
  },
  "a job that needs itself": { needs: { a: ["a"] }, want: [["spec.jobs.a.needs[0]", 'job "a" needs itself']] },
  "a need that stands there twice": {
    needs: { a: [], b: ["a", "a"] },
    want: [["spec.jobs.b.needs[1]", '"a" is listed twice']],
  },
  "two jobs that wait for each other": {
    needs: { a: ["b"], b: ["a"] },
    want: [["spec.jobs.b.needs[0]", "jobs wait for each other: a -> b -> a"]],
  },
  "the way around a long cycle is printed, without what only leads to it": {
    needs: { x: ["a"], a: ["y", "b"], y: [], b: ["c"], c: ["a", "y"] },
    want: [["spec.jobs.c.needs[0]", "jobs wait for each other: a -> b -> c -> a"]],
  },
  "two cycles are two errors": {
    needs: { a: ["b"], b: ["a"], c: ["d"], d: ["c"] },
    want: [
      ["spec.jobs.b.needs[0]", "jobs wait for each other: a -> b -> a"],
      ["spec.jobs.d.needs[0]", "jobs wait for each other: c -> d -> c"],
    ],
  },
};

test.each(Object.entries(faults))("refused: %s", (_, { needs, want }) => {
  const { errors, graph } = graphOf(needs);
  expect(errors.map(({ path, message }) => [path, message])).toEqual(want);
  expect(errors.every(({ advice }) => (advice ?? "") !== "")).toBe(true);
  // Other checks go on with what is right: all jobs are there.
  expect([...graph.order].sort()).toEqual(Object.keys(needs).sort());
});

const ids = fc.integer({ min: 1, max: 24 }).map((count) => Array.from({ length: count }, (_, index) => `j${index}`));
const anyGraph = ids.chain((names) =>
  fc.tuple(
    ...names.map((name) =>
      fc.uniqueArray(fc.constantFrom(...names), { maxLength: 4 }).map((needs) => [name, needs] as const),
    ),
  ),
);
const acyclic = anyGraph.map((jobs) =>
  jobs.map(([name, needs]) => [name, needs.filter((need) => Number(need.slice(1)) < Number(name.slice(1)))] as const),
);

test("a graph without a way back has no error, and the order respects every need", () => {
  fc.assert(
    fc.property(
      acyclic.chain((jobs) => fc.shuffledSubarray(jobs, { minLength: jobs.length })),
      (jobs) => {
        const { graph, errors } = buildGraph(
          Object.fromEntries(jobs.map(([name, needs]) => [name, { needs }])),
          "jobs",
        );
        expect(errors).toEqual([]);
        expect(graph.order).toHaveLength(jobs.length);
        for (const [name, needs] of jobs) {
          for (const need of needs) {
            expect(graph.order.indexOf(need)).toBeLessThan(graph.order.indexOf(name));
            expect(graph.dependents.get(need)).toContain(name);
          }
        }
      },
    ),
  );
});

test("a cycle is found exactly when some job is reachable from itself, and each printed way is one", () => {
  fc.assert(
    fc.property(anyGraph, (jobs) => {
      const needs = new Map(jobs);
      const reaches = (from: string, goal: string, seen = new Set<string>()): boolean =>
        (needs.get(from) ?? []).some((next) => {
          if (next === goal) return true;
          if (seen.has(next)) return false;
          seen.add(next);
          return reaches(next, goal, seen);
        });
      const { graph, errors } = buildGraph(
        Object.fromEntries(jobs.map(([name, list]) => [name, { needs: list }])),
        "jobs",
      );
      expect(errors.length > 0).toBe(jobs.some(([name]) => reaches(name, name)));
      expect(new Set(graph.order)).toEqual(new Set(needs.keys()));
      for (const { message } of errors) {
        const way = /: (.*)$/.exec(message)?.[1]?.split(" -> ") ?? [];
        way.slice(1).forEach((need, index) => {
          expect(needs.get(way[index] ?? "")).toContain(need);
        });
      }
    }),
  );
});

import { afterAll, describe, expect, test } from "vitest";
import { stableJson } from "#api/json.ts";
import { markdownTable } from "#machines/lib/table.ts";
import { modelled } from "./models.ts";
import { Replay } from "./replay.ts";
import { count, coveringPaths, simplePaths } from "./walk.ts";

/** Simple paths replayed of each chart, at most. */
const simplePathLimit = 5000;

const rows: string[][] = [];
afterAll(() => {
  const head = ["chart", "states", "transitions", "refusals", "paths", "simple paths", "steps"];
  process.stdout.write(`\n${markdownTable(head, rows)}\n`);
});

describe.each(modelled)("$name", (each) => {
  const { name, machine, walk, minimums } = each;
  const starts = [each.initial(), ...(walk.starts ?? [])];
  const covering = coveringPaths(machine, walk, starts);
  const simple = simplePaths(machine, walk, each.initial(), simplePathLimit);
  const replay = new Replay(each);

  test("every event of the chart has a sample, and every sample is an event of the chart", () => {
    const events = new Set(replay.chart.transitions.map((transition) => transition.event));
    expect(Object.keys(walk.samples).sort()).toEqual([...events].sort());
    for (const samples of Object.values(walk.samples)) expect(samples.length).toBeGreaterThan(0);
  });

  test("every generated path keeps the invariants on the pure machine", () => {
    for (const paths of [...covering, ...simple]) replay.run(paths, "memory");
  });

  test("every state, transition and guard outcome lies on a path", () => {
    expect([...replay.states].sort()).toEqual(replay.chart.states.map((state) => state.name).sort());
    expect([...replay.taken].sort()).toEqual(replay.chart.transitions.map((transition) => transition.id).sort());
    const guarded = replay.chart.states.flatMap((state) =>
      [...new Set(replay.chart.transitions.filter(({ from }) => from === state.name).map(({ event }) => event))]
        .map((event) => replay.chart.transitions.filter((it) => it.from === state.name && it.event === event))
        .filter((branches) => branches.every(({ guard }) => guard !== undefined))
        .map(([first]) => `${first?.from} ${first?.event}`),
    );
    expect([...replay.refused].sort()).toEqual(guarded.sort());
  });

  test("the walk is not smaller than it was", () => {
    expect(replay.states.size).toBeGreaterThanOrEqual(minimums.states);
    expect(replay.taken.size).toBeGreaterThanOrEqual(minimums.transitions);
    expect(replay.refused.size).toBeGreaterThanOrEqual(minimums.refusals);
    expect(count(covering)).toBeGreaterThanOrEqual(minimums.coveringPaths);
    expect(count(simple)).toBeGreaterThanOrEqual(minimums.simplePaths);
    const counts = [replay.states.size, replay.taken.size, replay.refused.size, count(covering), count(simple)];
    rows.push([name, ...counts.map(String), String(replay.steps)]);
  });

  // The attempt's chart has no status; restart.test.ts crashes its agent at every step instead.
  if (each.persistence === undefined) return;
  test("every path ends the same when each step goes through the status", () => {
    const stored = new Replay(each);
    for (const paths of [...covering, ...simple]) {
      const ends = replay.run(paths, "memory").map((end) => stableJson(replay.statusOf(end)));
      const storedEnds = stored.run(paths, "status").map((end) => stableJson(stored.statusOf(end)));
      expect(storedEnds).toEqual(ends);
    }
  });
});

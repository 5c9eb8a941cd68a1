import { afterAll, describe, expect, test } from "vitest";
import { stableJson } from "#api/json.ts";
import { coverageOf, coverageTable } from "./coverage.ts";
import { modelled } from "./models.ts";
import { Replay } from "./replay.ts";
import { count, coveringPaths, simplePaths } from "./walk.ts";

/** Simple paths replayed of each chart, at most. */
const simplePathLimit = 5000;

const rows: string[][] = [];
afterAll(() => {
  process.stdout.write(coverageTable(rows));
});

describe.each(modelled)("$name", (each) => {
  const { machine, walk, minimums } = each;
  const starts = [each.initial(), ...(walk.starts ?? [])];
  const covering = coveringPaths(machine, walk, starts);
  const simple = simplePaths(machine, walk, each.initial(), simplePathLimit);
  const replay = new Replay(each);
  /** The statuses in which the paths end on the pure machine; walked once for all tests. */
  let ends: string[][] | undefined;
  const pureEnds = () => {
    ends ??= [...covering, ...simple].map((paths) =>
      replay.run(paths, "memory").map((end) => stableJson(replay.statusOf(end))),
    );
    return ends;
  };

  test("every event of the chart has a sample, and every sample is an event of the chart", () => {
    const events = new Set(replay.chart.transitions.map((transition) => transition.event));
    expect(Object.keys(walk.samples).sort()).toEqual([...events].sort());
    for (const samples of Object.values(walk.samples)) expect(samples.length).toBeGreaterThan(0);
  });

  test("every generated path keeps the invariants on the pure machine", () => {
    expect(pureEnds().flat()).toHaveLength(count(covering) + count(simple));
  });

  test("every state, transition and guard outcome lies on a path", () => {
    expect([...replay.states].sort()).toEqual(replay.chart.states.map((state) => state.name).sort());
    expect([...replay.taken].sort()).toEqual(replay.chart.transitions.map((transition) => transition.id).sort());
    expect([...replay.refused].sort()).toEqual([...replay.refusable].sort());
  });

  test("the walk is not smaller than it was", () => {
    expect(replay.states.size).toBeGreaterThanOrEqual(minimums.states);
    expect(replay.taken.size).toBeGreaterThanOrEqual(minimums.transitions);
    expect(replay.refused.size).toBeGreaterThanOrEqual(minimums.refusals);
    expect(count(covering)).toBeGreaterThanOrEqual(minimums.coveringPaths);
    expect(count(simple)).toBeGreaterThanOrEqual(minimums.simplePaths);
    rows.push(coverageOf("pure", replay, count(covering) + count(simple)));
  });

  // The attempt's chart has no status; restart.test.ts crashes its agent at every step instead.
  if (each.persistence === undefined) return;
  test("every path ends the same when each step goes through the status", () => {
    const stored = new Replay(each);
    for (const [index, paths] of [...covering, ...simple].entries()) {
      const storedEnds = stored.run(paths, "status").map((end) => stableJson(stored.statusOf(end)));
      expect(storedEnds).toEqual(pureEnds()[index]);
    }
    rows.push(coverageOf("status", stored, count(covering) + count(simple)));
  });
});

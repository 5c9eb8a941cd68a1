import { afterAll, describe, expect, test } from "vitest";
import { arrangedPaths, cover, nameOf, shownBy } from "./arranged-paths.ts";
import { arrangedCharts, arrangementsOf } from "./arrangements/index.ts";
import { coverageOf, coverageTable } from "./coverage.ts";
import { modelled } from "./models.ts";
import { judge, play } from "./play.ts";
import { Replay } from "./replay.ts";

/** All paths that can be arranged (`npm run test:model:full`), or so few that they show everything. */
const isFull = process.env.KRT_MODEL === "full";

const replays = new Map(modelled.map((each) => [each.name, new Replay(each)]));
const played = new Map<string, number>();
afterAll(() => {
  const rows = [...replays].map(([chart, replay]) => coverageOf("components", replay, played.get(chart) ?? 0));
  process.stdout.write(coverageTable(rows));
});

test("every chart has arrangements, and no others have", () => {
  expect([...arrangedCharts].sort()).toEqual(modelled.map(({ name }) => name).sort());
});

describe.each(modelled)("$name", (each) => {
  const { name, minimums } = each;
  const arrangements = arrangementsOf(name);
  const replay = new Replay(each);
  const all = arrangedPaths(each, arrangements);
  const paths = isFull ? all : cover(all);

  test("every event of the chart has an arrangement, and every arrangement is of an event", () => {
    const events = new Set(replay.chart.transitions.map(({ event }) => event));
    expect([...arrangements.events].sort()).toEqual([...events].sort());
  });

  test("the paths that can be arranged show every transition, and are not fewer than they were", () => {
    const shown = new Set(paths.flatMap(shownBy));
    expect(replay.chart.transitions.map(({ id }) => id).filter((id) => !shown.has(id))).toEqual([]);
    expect(all.length).toBeGreaterThanOrEqual(minimums.arrangedPaths);
  });

  test.each(paths.map((path) => [nameOf(path), path] as const))("%s", async (_, path) => {
    judge(await play(each, arrangements, path), replays);
    played.set(name, (played.get(name) ?? 0) + 1);
  });

  test("the real components came to every state, by every transition", () => {
    const { taken, states, refused } = replays.get(name) ?? replay;
    expect([...taken].sort()).toEqual(replay.chart.transitions.map(({ id }) => id).sort());
    expect([...states].sort()).toEqual(replay.chart.states.map((state) => state.name).sort());
    expect(refused.size).toBeGreaterThanOrEqual(minimums.arrangedRefusals);
  });
});

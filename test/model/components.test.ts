import { describe, expect, test } from "vitest";
import { arrangedPaths, cover, nameOf, shownBy } from "./arranged-paths.ts";
import { arrangementsOf } from "./arrangements/index.ts";
import { modelled } from "./models.ts";
import { judge, play } from "./play.ts";
import { Replay } from "./replay.ts";

const replays = new Map(modelled.map((each) => [each.name, new Replay(each)]));
const only = process.env.CHART;
describe.each(modelled.filter((each) => only === undefined || each.name === only))("$name", (each) => {
  const arrangements = arrangementsOf(each.name);
  const all = arrangedPaths(each, arrangements);
  const paths = process.env.ALL ? all : cover(all);
  console.log(each.name, all.length, paths.length);
  test.each(paths.map((path) => [nameOf(path), path] as const))("%s", async (_, path) => {
    judge(await play(each, arrangements, path), replays);
  });
  test("missing", () => {
    const shown = new Set(paths.flatMap(shownBy));
    expect(
      replays
        .get(each.name)
        ?.chart.transitions.map(({ id }) => id)
        .filter((id) => !shown.has(id)),
    ).toEqual([]);
  });
});

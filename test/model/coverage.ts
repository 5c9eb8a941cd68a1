import { markdownTable } from "#machines/lib/table.ts";
import type { Replay } from "./replay.ts";

const head = ["chart", "replay", "states", "transitions", "refusals", "paths", "events"];

/** What a replay has shown of its chart so far, as a row of the table that a run of the model tests prints. */
export function coverageOf(kind: "pure" | "status" | "components", replay: Replay, paths: number): string[] {
  const { name, states, transitions } = replay.chart;
  const parts = [
    `${replay.states.size}/${states.length}`,
    `${replay.taken.size}/${transitions.length}`,
    `${replay.refused.size}/${replay.refusable.size}`,
  ];
  return [name, kind, ...parts, String(paths), String(replay.steps)];
}

export function coverageTable(rows: readonly string[][]): string {
  return `\n${markdownTable(head, rows)}\n`;
}

import type { WriterTable, WriterTables } from "./move-policy.ts";
import type { TransitionTable } from "./transition-rules.ts";

/** What a release admitted of one chart. */
export interface ReleasedChart {
  readonly table: TransitionTable;
  readonly writers: WriterTables;
}

type Moves = Readonly<Record<string, readonly string[]>>;

/**
 * What is admitted while components of two releases are at work: what either chart does. Old agents live for hours after
 * an upgrade, and must be able to bring to an end what they began.
 * @param before of the last release; undefined when there is none, or it did not have the chart.
 */
export function uniteTables(now: TransitionTable, before: TransitionTable | undefined): TransitionTable {
  if (before === undefined) return now;
  return { initial: now.initial, moves: unite(now.moves, before.moves), reopens: unite(now.reopens, before.reopens) };
}

/** The same for each writer. */
export function uniteWriters(now: WriterTables, before: WriterTables | undefined): WriterTables {
  const tables: Record<string, WriterTable> = { ...before, ...now };
  for (const [writer, table] of Object.entries(tables)) {
    const old = before?.[writer as keyof WriterTables];
    if (old === undefined) continue;
    tables[writer] = { moves: unite(table.moves, old.moves), reopens: unite(table.reopens, old.reopens) };
  }
  return tables;
}

/** In the order of the first, so that the text of a rule does not change without need. */
function unite(now: Moves, before: Moves): Moves {
  const from = new Set([...Object.keys(now), ...Object.keys(before)]);
  return Object.fromEntries(
    [...from].map((phase) => [phase, [...new Set([...(now[phase] ?? []), ...(before[phase] ?? [])])]]),
  );
}

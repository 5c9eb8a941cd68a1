import type { ChartModel } from "./describe.ts";
import { type Writer, writers } from "./meta.ts";
import { inOrder } from "./reach.ts";
import { movesByWriter } from "./writers.ts";

/** Which status writes one identity may make; without reopening, from = to included. */
export interface WriterTable {
  readonly moves: Readonly<Record<string, readonly string[]>>;
  /** By one reopening edge, which raises `attempt` by one. States without such an edge are left out. */
  readonly reopens: Readonly<Record<string, readonly string[]>>;
}

/** The identities that have moves in a chart; the others may not write such a status at all. */
export type WriterTables = Readonly<Partial<Record<Writer, WriterTable>>>;

/** The tables of a chart. */
export function writerTables(model: ChartModel): WriterTables {
  const moves = movesByWriter(model);
  const tables: Partial<Record<Writer, WriterTable>> = {};
  for (const writer of writers) {
    const own = moves[writer];
    if (own !== undefined) tables[writer] = { moves: own, reopens: reopensOf(model, writer) };
  }
  return tables;
}

function reopensOf(model: ChartModel, writer: Writer): Record<string, readonly string[]> {
  const edges = model.transitions.filter((each) => each.reopens && each.writers.includes(writer));
  const from = new Set(edges.map((edge) => edge.from));
  return Object.fromEntries(
    inOrder(model, from).map((name) => [
      name,
      inOrder(model, new Set(edges.filter((edge) => edge.from === name).map((edge) => edge.to))),
    ]),
  );
}

/** CEL for a policy: variables, and an expression over them, `object`, `oldObject` and a variable `writer`. */
export interface MoveCheck {
  readonly variables: readonly { readonly name: string; readonly expression: string }[];
  readonly expression: string;
}

/**
 * Whether the identity that `variables.writer` names may make this move; false, and no error, for phases that the chart does
 * not have. Phases always have a value: the schema has a default and requires them.
 */
export function moveCheck(tables: WriterTables): MoveCheck {
  const entries = Object.entries(tables);
  const moves = celMap(entries.map(([writer, table]) => [writer, nested(table.moves)]));
  const reopening = entries.filter(([, { reopens }]) => Object.keys(reopens).length > 0);
  const old = "oldObject.status.phase";
  const step = `variables.writer in variables.moves && ${old} in variables.moves[variables.writer] && object.status.phase in variables.moves[variables.writer][${old}]`;
  if (reopening.length === 0) return { variables: [{ name: "moves", expression: moves }], expression: `(${step})` };
  const reopens = celMap(reopening.map(([writer, table]) => [writer, nested(table.reopens)]));
  const again =
    `variables.writer in variables.reopens && ${old} in variables.reopens[variables.writer] && ` +
    `object.status.phase in variables.reopens[variables.writer][${old}] && ` +
    "has(object.status.attempt) && has(oldObject.status.attempt) && object.status.attempt == oldObject.status.attempt + 1";
  return {
    variables: [
      { name: "moves", expression: moves },
      { name: "reopens", expression: reopens },
    ],
    expression: `(${step}) || (${again})`,
  };
}

const nested = (table: Readonly<Record<string, readonly string[]>>) =>
  celMap(Object.entries(table).map(([from, to]) => [from, `[${to.map(celText).join(", ")}]`]));

const celMap = (entries: readonly (readonly [string, string])[]) =>
  `{${entries.map(([key, value]) => `${celText(key)}: ${value}`).join(", ")}}`;

/** Names of states and writers are words; nothing in them needs escaping. */
function celText(word: string): string {
  if (!/^[A-Za-z]+$/.test(word)) throw new RangeError(`"${word}" is no name of a state or a writer`);
  return `'${word}'`;
}

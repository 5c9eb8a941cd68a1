import type { CelRule } from "#api/schema.ts";
import type { ChartModel } from "./describe.ts";
import { inOrder, reachable } from "./reach.ts";
import { uniteTables } from "./union.ts";

/** Which phases a status write may lead to. One write may carry several steps of the machine. */
export interface TransitionTable {
  /** Phase of a status that did not exist before. */
  readonly initial: string;
  /** T: without reopening, from = to included. */
  readonly moves: Readonly<Record<string, readonly string[]>>;
  /** R: by one reopening edge, which raises `attempt` by one. States without such an edge are left out. */
  readonly reopens: Readonly<Record<string, readonly string[]>>;
}

/** The table of a chart. */
export function transitionTable(model: ChartModel): TransitionTable {
  const names = model.states.map((state) => state.name);
  const reopened = (from: string) =>
    inOrder(
      model,
      new Set(model.transitions.filter((each) => each.reopens && each.from === from).map((each) => each.to)),
    );
  return {
    initial: model.initial,
    moves: Object.fromEntries(
      names.map((from) => [
        from,
        inOrder(
          model,
          reachable(model, from, (each) => !each.reopens),
        ),
      ]),
    ),
    reopens: Object.fromEntries(names.map((from) => [from, reopened(from)] as const).filter(([, to]) => to.length > 0)),
  };
}

/**
 * The rule for the `status` of a kind whose schema has `default: {phase: ...}` and `required: [phase]`. Without the
 * default, the required phase and `optionalOldSelf`, a first write, a dropped phase or `status: null` would bypass it.
 * A phase that the schema knows and the chart does not is admitted neither as the old nor as the new one.
 * @param before what the last release admitted, which stays admitted.
 */
export function transitionRule(model: ChartModel, before?: TransitionTable): CelRule {
  const { initial, moves, reopens } = uniteTables(transitionTable(model), before);
  const old = "oldSelf.value().phase";
  const steps = `self.phase in ${celMap(moves)}[${old}]`;
  const reopening =
    Object.keys(reopens).length === 0
      ? ""
      : ` || (${old} in ${celMap(reopens)} && self.phase in ${celMap(reopens)}[${old}] && self.attempt == oldSelf.value().attempt + 1)`;
  return {
    rule: `!oldSelf.hasValue() ? self.phase == ${celText(initial)} : ${steps}${reopening}`,
    message: `phase may only move along the ${model.name} statechart (docs/statecharts/${model.name}.md)`,
    fieldPath: ".phase",
    reason: "FieldValueForbidden",
    optionalOldSelf: true,
  };
}

function celMap(map: Readonly<Record<string, readonly string[]>>): string {
  const entries = Object.entries(map).map(([key, values]) => `${celText(key)}: [${values.map(celText).join(", ")}]`);
  return `{${entries.join(", ")}}`;
}

/** State names are words; nothing in them needs escaping. */
function celText(word: string): string {
  if (!/^[A-Za-z]+$/.test(word)) throw new RangeError(`"${word}" is no state name`);
  return `'${word}'`;
}

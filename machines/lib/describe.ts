import type { AnyStateMachine } from "xstate";
import type { TransitionMeta, Writer } from "./meta.ts";

/** A chart as plain JSON: what documents, rules and reviews are made from. */
export interface ChartModel {
  readonly name: string;
  readonly description: string;
  readonly initial: string;
  readonly states: readonly StateModel[];
  readonly transitions: readonly TransitionModel[];
  /** The guards that its transitions name. */
  readonly guards: readonly GuardModel[];
}

export interface GuardModel {
  readonly name: string;
  /** Its source text without line breaks: only good for telling whether it changed. What it calls is not in it. */
  readonly condition: string;
}

export interface StateModel {
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
}

export interface TransitionModel {
  /** Unique in its chart: `Running FAIL 2` is the second branch of FAIL in Running. */
  readonly id: string;
  readonly from: string;
  /** The state it was in, when the transition only writes something or has an effect. */
  readonly to: string;
  /** Whether it leaves the state. */
  readonly moves: boolean;
  readonly event: string;
  readonly guard?: string;
  readonly description: string;
  readonly writers: readonly Writer[];
  readonly reasons: readonly string[];
  readonly effects: readonly string[];
  readonly reopens: boolean;
}

/** The parts of XState's definition of a transition that are read here. */
interface Definition {
  readonly target: readonly { readonly key: string }[] | undefined;
  readonly guard?: unknown;
  readonly actions: readonly unknown[];
  readonly description?: string;
  readonly meta?: TransitionMeta;
}

/**
 * Something in a machine that our charts do not use, so that documents and rules would leave it out.
 *
 * What to do: write it as plain transitions between atomic states with named guards.
 */
export class UnsupportedChartError extends Error {
  override readonly name = "UnsupportedChartError";
}

/**
 * Walks a machine into its model.
 * @throws UnsupportedChartError for nested states, `always`, `after`, `invoke`, final states, entry and exit actions,
 * unnamed guards, and transitions without description or writer.
 */
export function describe(machine: AnyStateMachine): ChartModel {
  const nodes = Object.values(machine.states);
  const states = nodes.map((node) => describeState(machine, node));
  const transitions = nodes.flatMap((node) => describeTransitions(machine, node));
  return {
    name: machine.id,
    description: machine.root.description ?? refuse(machine, "it", "has no description"),
    initial: machine.root.initial.target[0]?.key ?? refuse(machine, "it", "has no initial state"),
    states,
    transitions,
    guards: [...new Set(transitions.map(({ guard }) => guard))]
      .filter((guard) => guard !== undefined)
      .map((name) => ({ name, condition: String(machine.implementations.guards[name]).replace(/\s+/g, " ") })),
  };
}

function describeTransitions(machine: AnyStateMachine, node: AnyStateMachine["states"][string]): TransitionModel[] {
  // An event may have several branches; the first one whose guard holds is taken.
  return [...(node.transitions as ReadonlyMap<string, readonly Definition[]>)].flatMap(([event, branches]) =>
    branches.map((branch, index) => {
      const id = `${node.key} ${event}${branches.length === 1 ? "" : ` ${index + 1}`}`;
      return describeTransition(machine, { id, from: node.key, event }, branch);
    }),
  );
}

function describeState(machine: AnyStateMachine, node: AnyStateMachine["states"][string]): StateModel {
  const { key, type, tags } = node;
  if (type !== "atomic") refuse(machine, key, `is ${type}; states are atomic`);
  if (node.always !== undefined) refuse(machine, key, "has `always`; transitions need an event");
  if (node.after.length > 0 || node.invoke.length > 0) refuse(machine, key, "has timers or actors; charts are pure");
  if (node.entry.length > 0 || node.exit.length > 0) refuse(machine, key, "has entry or exit actions");
  return { name: key, description: node.description ?? refuse(machine, key, "has no description"), tags: [...tags] };
}

function describeTransition(
  machine: AnyStateMachine,
  place: { id: string; from: string; event: string },
  branch: Definition,
): TransitionModel {
  const { id, from } = place;
  if ((branch.target?.length ?? 0) > 1) refuse(machine, id, "has several targets");
  const meta = branch.meta ?? refuse(machine, id, "names no writer");
  const guard = nameOf(branch.guard);
  if (branch.guard !== undefined && guard === undefined) refuse(machine, id, "has an unnamed guard");
  const to = branch.target?.[0]?.key ?? from;
  const named = branch.actions.map(nameOf).filter((name) => name !== undefined);
  return {
    ...place,
    to,
    moves: to !== from,
    ...(guard !== undefined && { guard }),
    description: branch.description ?? refuse(machine, id, "has no description"),
    writers: list(meta.writer),
    reasons: list(meta.reason),
    effects: named.filter((name) => isEffect(machine, name)),
    reopens: meta.reopens === true,
  };
}

function refuse(machine: AnyStateMachine, where: string, what: string): never {
  throw new UnsupportedChartError(`${machine.id}: ${where} ${what}`);
}

/** Whether the model's state has the tag `terminal`. */
export function isTerminalState(model: ChartModel, state: string): boolean {
  return model.states.some((each) => each.name === state && each.tags.includes("terminal"));
}

/** The name of a guard or action that `setup` knows by name; inline functions have none. */
function nameOf(named: unknown): string | undefined {
  if (typeof named === "string") return named;
  if (typeof named !== "object" || named === null || !("type" in named)) return undefined;
  return typeof named.type === "string" ? named.type : undefined;
}

/** Emitted actions carry the name of the effect that they emit; a generated test holds them to it. */
function isEffect(machine: AnyStateMachine, action: string): boolean {
  const implementation: unknown = machine.implementations.actions[action];
  return (
    (typeof implementation === "function" || typeof implementation === "object") &&
    implementation !== null &&
    "type" in implementation &&
    implementation.type === "xstate.emit"
  );
}

function list<T extends string>(value: T | readonly T[] | undefined): readonly T[] {
  if (value === undefined) return [];
  return typeof value === "string" ? [value] : value;
}

import { type AnyMachineSnapshot, type AnyStateMachine, createMachine } from "xstate";
import { step } from "#machines/lib/settle.ts";
import type { modelled } from "./models.ts";
import { type Carrier, Replay } from "./replay.ts";
import { coveringPaths, type Paths } from "./walk.ts";

type Modelled = (typeof modelled)[number];

/** A chart with one fault in it. */
export interface Mutant {
  readonly name: string;
  /** Where the fault is: nothing else of the chart behaves differently. */
  readonly state: string;
  readonly event: string;
  /** Which of the branches of that event, from 0. */
  readonly branch: number;
  readonly machine: AnyStateMachine;
}

interface Branch {
  readonly target?: string;
  readonly guard?: unknown;
}

interface Place {
  readonly state: string;
  readonly event: string;
  readonly index: number;
  readonly branch: Branch;
}

interface Config {
  states: Record<string, { on?: Record<string, Branch | Branch[]> }>;
}

/** Not faulty at all: what is found in these is wrong with the hunt. */
export function unchanged({ machine }: Modelled): Mutant[] {
  return placesOf(machine).map((place) => mutant(machine, place, "is as it was", [place.branch]));
}

/** One mutant for each transition that is not there any more. */
export function deleted({ machine }: Modelled): Mutant[] {
  return placesOf(machine).map((place) => mutant(machine, place, "is gone", []));
}

/** One mutant for each way to lead one transition somewhere else. */
export function retargeted({ machine }: Modelled): Mutant[] {
  const states = Object.keys(machine.states);
  return placesOf(machine).flatMap((place) =>
    states
      .filter((target) => target !== (place.branch.target ?? place.state))
      .map((target) => mutant(machine, place, `leads to ${target}`, [{ ...place.branch, target }])),
  );
}

/** One mutant for each guard that says the opposite. */
export function negated({ machine }: Modelled): Mutant[] {
  type Guard = (args: unknown, params: unknown) => boolean;
  const known = machine.implementations.guards as Readonly<Record<string, Guard>>;
  return guardedPlacesOf(machine).map((place) => {
    const { guard } = place.branch;
    const named = typeof guard === "string" ? { type: guard } : (guard as { readonly type: string });
    const name = `not ${named.type}`;
    const opposite: Guard = (args, params) => !known[named.type]?.(args, params);
    const by = { ...place.branch, guard: { ...named, type: name } };
    return mutant(machine, place, "has its guard negated", [by], { [name]: opposite });
  });
}

/** One mutant for each guard that is always taken for true. */
export function unguarded({ machine }: Modelled): Mutant[] {
  return guardedPlacesOf(machine).map((place) => {
    const { guard: _, ...branch } = place.branch;
    return mutant(machine, place, "has no guard", [branch]);
  });
}

function placesOf(machine: AnyStateMachine): Place[] {
  return Object.entries((machine.config as unknown as Config).states).flatMap(([state, { on = {} }]) =>
    Object.entries(on).flatMap(([event, branches]) =>
      [branches].flat().map((branch, index) => ({ state, event, index, branch })),
    ),
  );
}

const guardedPlacesOf = (machine: AnyStateMachine) =>
  placesOf(machine).filter(({ branch }) => branch.guard !== undefined);

/** The chart with other branches in one place. */
function mutant(
  machine: AnyStateMachine,
  place: Place,
  what: string,
  by: readonly Branch[],
  guards: object = {},
): Mutant {
  const { state, event, index } = place;
  const config = machine.config as unknown as Config;
  const old = config.states[state];
  const branches = [old?.on?.[event] ?? []].flat();
  const name = `${machine.id}: ${state} ${event}${branches.length === 1 ? "" : ` ${index + 1}`} ${what}`;
  const on = { ...old?.on, [event]: branches.toSpliced(index, 1, ...by) };
  const mutated = { ...config, states: { ...config.states, [state]: { ...old, on } } };
  const implementations = { ...machine.implementations, guards: { ...machine.implementations.guards, ...guards } };
  const made = createMachine(mutated as unknown as Parameters<typeof createMachine>[0]).provide(
    implementations as Parameters<AnyStateMachine["provide"]>[0],
  );
  return { name, state, event, branch: index, machine: made };
}

/** A path and where it passes: `STATE EVENT` of each step of its beginning, and the state in which that ends. */
interface Trace {
  readonly paths: Paths;
  readonly passes: ReadonlySet<string>;
  readonly end: string;
}

/** Looks for faults on the generated paths, which are the faultless chart's: the walk of a faulty one may never end. */
export class Hunt {
  readonly #of: Modelled;
  readonly #traces: readonly Trace[];

  constructor(of: Modelled) {
    // Without the schema, which knows all phases alike and takes long to compile.
    const { schema: _, ...rest } = of;
    this.#of = rest;
    this.#traces = coveringPaths(of.machine, of.walk, [of.initial(), ...(of.walk.starts ?? [])]).map((paths) =>
      trace(of.machine, paths),
    );
  }

  /** Whether the oracle finds the fault; only paths that come by its place can tell. */
  finds(mutant: Mutant, carrier: Carrier): boolean {
    const { machine, state, event } = mutant;
    const replay = new Replay({ ...this.#of, machine });
    try {
      for (const { paths, passes, end } of this.#traces) {
        const passesBy = passes.has(`${state} ${event}`);
        const tails = passesBy ? paths.tails : end === state ? paths.tails.filter(({ type }) => type === event) : [];
        if (!passesBy && tails.length === 0) continue;
        const start = machine.resolveState({ value: paths.start.value, context: paths.start.context });
        replay.run({ ...paths, start, tails }, carrier);
      }
      return false;
    } catch {
      return true;
    }
  }
}

function trace(machine: AnyStateMachine, paths: Paths): Trace {
  const passes = new Set<string>();
  let snapshot: AnyMachineSnapshot = paths.start;
  for (const event of paths.prefix) {
    passes.add(`${snapshot.value} ${event.type}`);
    snapshot = step(machine, snapshot, event).snapshot;
  }
  return { paths, passes, end: String(snapshot.value) };
}

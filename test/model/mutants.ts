import { type AnyStateMachine, createMachine } from "xstate";
import type { modelled } from "./models.ts";
import { Replay } from "./replay.ts";
import type { Paths } from "./walk.ts";

type Modelled = (typeof modelled)[number];

/** A chart with one fault in it. */
export interface Mutant {
  readonly name: string;
  readonly machine: AnyStateMachine;
}

interface Branch {
  target?: string;
  guard?: unknown;
}

interface Config {
  states: Record<string, { on?: Record<string, Branch | Branch[]> }>;
}

/** One mutant for each way to lead one transition somewhere else. */
export function retargeted({ machine }: Modelled): Mutant[] {
  const states = Object.keys(machine.states);
  return branchesOf(machine).flatMap(({ state, event, index, branch }) =>
    states
      .filter((target) => target !== (branch.target ?? state))
      .map((target) => ({
        name: `${state} ${event} ${index + 1} leads to ${target}`,
        machine: changed(machine, state, event, index, { ...branch, target }),
      })),
  );
}

/** One mutant for each guard that is always taken for true. */
export function unguarded({ machine }: Modelled): Mutant[] {
  return branchesOf(machine)
    .filter(({ branch }) => branch.guard !== undefined)
    .map(({ state, event, index, branch: { guard: _, ...branch } }) => ({
      name: `${state} ${event} ${index + 1} without its guard`,
      machine: changed(machine, state, event, index, branch),
    }));
}

/**
 * Whether the oracle finds the fault on one of these paths, which are the faultless chart's: the walk of a faulty one
 * may never end.
 */
export function isFound(of: Modelled, paths: readonly Paths[], { machine }: Mutant): boolean {
  // Without the schema, which knows all phases alike and takes long to compile.
  const { schema: _, ...rest } = of;
  const replay = new Replay({ ...rest, machine });
  try {
    for (const each of paths) {
      const start = machine.resolveState({ value: each.start.value, context: each.start.context });
      replay.run({ ...each, start }, "memory");
    }
    return false;
  } catch {
    return true;
  }
}

function branchesOf(machine: AnyStateMachine) {
  return Object.entries((machine.config as unknown as Config).states).flatMap(([state, { on = {} }]) =>
    Object.entries(on).flatMap(([event, branches]) =>
      [branches].flat().map((branch, index) => ({ state, event, index, branch })),
    ),
  );
}

function changed(machine: AnyStateMachine, state: string, event: string, index: number, by: Branch): AnyStateMachine {
  const config = machine.config as unknown as Config;
  const old = config.states[state];
  const branches = [old?.on?.[event] ?? []].flat().with(index, by);
  const states = { ...config.states, [state]: { ...old, on: { ...old?.on, [event]: branches } } };
  const mutated = { ...config, states } as unknown as Parameters<typeof createMachine>[0];
  return createMachine(mutated).provide(machine.implementations as Parameters<AnyStateMachine["provide"]>[0]);
}

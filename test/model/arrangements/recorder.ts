import type { AnyMachineSnapshot, AnyStateMachine } from "xstate";
import { lifecycles } from "#machines/index.ts";

/** One event that a component sent to a chart, and what became of it. */
export interface Recorded {
  readonly chart: string;
  readonly before: AnyMachineSnapshot;
  readonly event: { readonly type: string };
  readonly after: AnyMachineSnapshot;
  /** Types of the effects that it was told to have, in order. */
  readonly effects: readonly string[];
}

type Transition = AnyStateMachine["transition"];
type Scope = Parameters<Transition>[2];

/** Puts another function in the place of a machine's; returns what puts the old one back. */
export function replaceTransition(machine: AnyStateMachine, make: (old: Transition) => Transition): () => void {
  const old = machine.transition;
  machine.transition = make(old);
  return () => {
    machine.transition = old;
  };
}

/** More events than any path brings about. Components that undo each other's work need no time for it and never end. */
const maxRecords = 2000;

/** Listens to every event that any component sends to any chart of this process. */
export class Recorder {
  readonly records: Recorded[] = [];
  readonly #undo: (() => void)[];

  constructor() {
    this.#undo = lifecycles.map(({ name, machine }) =>
      replaceTransition(machine, (old) => (before, event, scope) => {
        if (this.records.length >= maxRecords) throw new Error("the components do not come to rest");
        const effects: string[] = [];
        const after = old.call(machine, before, event, { ...scope, actionExecutor: listen(scope, effects) });
        this.records.push({ chart: name, before, event: event as { type: string }, after, effects });
        return after;
      }),
    );
  }

  stop(): void {
    for (const undo of this.#undo) undo();
  }
}

/** Passes actions on; notes the types of what is emitted. */
function listen({ actionExecutor }: Scope, effects: string[]): Scope["actionExecutor"] {
  return (action) => {
    const { type, params } = action as { type: string; params?: unknown };
    if (type === "xstate.emit") effects.push((params as { event: { type: string } }).event.type);
    actionExecutor(action);
  };
}

/** Lets every component of this process work by another chart; returns what ends that. */
export function substitute(machine: AnyStateMachine, by: AnyStateMachine): () => void {
  return replaceTransition(machine, () => (snapshot, event, scope) => {
    const before = by.resolveState({ value: snapshot.value, context: snapshot.context });
    const after = by.transition(before, event, scope);
    // The same reference means that nothing changed.
    return after === before ? snapshot : machine.resolveState({ value: after.value, context: after.context });
  });
}

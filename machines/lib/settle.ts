import { type AnyStateMachine, type EmittedFrom, type EventFromLogic, type SnapshotFrom, transition } from "xstate";
import { finish, type Work } from "#api/work.ts";

/** A machine after one or more events, and what is to be done once its status is stored. */
export interface Settled<M extends AnyStateMachine> {
  readonly snapshot: SnapshotFrom<M>;
  /** To be run in order after the status was written. They are idempotent and can be derived again. */
  readonly effects: readonly EmittedFrom<M>[];
  /** Whether the status differs from the one restored; `false` means no write. */
  readonly changed: boolean;
}

/**
 * The observer of one machine instance kept giving events that change it. That is a bug in the observer: it does not
 * look at what is, or two of its rules undo each other.
 */
export class UnsettledError extends Error {
  override readonly name = "UnsettledError";
  readonly chart: string;
  readonly events: readonly string[];

  constructor(chart: string, events: readonly string[]) {
    super(`the ${chart} machine does not settle: ${events.join(", ")}; its observer must end with no event`);
    this.chart = chart;
    this.events = events;
  }
}

/** A pass of one instance takes at most this many events; the longest honest one (a retry) needs three. */
export const maxSteps = 8;

/** One event. An event without a transition, or one whose guards all refuse, gives the same snapshot reference. */
export function step<M extends AnyStateMachine>(
  machine: M,
  snapshot: SnapshotFrom<M>,
  event: EventFromLogic<M>,
): Settled<M> {
  // XState's type of the returned actions leaves emitted ones out.
  const [next, actions]: readonly [SnapshotFrom<M>, readonly { type: string; params?: unknown }[]] = transition(
    machine,
    snapshot,
    event,
  );
  const effects: EmittedFrom<M>[] = [];
  for (const action of actions) {
    if (action.type === "xstate.emit") effects.push((action.params as { event: EmittedFrom<M> }).event);
  }
  return { snapshot: next, effects, changed: next !== snapshot };
}

/**
 * Runs `observe -> transition` until the observer has no event or the event changes nothing. Effects of an event that
 * changes nothing are kept: that is how a precondition (a finalizer, a snapshot object) is asked for before a write.
 * @param observe pure and level-based: what is, to the next event.
 * @throws UnsettledError after {@link maxSteps} events that each changed the snapshot.
 */
export function settle<M extends AnyStateMachine>(options: {
  readonly machine: M;
  readonly snapshot: SnapshotFrom<M>;
  readonly observe: (snapshot: SnapshotFrom<M>) => EventFromLogic<M> | undefined;
}): Settled<M> {
  const { observe } = options;
  return finish(
    settling({
      ...options,
      // biome-ignore lint/correctness/useYield: this observer does not take long.
      *observe(snapshot) {
        return observe(snapshot);
      },
    }),
  );
}

/** {@link settle} with an observer that takes long, and says where it may be interrupted. */
export function* settling<M extends AnyStateMachine>(options: {
  readonly machine: M;
  readonly snapshot: SnapshotFrom<M>;
  readonly observe: (snapshot: SnapshotFrom<M>) => Work<EventFromLogic<M> | undefined>;
}): Work<Settled<M>> {
  const { machine, observe } = options;
  let snapshot = options.snapshot;
  const effects: EmittedFrom<M>[] = [];
  const events: string[] = [];
  for (;;) {
    const event = yield* observe(snapshot);
    if (event === undefined) break;
    const { type } = event as { readonly type: string };
    if (events.length === maxSteps) throw new UnsettledError(machine.id, [...events, type]);
    events.push(type);
    const next = step(machine, snapshot, event);
    effects.push(...next.effects);
    snapshot = next.snapshot;
    if (!next.changed) break;
  }
  return { snapshot, effects, changed: snapshot !== options.snapshot };
}

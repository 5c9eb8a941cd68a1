import type { Outcome } from "#kube/outcome.ts";
import { done, retry } from "#kube/outcome.ts";
import type { Clock } from "#kube/ports.ts";
import { isConflict, isNotFound } from "#kube/transport.ts";
import { type Lanes, runLanes } from "./lanes.ts";

/** What a pure step made of what was seen. */
export interface Step<Status, Effect> {
  /** Whether `status` differs from what is stored; false when the machine kept its state. */
  readonly changed: boolean;
  readonly status: Status;
  /** Idempotent, and derived again from the stored status by the next pass if this one does not get to them. */
  readonly effects: readonly Effect[];
}

export interface Drive<Seen, Status, Effect> {
  /** Everything the decision needs, from caches; the only reader. Undefined = there is no such object (any more). */
  gather(): Seen | undefined | Promise<Seen | undefined>;
  /** Pure: observes and steps the machine until it settles. A long one lets others have their turn on the way. */
  step(seen: Seen, now: number): Step<Status, Effect> | Promise<Step<Status, Effect>>;
  /**
   * Writes the status, once, with the resourceVersion of what was seen, and notes the answer in the cache. This write
   * is the claim: after it, and only after it, effects may follow.
   */
  persist(seen: Seen, status: Status): Promise<void>;
  run(effect: Effect, seen: Seen): Promise<void>;
  /** Which effects may run side by side; without it they run one after the other, and the first that fails is the last. */
  readonly lanes?: Lanes<Effect>;
  /** What to wait for in the stored state. */
  nextWake(status: Status, seen: Seen, now: number): Outcome;
}

/**
 * One pass: gather, step, persist, effects. On a conflict everything computed is thrown away, and the next pass
 * starts from fresh objects. When an effect fails the pass is tried again.
 */
export async function drive<Seen, Status, Effect>(
  shape: Drive<Seen, Status, Effect>,
  clock: Clock,
  signal?: AbortSignal,
): Promise<Outcome> {
  const seen = await shape.gather();
  if (seen === undefined) return done;
  const now = clock.now();
  const stepped = shape.step(seen, now);
  const { changed, status, effects } = stepped instanceof Promise ? await stepped : stepped;
  if (signal?.aborted) return retry(signal.reason);
  if (changed) {
    try {
      await shape.persist(seen, status);
    } catch (error) {
      if (isConflict(error)) return retry(error);
      // Deleted meanwhile. A namesake, if there is one, wakes us by its own event.
      if (isNotFound(error)) return done;
      throw error;
    }
  }
  const lanes = shape.lanes ?? { laneOf: () => "", limit: 1 };
  let failure: unknown;
  try {
    await runLanes(effects, lanes, async (effect) => {
      // Who lost the lease, or stops, leaves the rest to the next holder.
      if (!signal?.aborted) await shape.run(effect, seen);
    });
  } catch (error) {
    failure = error;
  }
  if (signal?.aborted) return retry(signal.reason);
  const wake = shape.nextWake(status, seen, now);
  if (failure === undefined) return wake;
  // A deadline is kept however often an effect fails.
  return retry(failure, wake.kind === "after" ? wake.ms : undefined);
}

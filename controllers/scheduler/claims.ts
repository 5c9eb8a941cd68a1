import type { RunStatus } from "#api/kinds/run.ts";
import { DueSet } from "./due-set.ts";

/** A Run that stays Scheduled for this long by our own clock is taken back. */
export const claimMs = 15_000;

/**
 * Scheduled Runs that no agent has claimed yet. The time counts from when this scheduler saw the assignment, by its own clock: no
 * other clock is trusted, and after a restart every agent gets the whole time again.
 */
export class Claims {
  readonly #due = new DueSet();
  readonly #epochs = new Map<string, number>();

  next(): number | undefined {
    return this.#due.next();
  }

  /** The assignment epoch that is waiting for its claim. */
  epochOf(uid: string): number | undefined {
    return this.#epochs.get(uid);
  }

  /** The state of a Run; a deadline runs on while the assignment is the same. */
  seen(uid: string, { phase, assignmentEpoch: epoch = 0 }: Partial<RunStatus>, now: number): void {
    if (phase !== "Scheduled") {
      this.forget(uid);
      return;
    }
    if (this.#epochs.get(uid) === epoch) return;
    this.#epochs.set(uid, epoch);
    this.#due.set(uid, now + claimMs);
  }

  forget(uid: string): void {
    this.#epochs.delete(uid);
    this.#due.delete(uid);
  }

  /** Looks at an assignment again at that time: taking it back did not succeed. */
  again(uid: string, at: number): void {
    if (this.#epochs.has(uid) && this.#due.get(uid) === undefined) this.#due.set(uid, at);
  }

  /** A Run whose time is over; it stays known, so that the same assignment gets no second deadline by itself. */
  take(now: number): string | undefined {
    return this.#due.take(now);
  }
}

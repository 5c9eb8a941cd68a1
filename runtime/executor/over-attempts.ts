/** Remembers which attempts must not start (again). Pure; used by the executor and its simulated double. */
import type { ExecutionId } from "#runtime/executor-client.ts";

/**
 * Attempts of a Run only rise, so one number for each Run is enough: every attempt up to it is over. That closes the gaps
 * which a table of live executions leaves: a start that arrives after the attempt was forgotten, or behind its own cancel.
 */
export class OverAttempts {
  readonly #highest = new Map<string, number>();
  readonly #limit: number;

  /** @param limit how many Runs are remembered; the oldest go first. A late start can only be as late as its RPC deadline. */
  constructor(limit = 10_000) {
    this.#limit = limit;
  }

  /** This attempt and all before it are over. */
  add(id: ExecutionId): void {
    if (id.attempt < 1) return;
    const highest = Math.max(id.attempt, this.#highest.get(id.runUid) ?? 0);
    this.#highest.delete(id.runUid); // moves it to the young end of the insertion order
    this.#highest.set(id.runUid, highest);
    if (this.#highest.size <= this.#limit) return;
    for (const oldest of this.#highest.keys()) {
      this.#highest.delete(oldest);
      return;
    }
  }

  has(id: ExecutionId): boolean {
    return id.attempt <= (this.#highest.get(id.runUid) ?? 0);
  }
}

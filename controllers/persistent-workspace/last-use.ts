import type { PersistentWorkspaceStatus } from "#api/kinds/persistent-workspace.ts";
import { parseTime, timestamp } from "#api/time.ts";

/**
 * An end that is so much older than when we see it was written by a clock that is behind, or seen late, in milliseconds. Counting from
 * what we have seen ourselves then keeps files longer, and never shorter, than their TTL.
 */
export const trustedAgeMs = 10_000;

/**
 * When the use by a Run ended, milliseconds since the epoch: the time that its agent wrote, where that can be true by our clock.
 *
 * @param completionTime as written; absent when the Run was deleted before it had ended
 * @param watched the end was seen to happen, rather than found
 */
export function endOfUse(completionTime: string | undefined, now: number, watched: boolean): number {
  const written = parseTime(completionTime);
  if (written === undefined || written > now) return now;
  return watched && now - written > trustedAgeMs ? now : written;
}

/**
 * The latest end of the Runs that referred to each workspace (`namespace/name`), kept as they end: no pass looks at what
 * ended long ago.
 */
export class LastUse {
  readonly #ends = new Map<string, number>();

  /** @param time at which a Run ended, milliseconds since the epoch */
  note(workspace: string, time: number): void {
    // As a status can say it: a remainder below that would be later than what is written, for ever.
    const end = parseTime(timestamp(time)) ?? time;
    if (end > (this.#ends.get(workspace) ?? 0)) this.#ends.set(workspace, end);
  }

  /**
   * Milliseconds since the epoch; undefined when none has ended since the workspace was bound: Runs before that referred
   * to an earlier workspace of that name, or used nothing.
   */
  of(workspace: string, { boundTime }: PersistentWorkspaceStatus): number | undefined {
    const end = this.#ends.get(workspace);
    return end !== undefined && end >= (parseTime(boundTime) ?? 0) ? end : undefined;
  }

  forget(workspace: string): void {
    this.#ends.delete(workspace);
  }

  /** Forgets all workspaces that are not there. */
  retain(exists: (workspace: string) => boolean): void {
    for (const workspace of this.#ends.keys()) if (!exists(workspace)) this.#ends.delete(workspace);
  }
}

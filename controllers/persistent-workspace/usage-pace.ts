/** The number of active Runs follows at most this often. */
const intervalMs = 5000;

/** A use is written down once it has lasted this long: most steps are over by then, and a write is saved. */
const noticeMs = 1000;

/** When the number of active Runs of a workspace may be written; of workspaces by UID. */
export class UsagePace {
  readonly #written = new Map<string, number>();
  readonly #activeSince = new Map<string, number>();

  /** Milliseconds since the epoch, for a workspace that Runs use now. */
  due(uid: string, now: number): number {
    const since = this.#activeSince.get(uid) ?? now;
    this.#activeSince.set(uid, since);
    return Math.max(since + noticeMs, (this.#written.get(uid) ?? Number.NEGATIVE_INFINITY) + intervalMs);
  }

  /** The number was written. */
  wrote(uid: string, activeRuns: number, now: number): void {
    this.#written.set(uid, now);
    if (activeRuns === 0) this.#activeSince.delete(uid);
  }

  forget(uid: string): void {
    this.#written.delete(uid);
    this.#activeSince.delete(uid);
  }
}

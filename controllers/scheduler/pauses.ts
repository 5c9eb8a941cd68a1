/** How long to wait for the newer version of a Run after a conflict, in case its event does not come. */
const staleMs = 1000;

/** Back-off of a Run whose write failed, in milliseconds. */
const failureBaseMs = 100;
const failureMaxMs = 30_000;

interface Pause {
  readonly until: number;
  /** The pause is over at once when the Run has another version than this one. */
  readonly version: string | undefined;
}

/** Runs that are left alone for a while, for reasons that only this process knows. */
export class Pauses {
  readonly #pauses = new Map<string, Pause>();
  readonly #failures = new Map<string, number>();

  /** Nothing for that long. */
  pause(uid: string, until: number): void {
    this.#pauses.set(uid, { until, version: undefined });
  }

  /** A write found that `version` is not the latest one: the next version will be told of. */
  awaitNewer(uid: string, version: string | undefined, now: number): void {
    this.#pauses.set(uid, { until: now + staleMs, version });
  }

  /**
   * Our own write has made a newer version than this one. There is no time limit: what we know of the Run is wrong until we see it,
   * and trying again would end in a conflict that looks as if the write had never been.
   */
  awaitOwn(uid: string, version: string | undefined): void {
    this.#pauses.set(uid, { until: Number.POSITIVE_INFINITY, version });
  }

  /** A write failed; the delay doubles with each failure in a row. */
  failed(uid: string, now: number): void {
    const failures = (this.#failures.get(uid) ?? 0) + 1;
    this.#failures.set(uid, failures);
    this.pause(uid, now + Math.min(failureMaxMs, failureBaseMs * 2 ** Math.min(failures - 1, 20)));
  }

  succeeded(uid: string): void {
    this.#failures.delete(uid);
  }

  forget(uid: string): void {
    this.#pauses.delete(uid);
    this.#failures.delete(uid);
  }

  /** Until when the Run is left alone; undefined when it need not be. */
  until(uid: string, version: string | undefined, now: number): number | undefined {
    const pause = this.#pauses.get(uid);
    if (pause === undefined) return undefined;
    if (now < pause.until && (pause.version === undefined || pause.version === version)) return pause.until;
    this.#pauses.delete(uid);
    return undefined;
  }
}

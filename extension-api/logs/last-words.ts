import { type Clock, sleep } from "#kube/ports.ts";
import { clockSkewMs } from "./view.ts";

/** How long the mark at the end of an attempt is waited for, in milliseconds: from the agent over its node to the log service. */
const patienceMs = 2000;

/** How often the log is looked at meanwhile, in milliseconds. */
const lookAgainMs = 50;

/**
 * An attempt has ended, but its last lines may still be on their way. Its agent prints a mark behind them; an agent that was
 * killed did not, so the wait has an end.
 */
export class LastWords {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #isLongAgo: boolean;
  #untilMs = Number.NEGATIVE_INFINITY;

  /** @param endedMs when the attempt ended, by the clock of its node; lines of long ago are waited for no more */
  constructor(endedMs: number | undefined, clock: Clock, signal: AbortSignal) {
    this.#clock = clock;
    this.#signal = signal;
    this.#isLongAgo = endedMs !== undefined && clock.now() - endedMs > clockSkewMs;
    this.progressed();
  }

  /** Something was read: more may follow, however long its reader took. */
  progressed(): void {
    if (!this.#isLongAgo) this.#untilMs = this.#clock.monotonic() + patienceMs;
  }

  /** Waits a moment. @returns false when looking again makes no sense */
  async wait(): Promise<boolean> {
    if (this.#signal.aborted || this.#clock.monotonic() >= this.#untilMs) return false;
    await sleep(this.#clock, lookAgainMs, this.#signal);
    return !this.#signal.aborted;
  }
}

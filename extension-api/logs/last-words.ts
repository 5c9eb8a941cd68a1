import type { Clock } from "#kube/ports.ts";
import { clockSkewMs } from "./view.ts";
import type { Wakeup } from "./wakeup.ts";

/** How long the mark at the end of an attempt is waited for, in milliseconds: from the agent over its node to the log service. */
const patienceMs = 2000;

/** How often the log is looked at meanwhile, in milliseconds: when nothing came for a while, less often. */
const lookAgainMs = 50;
const lookAgainQuietMs = 250;

/** A stream that brought nothing for so long, in milliseconds, may have lost the end: nodes do not finish a log that they replace. */
const quietMs = 250;

/**
 * An attempt has ended, but its last lines may still be on their way. Its agent prints a mark behind them; an agent that was
 * killed did not, so the wait has an end.
 */
export class LastWords {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #isLongAgo: boolean;
  #untilMs = Number.NEGATIVE_INFINITY;
  #quietFromMs = 0;

  /** @param endedMs when the attempt ended, by the clock of its node; lines of long ago are waited for no more */
  constructor(endedMs: number | undefined, clock: Clock, signal: AbortSignal) {
    this.#clock = clock;
    this.#signal = signal;
    this.#isLongAgo = endedMs !== undefined && clock.now() - endedMs > clockSkewMs;
    this.progressed();
  }

  /** Something was read: more may follow, however long its reader took. */
  progressed(): void {
    const now = this.#clock.monotonic();
    this.#quietFromMs = now + quietMs;
    if (!this.#isLongAgo) this.#untilMs = now + patienceMs;
  }

  /** Whether a stream should be doubted. */
  get isQuiet(): boolean {
    return this.#clock.monotonic() >= this.#quietFromMs;
  }

  /**
   * Waits a moment.
   *
   * @param wakeup ends the wait when it happens
   * @returns false when looking again makes no sense
   */
  async wait(wakeup: Wakeup): Promise<boolean> {
    if (this.#signal.aborted || this.#clock.monotonic() >= this.#untilMs) return false;
    const cancel = this.#clock.after(this.isQuiet ? lookAgainQuietMs : lookAgainMs, wakeup.wake);
    await wakeup.wait();
    cancel();
    return !this.#signal.aborted;
  }
}

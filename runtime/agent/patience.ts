import { type Clock, type Random, sleep } from "#kube/ports.ts";

export interface Patience {
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  /** Whether the error may go away by itself. */
  readonly isTransient: (error: unknown) => boolean;
  /** Gives up at this time, milliseconds since the epoch; default never. */
  readonly until?: number;
  /** First delay and longest delay in milliseconds; defaults 50 and 5,000. */
  readonly baseMs?: number;
  readonly maxMs?: number;
}

/**
 * Calls `work` until it succeeds, with growing jittered delays.
 * @throws the last error when it is not transient or the time is over; the signal's reason when it is aborted.
 */
export async function patiently<T>(work: () => Promise<T>, patience: Patience): Promise<T> {
  const { clock, random, signal, isTransient, until = Number.POSITIVE_INFINITY, baseMs = 50, maxMs = 5000 } = patience;
  for (let tries = 0; ; tries++) {
    signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      if (!isTransient(error) || clock.now() >= until) throw error;
      const delay = Math.min(maxMs, baseMs * 2 ** tries) * (0.5 + random.next() / 2);
      await sleep(clock, Math.min(delay, Math.max(0, until - clock.now())), signal);
    }
  }
}

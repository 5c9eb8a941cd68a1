/**
 * Everything that touches the world comes in through one of these. Production passes the system adapters of
 * `kube/system.ts`, the simulation passes virtual ones; a lint rule keeps the world out of all other files.
 */

/** Cancels a pending timer; calling it again does nothing. */
export type Cancel = () => void;

export interface Clock {
  /** Wall clock, milliseconds since the epoch, with a fraction where the platform has one. */
  now(): number;
  /** Milliseconds that never go backwards; for measuring durations only. */
  monotonic(): number;
  /** Calls `fn` once after `ms` milliseconds. */
  after(ms: number, fn: () => void): Cancel;
}

export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** A random UUID (version 4 format). */
  uuid(): string;
}

/** Structured log of a component. `fields` are flat; objects are named by `namespace/name`. */
export interface Logger {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void;
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** Emits Kubernetes Events; never throws and never blocks the caller. */
export interface Recorder {
  event(
    about: { apiVersion: string; kind: string; name: string; namespace?: string; uid?: string },
    type: "Normal" | "Warning",
    reason: string,
    message: string,
  ): void;
}

/** Waits `ms` on a clock, or until the signal is aborted (then it returns early, without an error). */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      cancel();
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const cancel = clock.after(ms, done);
    signal?.addEventListener("abort", done, { once: true });
  });
}

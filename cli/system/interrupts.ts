import type { Cancel } from "#kube/ports.ts";
import { exitCodes } from "../exit-codes.ts";

/**
 * One key press can reach us twice: from the terminal, and from a program in front of us that passes it on (npm does). The same signal
 * within this time is the same wish.
 */
const echoMs = 300;

/** What a stream says when nobody reads it any more: a pipe, and a terminal that was closed. */
const readerGone: ReadonlySet<string | undefined> = new Set(["EPIPE", "EIO"]);

export interface Interrupts {
  /** Aborted by the first signal that asks us to end, or when nobody reads our output any more. */
  readonly signal: AbortSignal;
  /** Calls at the second one, which otherwise ends the process at once. The third one always does. */
  onSecond(listener: () => void): Cancel;
}

/** Takes over the signals of this process. */
export function watchInterrupts(): Interrupts {
  const interrupted = new AbortController();
  let onSecond: (() => void) | undefined;
  let count = 0;
  let last: { readonly why: string; readonly at: number } | undefined;
  const interrupt = (why: string) => {
    const now = performance.now();
    if (last?.why === why && now - last.at < echoMs) return;
    count += 1;
    if (count > 2 || (count === 2 && onSecond === undefined)) process.exit(exitCodes.interrupted);
    last = { why, at: now };
    if (count === 2) onSecond?.();
    interrupted.abort(new Error(why));
  };
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => interrupt(name));
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (!readerGone.has(error.code)) throw error;
      // Each further write fails, too: only the first one is news.
      if (last === undefined) interrupt("nobody reads the output");
    });
  }
  return {
    signal: interrupted.signal,
    onSecond(listener) {
      onSecond = listener;
      return () => {
        if (onSecond === listener) onSecond = undefined;
      };
    },
  };
}

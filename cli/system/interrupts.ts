import { exitCodes } from "../exit-codes.ts";

/**
 * One key press can reach us twice: from the terminal, and from a program in front of us that passes it on (npm does). The same signal
 * within this time is the same wish.
 */
const echoMs = 300;

/** What a stream says when nobody reads it any more: a pipe, and a terminal that was closed. */
const readerGone: ReadonlySet<string | undefined> = new Set(["EPIPE", "EIO"]);

/**
 * Aborted by the first signal that asks us to end, or when nobody reads our output any more; the second one ends the process at
 * once.
 */
export function watchInterrupts(): AbortSignal {
  const interrupted = new AbortController();
  let last: { readonly why: string; readonly at: number } | undefined;
  const interrupt = (why: string) => {
    const now = performance.now();
    if (last?.why === why && now - last.at < echoMs) return;
    if (last !== undefined) process.exit(exitCodes.interrupted);
    last = { why, at: now };
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
  return interrupted.signal;
}

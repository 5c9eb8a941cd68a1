import { exitCodes } from "../exit-codes.ts";

/**
 * Aborted by the first signal that asks us to end, or when nobody reads our output any more; the second one ends the process at
 * once.
 */
export function watchInterrupts(): AbortSignal {
  const interrupted = new AbortController();
  const interrupt = (why: string) => {
    if (interrupted.signal.aborted) process.exit(exitCodes.interrupted);
    interrupted.abort(new Error(why));
  };
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => interrupt(name));
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      // Each further write fails, too: only the first one is news.
      if (error.code === "EPIPE" && !interrupted.signal.aborted) interrupt("nobody reads the output");
      else if (error.code !== "EPIPE") throw error;
    });
  }
  return interrupted.signal;
}

import type { Logger } from "#kube/ports.ts";

/** How long a process may take for an orderly end, below the grace period that our Deployments ask for (30 s). */
const endWithinMs = 25_000;

/** Aborted by SIGTERM or SIGINT; a second signal, or an end that takes too long, ends the process at once. */
export function shutdownSignal(logger: Logger): AbortSignal {
  const shutdown = new AbortController();
  for (const name of ["SIGTERM", "SIGINT"] as const) {
    process.on(name, () => {
      if (shutdown.signal.aborted) process.exit(1);
      logger.info("ending", { signal: name });
      shutdown.abort(new Error(name));
      setTimeout(() => {
        logger.error("could not end in time", { ms: endWithinMs });
        process.exit(1);
      }, endWithinMs).unref();
    });
  }
  return shutdown.signal;
}

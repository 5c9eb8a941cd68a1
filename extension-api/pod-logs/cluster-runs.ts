import type { Clock, Logger, Random } from "#kube/ports.ts";
import type { Client } from "#kube/resource.ts";
import { isNotFound } from "#kube/transport.ts";
import { LogUnavailableError, type Runs } from "../logs/ports.ts";
import { watchedRuns } from "../logs/watched-runs.ts";

/** The Runs of a cluster. That the service may not read them, or cannot, is no word to the caller, who has no such right either. */
export function clusterRuns(deps: {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}): Runs {
  const runs = watchedRuns(deps);
  return {
    ...runs,
    async get(namespace, name, signal) {
      try {
        return await runs.get(namespace, name, signal);
      } catch (error) {
        if (isNotFound(error)) throw error;
        const message = error instanceof Error ? error.message : String(error);
        throw new LogUnavailableError(`Run ${name} cannot be looked up now: ${message}`, { cause: error });
      }
    },
  };
}

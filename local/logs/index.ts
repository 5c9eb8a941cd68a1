import { createLogRoute, logsRoot } from "#extension-api/logs/route.ts";
import { createLogService } from "#extension-api/logs/service.ts";
import { watchedRuns } from "#extension-api/logs/watched-runs.ts";
import type { Clock, Logger, Random } from "#kube/ports.ts";
import type { Client } from "#kube/resource.ts";
import type { Extensions } from "../extensions.ts";
import type { NodeLayout } from "../node/layout.ts";
import type { PodLogs } from "../node/pod-logs.ts";
import { fileLogs } from "./file-logs.ts";
import { systemLogFiles } from "./log-file.ts";

/** The logs API of a local cluster: the same routes as in a real one, over the files that the node keeps. */
export function localLogs(deps: {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly layout: NodeLayout;
  readonly logs: PodLogs;
}): Extensions {
  const logs = fileLogs({ ...deps, files: systemLogFiles });
  return { [logsRoot]: createLogRoute(createLogService({ clock: deps.clock, runs: watchedRuns(deps), logs })) };
}

import { podContainers } from "#api/pod-layout.ts";
import { type AgentLogs, PodGoneError } from "#extension-api/logs/ports.ts";
import { pods } from "#kube/builtin.ts";
import type { Client } from "#kube/resource.ts";
import { isNotFound } from "#kube/transport.ts";
import type { NodeLayout } from "../node/layout.ts";
import type { PodLogs } from "../node/pod-logs.ts";
import { AgentFileLog } from "./agent-file-log.ts";
import type { LogFiles } from "./line-file.ts";

/** The logs of the agents of this machine: the files that the node keeps, and its word when they grow. */
export function fileLogs(deps: {
  readonly client: Client;
  readonly layout: NodeLayout;
  readonly logs: PodLogs;
  readonly files: LogFiles;
}): AgentLogs {
  return {
    async open({ namespace, name, uid }, _follow, signal) {
      const found = await podUid(deps.client, { namespace, name }, signal);
      if (found === undefined || (uid !== undefined && uid !== found)) {
        throw new PodGoneError(`Pod ${name} does not exist any more, and its log went with it`);
      }
      const path = deps.layout.containerLog(found, podContainers.agent);
      const onGrowth = (fn: () => void) => deps.logs.onGrowth(path, fn);
      return new AgentFileLog(found, { path, files: deps.files, onGrowth });
    },
  };
}

async function podUid(
  client: Client,
  ref: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    return (await client.of(pods).get(ref, signal)).metadata.uid;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

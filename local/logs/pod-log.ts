import { pods } from "#kube/builtin.ts";
import type { Clock } from "#kube/ports.ts";
import type { Client } from "#kube/resource.ts";
import type { PodLogRoute } from "../http/front.ts";
import { podLogRoute } from "../http/pod-log.ts";
import type { NodeLayout } from "../node/layout.ts";
import type { PodLogs } from "../node/pod-logs.ts";
import { FileLog } from "./line-file.ts";
import { systemLogFiles } from "./log-file.ts";

/** `kubectl logs` of the Pods of a local cluster. */
export function localPodLogs(deps: {
  readonly client: Client;
  readonly clock: Clock;
  readonly layout: NodeLayout;
  readonly logs: PodLogs;
}): PodLogRoute {
  const { client, clock, layout, logs } = deps;
  return podLogRoute({
    now: () => clock.now(),
    open(podUid, container) {
      const path = layout.containerLog(podUid, container);
      return new FileLog({ path, files: systemLogFiles, onGrowth: (fn) => logs.onGrowth(path, fn) });
    },
    async gone({ metadata }, signal) {
      const { name, namespace, resourceVersion } = metadata;
      const events = await client.of(pods).watch({
        ...(namespace === undefined ? {} : { namespace }),
        fieldSelector: `metadata.name=${name}`,
        resourceVersion,
        signal,
      });
      for await (const event of events) if (event.type === "DELETED") return;
    },
  });
}

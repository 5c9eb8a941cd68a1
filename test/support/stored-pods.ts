import { podContainers } from "#api/pod-layout.ts";
import type { ApiRequest, Transport } from "#kube/transport.ts";
import { failure, StatusError, TransportError } from "#kube/transport.ts";
import type { StoredLog } from "./stored-log.ts";

export interface StoredPod {
  readonly uid: string;
  readonly stored: StoredLog;
}

const form = /^\/api\/v1\/namespaces\/[^/]+\/pods\/([^/]+)(\/log)?$/;

/** An API server that knows Pods and the logs of their agents. */
export function podServer(pods: ReadonlyMap<string, StoredPod>, state: { unavailable: boolean }): Transport {
  const requests: ApiRequest[] = [];
  const find = (request: ApiRequest) => {
    requests.push(request);
    const name = form.exec(request.path)?.[1] ?? "";
    const pod = pods.get(name);
    if (pod === undefined) throw new StatusError(failure(404, "NotFound", `pods "${name}" not found`));
    return { name, pod };
  };
  return {
    async request<T>(request: ApiRequest): Promise<T> {
      const { name, pod } = find(request);
      const agent = { name: podContainers.agent, ready: true, restartCount: pod.stored.restarts };
      const status = { phase: "Running", initContainerStatuses: [agent] };
      return { metadata: { name, namespace: "default", uid: pod.uid }, spec: { containers: [] }, status } as T;
    },
    async streamBytes(request) {
      const { pod } = find(request);
      if (state.unavailable) throw new StatusError(failure(503, "ServiceUnavailable", "the node does not answer"));
      const { signal } = request;
      const bytes = pod.stored.read(request.query ?? {}, signal);
      if (bytes === undefined) {
        throw new StatusError(failure(400, "BadRequest", "previous terminated container not found"));
      }
      return bytes;
    },
    async stream() {
      throw new TransportError("nothing is watched here");
    },
    async close() {},
  };
}

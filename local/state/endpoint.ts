import { isObject } from "#kube/json.ts";
import { stateHolder } from "#local/storage/lock.ts";
import { readText, writePrivate } from "./files.ts";
import { stateLayout } from "./layout.ts";

/** Where a cluster is served. */
export interface Endpoint {
  /** Process that serves it. */
  readonly pid: number;
  /** Port for kubectl and krt. */
  readonly https: number;
  /** Port for the processes of the node. */
  readonly http: number;
}

/** A local cluster that runs. */
export interface RunningCluster {
  readonly pid: number | "unknown";
  /** Absent while it starts. */
  readonly server?: string;
  readonly kubeconfig: string;
}

/** Notes where the cluster is served, for those who look for it and for the next start. */
export function writeEndpoint(directory: string, endpoint: Endpoint): void {
  writePrivate(stateLayout(directory).endpoint, `${JSON.stringify(endpoint)}\n`);
}

/** Where the cluster of a state directory is, or was, served. */
export function readEndpoint(directory: string): Endpoint | undefined {
  const text = readText(stateLayout(directory).endpoint);
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (!isObject(value)) return undefined;
    const { pid, https, http } = value;
    return typeof pid === "number" && isPort(https) && isPort(http) ? { pid, https, http } : undefined;
  } catch {
    return undefined;
  }
}

const isPort = (value: unknown): value is number =>
  typeof value === "number" && Number.isSafeInteger(value) && value > 0 && value < 65_536;

/** The cluster that runs on a state directory; undefined when none does. */
export function runningCluster(directory: string): RunningCluster | undefined {
  const pid = stateHolder(directory);
  if (pid === undefined) return undefined;
  const endpoint = readEndpoint(directory);
  return {
    pid,
    kubeconfig: stateLayout(directory).kubeconfig,
    ...(endpoint === undefined || endpoint.pid !== pid ? {} : { server: `https://127.0.0.1:${endpoint.https}` }),
  };
}

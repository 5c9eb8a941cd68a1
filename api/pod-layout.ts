/** What we put into every Pod of a Runtime. Templates may not use these names and paths for something else. */

/** Containers of a Runtime Pod. */
export const podContainers = {
  /** The user's image, first in the template. */
  runtime: "runtime",
  /** The agent, a native sidecar. */
  agent: "runtimed",
  /** The init container that brings the executor into the user's image. */
  injector: "kruntimes-injector",
} as const;

/** Volumes of a Runtime Pod. */
export const podVolumes = {
  workspace: "workspace",
  /** Programs of ours. */
  executor: "kruntimes",
  /** Directory of the executor's socket. */
  socket: "socket",
  artifactStore: "artifact-store",
  /** The agent's token. */
  token: "token",
  /** Temporary files of the agent, whose root is read-only. */
  agentTmp: "agent-tmp",
} as const;

/** Where those volumes are mounted. */
export const podPaths = {
  workspace: "/workspace",
  executor: "/kruntimes",
  socket: "/run/kruntimes",
  artifactStore: "/artifacts",
} as const;

/** A thing that Runs may refer to when their Runtime lists it. */
export type ReferenceKind = "Secret" | "ConfigMap";

/**
 * Where the agent, and only the agent, finds what the Runtime lists in `secrets` and `configMaps`: one directory for each
 * kind, in it one for each name, in it one file for each key. That a name is listed shows by its directory: it is there,
 * empty, also when there is no such object.
 */
export const referencePaths = {
  root: "/references",
  Secret: "secrets",
  ConfigMap: "configmaps",
} as const;

/** Ports of a Runtime Pod that are ours; its containers share one network. */
export const podPorts = {
  /** Probes, metrics and the drain hook of the agent. */
  agent: 10843,
  /** Stored artifacts, on the Pod's own 127.0.0.1: reached by `pods/portforward` only. */
  artifacts: 10844,
} as const;

/** Where a process in a Pod looks for its token (Kubernetes); here only the agent has one. */
export const tokenDirectory = "/var/run/secrets/kubernetes.io/serviceaccount";

const volumeNames: ReadonlySet<string> = new Set(Object.values(podVolumes));

/** Whether the name of a volume is ours; volumes for allowed Secrets and ConfigMaps begin with `kruntimes-`. */
export function isReservedVolume(name: string): boolean {
  return volumeNames.has(name) || name.startsWith("kruntimes-");
}

/** Which of our mount paths a path is equal to, below, or above; `undefined` when it stays clear of all of them. */
export function reservedMount(path: string): string | undefined {
  const clean = `/${path.split("/").filter(Boolean).join("/")}`;
  return Object.values(podPaths).find(
    (ours) => clean === "/" || clean === ours || clean.startsWith(`${ours}/`) || ours.startsWith(`${clean}/`),
  );
}

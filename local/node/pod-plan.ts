import { isReservedVolume } from "#api/pod-layout.ts";
import type { Container, EnvVar, Pod, Volume } from "#kube/builtin.ts";
import type { NodeLayout } from "./layout.ts";
import type { MountedReference } from "./pod-references.ts";

/** One process that stands for a container. */
export interface ContainerPlan {
  readonly name: string;
  /** Arguments of `kruntimes`: component and flags, with paths of the Pod mapped to directories of this machine. */
  readonly args: readonly string[];
  /** Variables that the Pod declares for it. */
  readonly env: Readonly<Record<string, string>>;
}

export interface PodPlan {
  readonly containers: readonly ContainerPlan[];
  /** Directories that must exist before the start. */
  readonly directories: readonly string[];
  /** Directories whose content is to be kept as the objects are. */
  readonly references: readonly MountedReference[];
}

/** A Pod that cannot run here; the reason is shown as the waiting reason of its containers. */
export interface PlanFailure {
  readonly reason: "UnsupportedVolume" | "ClaimNotFound" | "UnsupportedContainer" | "UnsupportedVariable";
  readonly message: string;
}

/** Containers of these components are run; anything else in a Pod needs an image, which a local cluster has not. */
const components = new Set(["agent", "executor"]);

/** Longest path of a unix socket on Linux, without the closing zero (unix(7)). */
const maxSocketPath = 107;

/**
 * What to start for a Pod: the agent (a sidecar) and the executor (the container `runtime`), started from this
 * installation in place of their images, with every mounted path replaced by the directory that stands for it. Other
 * init containers only prepare images and are left out.
 *
 * @param claims names of the PersistentVolumeClaims of the Pod's namespace
 */
export function planPod(pod: Pod, layout: NodeLayout, claims: ReadonlySet<string>): PodPlan | PlanFailure {
  const volumes = new Map<string, string>();
  const references: MountedReference[] = [];
  for (const volume of pod.spec.volumes ?? []) {
    const reference = referenceVolume(pod, volume, layout);
    if (reference !== undefined) {
      references.push(reference);
      volumes.set(volume.name, reference.directory);
      continue;
    }
    const directory = volumeDirectory(pod, volume, layout, claims);
    if (typeof directory !== "string") return directory;
    volumes.set(volume.name, directory);
  }
  const sidecars = (pod.spec.initContainers ?? []).filter((one) => one.restartPolicy === "Always");
  const containers: ContainerPlan[] = [];
  for (const container of [...sidecars, ...pod.spec.containers]) {
    const plan = planContainer(pod, container, volumes, layout);
    if ("reason" in plan) return plan;
    containers.push(plan);
  }
  return { containers, directories: [...new Set(volumes.values())], references };
}

/** A Secret or ConfigMap for the agent. One of the template's own would have to be at a path of the machine. */
function referenceVolume(pod: Pod, volume: Volume, layout: NodeLayout): MountedReference | undefined {
  if (!isReservedVolume(volume.name)) return undefined;
  const [kind, name] = volume.secret
    ? (["Secret", volume.secret.secretName] as const)
    : (["ConfigMap", volume.configMap?.name] as const);
  if (name === undefined) return undefined;
  return { kind, name, directory: layout.podReference(pod.metadata.uid ?? "", kind, name) };
}

function volumeDirectory(
  pod: Pod,
  volume: Volume,
  layout: NodeLayout,
  claims: ReadonlySet<string>,
): string | PlanFailure {
  if (volume.persistentVolumeClaim !== undefined) {
    const { claimName } = volume.persistentVolumeClaim;
    if (claims.has(claimName)) return layout.claim(pod.metadata.namespace ?? "default", claimName);
    return { reason: "ClaimNotFound", message: `persistentvolumeclaim "${claimName}" not found; create it` };
  }
  // A token is of no use here: the agent gets the one of the local API server.
  if (volume.emptyDir !== undefined || volume.projected !== undefined) {
    return layout.podVolume(pod.metadata.uid ?? "", volume.name);
  }
  const source = Object.keys(volume).find((key) => key !== "name") ?? "none";
  return {
    reason: "UnsupportedVolume",
    message: `volume "${volume.name}": a local cluster has emptyDir and persistentVolumeClaim, not ${source}; use one of these, or a cluster`,
  };
}

function planContainer(
  pod: Pod,
  container: Container,
  volumes: ReadonlyMap<string, string>,
  layout: NodeLayout,
): ContainerPlan | PlanFailure {
  const args = container.args ?? [];
  if (!components.has(args[0] ?? "")) {
    return {
      reason: "UnsupportedContainer",
      message: `container "${container.name}": a local cluster runs no images; only the runtime container is available`,
    };
  }
  const mounts = (container.volumeMounts ?? [])
    .map(({ mountPath, name, subPath }) => {
      const directory = volumes.get(name);
      return directory && { mountPath, directory: subPath === undefined ? directory : `${directory}/${subPath}` };
    })
    .filter((mount) => mount !== undefined && mount !== "")
    .sort((a, b) => b.mountPath.length - a.mountPath.length);
  const mapped = (value: string) => {
    const mount = mounts.find(({ mountPath }) => value === mountPath || value.startsWith(`${mountPath}/`));
    if (mount !== undefined) return `${mount.directory}${value.slice(mount.mountPath.length)}`;
    return directoryAbove(mounts, value) ?? value;
  };

  const result = args.map((arg) => {
    // Beside the volumes of the Pod, which its programs may look into.
    if (arg.startsWith("--artifact-port=")) return `--artifact-socket=${layout.artifactSocket(pod.metadata.uid ?? "")}`;
    const flag = /^(--[a-z-]+=)(.*)$/s.exec(arg);
    return flag === null ? mapped(arg) : `${flag[1]}${mapped(flag[2] ?? "")}`;
  });
  const sockets = result.map((arg) => /^--(?:artifact-)?socket=(.*)$/.exec(arg)?.[1]);
  const socket = sockets.find((path) => path !== undefined && Buffer.byteLength(path) > maxSocketPath);
  if (socket !== undefined) {
    return {
      reason: "UnsupportedVolume",
      message: `the state directory has too long a path for a socket (${socket}); choose a shorter one`,
    };
  }
  const env: Record<string, string> = {};
  for (const variable of container.env ?? []) {
    const value = variableValue(pod, variable);
    if (value === undefined) {
      return {
        reason: "UnsupportedVariable",
        message: `container "${container.name}", variable ${variable.name}: a local cluster has value and fieldRef only`,
      };
    }
    env[variable.name] = mapped(value);
  }
  return { name: container.name, args: result, env };
}

/** A path below which volumes are mounted stands for the directory in which theirs lie under the same names, if there is one. */
function directoryAbove(
  mounts: readonly { readonly mountPath: string; readonly directory: string }[],
  path: string,
): string | undefined {
  const below = mounts.find(({ mountPath }) => mountPath.startsWith(`${path}/`));
  const rest = below?.mountPath.slice(path.length);
  if (below === undefined || rest === undefined || !below.directory.endsWith(rest)) return undefined;
  return below.directory.slice(0, -rest.length);
}

/** The downward API, as far as our own templates use it. */
function variableValue(pod: Pod, variable: EnvVar): string | undefined {
  if (variable.valueFrom === undefined) return variable.value ?? "";
  const { fieldPath } = (variable.valueFrom.fieldRef ?? {}) as { fieldPath?: string };
  switch (fieldPath) {
    case "metadata.name":
      return pod.metadata.name;
    case "metadata.namespace":
      return pod.metadata.namespace ?? "default";
    case "metadata.uid":
      return pod.metadata.uid ?? "";
    case "spec.nodeName":
      return pod.spec.nodeName ?? "";
    case "status.podIP":
      return "127.0.0.1";
    default:
      return undefined;
  }
}

import { stableJson } from "#api/json.ts";
import type { Runtime } from "#api/kinds/runtime.ts";
import { annotations, labels } from "#api/labels.ts";
import { podContainers, podPaths, podPorts, podVolumes, referencePaths } from "#api/pod-layout.ts";
import { capacityOf, drainTimeoutOf } from "#api/runtimes.ts";
import type { Container, Open, PodTemplateSpec, Volume, VolumeMount } from "#kube/builtin.ts";
import { identityName } from "./identity.ts";
import { agentOnCluster, type ClusterSettings, clusterVolumes, drainHook, platformContainer } from "./on-cluster.ts";
import { references } from "./references.ts";

/** What the operator chooses for all pools. */
export interface PoolSettings {
  /** Image of the platform: agent and injector. */
  readonly image: string;
  /** UID of Namespace kube-system: marks the artifacts of this cluster. */
  readonly clusterUid: string;
  /** Milliseconds between two sweeps of a Runtime's artifacts; the agent knows the default. */
  readonly sweepIntervalMs?: number;
  /** Absent for a local cluster. */
  readonly cluster?: ClusterSettings;
}

/** The user and group of all containers of a Pod, unless the template says otherwise at Pod level. */
const defaultUser = 65532;

/** Grace period beyond the drain timeout, for the agent to end what is left and write it down. */
const graceAfterDrainMs = 30_000;

const socket = `${podPaths.socket}/executor.sock`;

/**
 * The Pod template of a Runtime's pool: the user's template with our executor as the command of the container
 * `runtime`, the agent as a native sidecar, and the injector that brings the executor into the image.
 */
export function podTemplate(runtime: Runtime, settings: PoolSettings): PodTemplateSpec {
  const { template } = runtime.spec;
  const { cluster } = settings;
  const user = template.spec as PodTemplateSpec["spec"];
  const metadata = (template.metadata ?? {}) as NonNullable<PodTemplateSpec["metadata"]>;
  const [runtimeContainer, ...others] = user.containers;
  if (runtimeContainer === undefined) throw new Error(`Runtime ${runtime.metadata.name} has no container`);
  return {
    metadata: {
      labels: {
        ...metadata.labels,
        [labels.runtime]: runtime.metadata.name,
        [labels.name]: "kruntimes",
        [labels.component]: "runtime",
        [labels.instance]: runtime.metadata.name,
        [labels.managedBy]: "kruntimes",
      },
      annotations: {
        [annotations.safeToEvict]: "false",
        ...metadata.annotations,
        [annotations.capacity]: stableJson(capacityOf(runtime.spec) ?? {}),
      },
    },
    spec: {
      ...user,
      automountServiceAccountToken: false,
      ...(cluster && { serviceAccountName: identityName(runtime.metadata.name), ...pullSecrets(user, cluster) }),
      terminationGracePeriodSeconds: Math.ceil((drainTimeoutOf(runtime.spec) + graceAfterDrainMs) / 1000),
      securityContext: {
        runAsNonRoot: true,
        runAsUser: defaultUser,
        runAsGroup: defaultUser,
        fsGroup: defaultUser,
        fsGroupChangePolicy: "OnRootMismatch",
        seccompProfile: { type: "RuntimeDefault" },
        ...user.securityContext,
      },
      tolerations: withUnreachable(user.tolerations ?? []),
      initContainers: [injector(settings), ...(user.initContainers ?? []).map(unprivileged), agent(runtime, settings)],
      containers: [server(runtime, runtimeContainer, cluster), ...others.map(unprivileged)],
      volumes: [...(user.volumes ?? []), ...volumes(runtime), ...(cluster ? clusterVolumes() : [])],
    },
  };
}

const hardened = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ["ALL"] },
} as const;

const mount = (name: string, mountPath: string, readOnly?: true): VolumeMount => ({
  name,
  mountPath,
  ...(readOnly && { readOnly }),
});

function injector(settings: PoolSettings): Container {
  return {
    name: podContainers.injector,
    image: settings.image,
    args: ["inject", `--target=${podPaths.executor}`],
    volumeMounts: [mount(podVolumes.executor, podPaths.executor)],
    securityContext: hardened,
    ...(settings.cluster && platformContainer(settings.cluster)),
  };
}

function agent(runtime: Runtime, settings: PoolSettings): Container {
  const { artifactStore } = runtime.spec;
  const { cluster } = settings;
  const claim = artifactStore?.filesystem?.volumeClaimName;
  const listed = references(runtime.spec);
  return {
    name: podContainers.agent,
    image: settings.image,
    restartPolicy: "Always",
    args: [
      "agent",
      `--runtime=${runtime.metadata.name}`,
      `--runtime-uid=${runtime.metadata.uid}`,
      `--socket=${socket}`,
      `--workspace-root=${podPaths.workspace}`,
      `--capacity=${stableJson(capacityOf(runtime.spec) ?? {})}`,
      `--drain-timeout=${drainTimeoutOf(runtime.spec)}ms`,
      `--cluster-uid=${settings.clusterUid}`,
      ...(claim === undefined
        ? []
        : [
            `--artifact-root=${podPaths.artifactStore}`,
            `--artifact-claim=${claim}`,
            `--artifact-port=${podPorts.artifacts}`,
            ...(settings.sweepIntervalMs === undefined ? [] : [`--sweep-interval=${settings.sweepIntervalMs}ms`]),
          ]),
      ...(listed.length === 0 ? [] : [`--references=${referencePaths.root}`]),
      ...(cluster ? agentOnCluster.args : []),
    ],
    env: [
      { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
      { name: "POD_NAMESPACE", valueFrom: { fieldRef: { fieldPath: "metadata.namespace" } } },
      { name: "POD_UID", valueFrom: { fieldRef: { fieldPath: "metadata.uid" } } },
      // Node has four threads for files, and a volume that hangs takes one for each transfer: the others go on.
      { name: "UV_THREADPOOL_SIZE", value: "16" },
    ],
    volumeMounts: [
      mount(podVolumes.workspace, podPaths.workspace),
      mount(podVolumes.socket, podPaths.socket),
      ...(claim === undefined ? [] : [mount(podVolumes.artifactStore, podPaths.artifactStore)]),
      ...listed.map((one) => one.mount),
      ...(cluster ? agentOnCluster.mounts : []),
    ],
    securityContext: hardened,
    ...(cluster && { ...agentOnCluster.fields, ...platformContainer(cluster) }),
  };
}

/** A container of the template as namespaces labelled `restricted` want it, unless it says otherwise. */
const unprivileged = (container: Container): Container => ({
  ...container,
  securityContext: {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ["ALL"] },
    ...(container.securityContext as object | undefined),
  },
});

/** The user's container; it keeps all but command, arguments and the paths that we mount. */
function server(runtime: Runtime, container: Container, cluster: ClusterSettings | undefined): Container {
  const { interpreter, command } = runtime.spec.server ?? {};
  return {
    ...unprivileged(container),
    command: [`${podPaths.executor}/tini`, "--", `${podPaths.executor}/kruntimes`],
    args: [
      "executor",
      `--socket=${socket}`,
      ...(command === undefined
        ? [`--interpreter=${interpreter ?? "bash"}`]
        : command.map((arg) => `--command=${arg}`)),
    ],
    volumeMounts: [
      ...(container.volumeMounts ?? []),
      mount(podVolumes.workspace, podPaths.workspace),
      mount(podVolumes.socket, podPaths.socket),
      mount(podVolumes.executor, podPaths.executor, true),
    ],
    ...(cluster && { lifecycle: { ...(container.lifecycle as object | undefined), ...drainHook } }),
  };
}

/** Those of the template, and those for our own image. */
function pullSecrets(user: PodTemplateSpec["spec"], { imagePullSecrets }: ClusterSettings): Open {
  const theirs = (user.imagePullSecrets ?? []) as readonly { readonly name?: string }[];
  const missing = imagePullSecrets.filter((name) => !theirs.some((one) => one.name === name));
  return missing.length === 0 ? {} : { imagePullSecrets: [...theirs, ...missing.map((name) => ({ name }))] };
}

function volumes(runtime: Runtime): Volume[] {
  const claim = runtime.spec.artifactStore?.filesystem?.volumeClaimName;
  const source = Object.entries(runtime.spec.workspace ?? {})[0] ?? ["emptyDir", {}];
  const made: Volume[] = [
    { name: podVolumes.workspace, [source[0]]: source[1] },
    { name: podVolumes.executor, emptyDir: {} },
    { name: podVolumes.socket, emptyDir: {} },
  ];
  if (claim !== undefined) made.push({ name: podVolumes.artifactStore, persistentVolumeClaim: { claimName: claim } });
  return [...made, ...references(runtime.spec).map((one) => one.volume)];
}

/** A lost node frees its Pods after a minute instead of five, unless the template decides that itself. */
function withUnreachable(tolerations: readonly Record<string, unknown>[]): Record<string, unknown>[] {
  const key = "node.kubernetes.io/unreachable";
  if (tolerations.some((toleration) => toleration.key === key)) return [...tolerations];
  return [...tolerations, { key, operator: "Exists", effect: "NoExecute", tolerationSeconds: 60 }];
}

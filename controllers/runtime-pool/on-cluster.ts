import { podPorts, podVolumes, tokenDirectory } from "#api/pod-layout.ts";
import type { Container, Volume } from "#kube/builtin.ts";

/**
 * What the Pods of a real cluster have beyond those of a local one, where a Pod is processes of one machine that need no
 * image, no token and no probe.
 */
export interface ClusterSettings {
  /** Of the platform's containers; default as Kubernetes chooses by the tag. */
  readonly imagePullPolicy: "Always" | "IfNotPresent" | "Never" | undefined;
  /** Secrets for the platform's image; they must exist in the namespace of each Runtime. */
  readonly imagePullSecrets: readonly string[];
  /** ClusterRole that agents are bound to in their namespace. */
  readonly agentRole: string;
  /** Of the agent and of the injector. */
  readonly agentResources: {
    readonly requests?: Readonly<Record<string, string>>;
    readonly limits?: Readonly<Record<string, string>>;
  };
}

/** How long before its expiry does not matter: the kubelet replaces a token when 80 % of its life are over. */
const tokenSeconds = 3600;

/** Fields of both containers that run the platform's image. */
export function platformContainer({ imagePullPolicy, agentResources }: ClusterSettings): Partial<Container> {
  return {
    ...(imagePullPolicy === undefined ? {} : { imagePullPolicy }),
    resources: {
      ...(agentResources.requests && { requests: { ...agentResources.requests } }),
      ...(agentResources.limits && { limits: { ...agentResources.limits } }),
    },
  };
}

const probe = (path: string) => ({ httpGet: { path, port: podPorts.agent } });

/** Flags, mounts and probes of the agent. No startup probe: the kubelet starts `runtime` only after one has passed. */
export const agentOnCluster = {
  args: [`--port=${podPorts.agent}`],
  mounts: [
    { name: podVolumes.token, mountPath: tokenDirectory, readOnly: true },
    { name: podVolumes.agentTmp, mountPath: "/tmp" },
  ],
  fields: {
    ports: [{ name: "agent", containerPort: podPorts.agent }],
    // A Pod takes Runs as soon as this passes: often, because people wait for it.
    readinessProbe: { ...probe("/readyz"), periodSeconds: 2, timeoutSeconds: 2, failureThreshold: 2 },
    livenessProbe: { ...probe("/healthz"), periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6 },
  },
} as const;

/** Before `runtime` is stopped the agent brings its Runs to an end. */
export const drainHook = { preStop: probe("/drain") };

/** The token goes where only the agent mounts it. Nothing else in the Pod can speak for it. */
export function clusterVolumes(): Volume[] {
  return [
    {
      name: podVolumes.token,
      projected: {
        sources: [
          { serviceAccountToken: { path: "token", expirationSeconds: tokenSeconds } },
          { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
        ],
      },
    },
    { name: podVolumes.agentTmp, emptyDir: {} },
  ];
}

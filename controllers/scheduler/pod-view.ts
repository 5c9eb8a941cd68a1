import { annotations, group, labels } from "#api/labels.ts";
import { isReservedVolume } from "#api/pod-layout.ts";
import { type Amounts, wholeNumbers } from "#api/quantity.ts";
import { referenceKey } from "#api/references.ts";
import { capacityOf } from "#api/runtimes.ts";
import { hasEnded, isDeleting, isDraining, isReady } from "#controllers/pods.ts";
import type { Pod, ReplicaSet } from "#kube/builtin.ts";
import { poolKey } from "./workload.ts";

/**
 * Whether a Pod takes Runs:
 * - `available`: yes
 * - `draining`: only Runs of workspaces that are bound to it
 * - `notReady`: not now; its agent or executor is starting or ill
 * - `deleting`, `ended`: never again
 * - `foreign`: no Pod of the Runtime, whatever its label says
 */
export type Availability = "available" | "draining" | "notReady" | "deleting" | "ended" | "foreign";

/** What placement needs to know of a Runtime Pod. */
export interface PodView {
  /** `namespace/uid`: a namesake that comes later is another Pod. */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** `namespace/runtime` by the Pod's label. */
  readonly pool: string;
  readonly availability: Availability;
  readonly capacity: Amounts;
  /** Keys of the Secrets and ConfigMaps that its agent can read. */
  readonly references: readonly string[];
}

export const podKey = (namespace: string | undefined, uid: string): string => `${namespace ?? ""}/${uid}`;

/** Capacity of a Pod whose annotation cannot be read: none, so that nothing lands on a Pod nobody understands. */
const nothing: Amounts = {};

/** The logical capacity that a Pod says it has; `runs: 2` when it says nothing. */
export function capacityOfPod(pod: Pod): Amounts {
  const text = pod.metadata.annotations?.[annotations.capacity];
  if (text === undefined) return capacityOf({}) ?? nothing;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return nothing;
    return wholeNumbers(value as Record<string, number | string>) ?? nothing;
  } catch {
    return nothing;
  }
}

/**
 * Reads a Pod.
 * @param replicaSet finds a ReplicaSet of the Pod's namespace by name
 * @param runtimeUID UID of the Runtime that the Pod's label names, if there is one
 */
export function viewPod(
  pod: Pod,
  replicaSet: (name: string) => ReplicaSet | undefined,
  runtimeUID: string | undefined,
): PodView {
  const { namespace = "", name, uid = "" } = pod.metadata;
  return {
    key: podKey(namespace, uid),
    namespace,
    name,
    uid,
    pool: poolKey(namespace, pod.metadata.labels?.[labels.runtime] ?? ""),
    availability: availabilityOf(pod, replicaSet, runtimeUID),
    capacity: capacityOfPod(pod),
    references: referencesOfPod(pod),
  };
}

function referencesOfPod({ spec }: Pod): string[] {
  return (spec.volumes ?? []).flatMap(({ name, secret, configMap }) => {
    if (!isReservedVolume(name)) return [];
    if (secret?.secretName !== undefined) return [referenceKey({ kind: "Secret", name: secret.secretName })];
    return configMap?.name === undefined ? [] : [referenceKey({ kind: "ConfigMap", name: configMap.name })];
  });
}

function availabilityOf(
  pod: Pod,
  replicaSet: (name: string) => ReplicaSet | undefined,
  runtimeUID: string | undefined,
): Availability {
  if (hasEnded(pod)) return "ended";
  if (isDeleting(pod)) return "deleting";
  if (runtimeUID === undefined || !isOwned(pod, replicaSet, runtimeUID)) return "foreign";
  if (pod.status?.phase !== "Running" || !isReady(pod)) return "notReady";
  return isDraining(pod) ? "draining" : "available";
}

/** The chain of owners, by UID at each link: anybody who can create Pods can write a label. */
function isOwned(pod: Pod, replicaSet: (name: string) => ReplicaSet | undefined, runtimeUID: string): boolean {
  const owner = pod.metadata.ownerReferences?.find((one) => one.controller === true && one.kind === "ReplicaSet");
  const set = owner === undefined ? undefined : replicaSet(owner.name);
  if (set === undefined || set.metadata.uid !== owner?.uid) return false;
  return (
    set.metadata.ownerReferences?.some(
      (one) =>
        one.controller === true &&
        one.kind === "Runtime" &&
        one.uid === runtimeUID &&
        one.apiVersion.startsWith(`${group}/`),
    ) ?? false
  );
}

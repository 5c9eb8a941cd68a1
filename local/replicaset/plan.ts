import { controllerReference, type Pod, type PodCondition, type ReplicaSet, replicaSets } from "#kube/builtin.ts";
import { inDeletionOrder, isReady, readySince } from "./rank.ts";

/** What one pass over a ReplicaSet should do; pure. */
export interface Plan {
  readonly create: number;
  readonly remove: readonly Pod[];
  readonly status: NonNullable<ReplicaSet["status"]>;
  /** Milliseconds until a Pod becomes available without any further event; undefined when none will. */
  readonly nextAvailableMs: number | undefined;
}

/** A Pod that counts: it has neither ended nor begun to go. */
export function isActive(pod: Pod): boolean {
  const { phase } = pod.status ?? {};
  return phase !== "Succeeded" && phase !== "Failed" && pod.metadata.deletionTimestamp === undefined;
}

/** Pods created or deleted in one pass, as in the real controller. */
const burst = 500;

/**
 * @param pods all that the ReplicaSet controls.
 * @param now milliseconds since the epoch.
 */
export function plan(set: ReplicaSet, pods: readonly Pod[], now: number): Plan {
  const active = pods.filter(isActive);
  const wanted = set.spec.replicas ?? 1;
  const leaving = set.metadata.deletionTimestamp !== undefined;
  const surplus = active.length - wanted;
  const minReadyMs = (set.spec.minReadySeconds ?? 0) * 1000;
  const ready = active.filter(isReady);
  const waits = ready.map((pod) => (readySince(pod) ?? now) + minReadyMs - now);
  const pending = waits.filter((ms) => ms > 0);
  const labels = Object.entries(set.spec.template.metadata?.labels ?? {});
  const labeled = active.filter((pod) => labels.every(([key, value]) => pod.metadata.labels?.[key] === value));
  const { conditions } = set.status ?? {};
  return {
    create: leaving ? 0 : Math.min(burst, Math.max(0, -surplus)),
    remove: leaving || surplus <= 0 ? [] : inDeletionOrder(active).slice(0, Math.min(burst, surplus)),
    status: {
      replicas: active.length,
      ...count("fullyLabeledReplicas", labeled.length),
      ...count("readyReplicas", ready.length),
      ...count("availableReplicas", ready.length - pending.length),
      ...(set.metadata.generation === undefined ? {} : { observedGeneration: set.metadata.generation }),
      ...(conditions === undefined ? {} : { conditions }),
    },
    nextAvailableMs: pending.length === 0 ? undefined : Math.min(...pending),
  };
}

/** Zeros are left out, as the real controller's are (omitempty). */
function count(name: "fullyLabeledReplicas" | "readyReplicas" | "availableReplicas", value: number) {
  return value === 0 ? {} : { [name]: value };
}

/** The status with the condition that tells of a failure to create or delete Pods, or without it. */
export function withFailure(
  status: Plan["status"],
  failure: { readonly reason: "FailedCreate" | "FailedDelete"; readonly message: string } | undefined,
  time: string,
): Plan["status"] {
  const others = (status.conditions ?? []).filter(({ type }) => type !== "ReplicaFailure");
  const present = (status.conditions ?? []).find(({ type }) => type === "ReplicaFailure");
  const { conditions: _, ...rest } = status;
  if (failure === undefined) return others.length === 0 ? rest : { ...rest, conditions: others };
  const condition: PodCondition =
    present?.reason === failure.reason && present.message === failure.message
      ? present
      : { type: "ReplicaFailure", status: "True", ...failure, lastTransitionTime: time };
  return { ...rest, conditions: [...others, condition] };
}

/** A new Pod of the set; the server completes its name with five random letters. */
export function podOf(set: ReplicaSet): Pod {
  const { metadata = {}, spec } = set.spec.template;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "",
      generateName: `${set.metadata.name}-`,
      ...(set.metadata.namespace === undefined ? {} : { namespace: set.metadata.namespace }),
      ...(metadata.labels === undefined ? {} : { labels: metadata.labels }),
      ...(metadata.annotations === undefined ? {} : { annotations: metadata.annotations }),
      ...(metadata.finalizers === undefined ? {} : { finalizers: metadata.finalizers }),
      ownerReferences: [controllerReference(replicaSets, set)],
    },
    spec,
  };
}

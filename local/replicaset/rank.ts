import { conditionOf, type Pod } from "#kube/builtin.ts";

/**
 * Which Pods of a ReplicaSet go first when there are too many, in the order of the real controller: what is least
 * useful, then what was told to be cheapest, then what disturbs least.
 */

/** Lower goes first; default 0. */
export const deletionCostAnnotation = "controller.kubernetes.io/pod-deletion-cost";

const phaseRank: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 };

/** Whether the condition Ready is True. */
export function isReady(pod: Pod): boolean {
  return conditionOf(pod.status?.conditions, "Ready")?.status === "True";
}

/** Milliseconds since the epoch at which the Pod became ready; undefined while it is not. */
export function readySince(pod: Pod): number | undefined {
  const condition = conditionOf(pod.status?.conditions, "Ready");
  if (condition?.status !== "True") return undefined;
  const time = Date.parse(condition.lastTransitionTime ?? "");
  return Number.isNaN(time) ? 0 : time;
}

function deletionCost(pod: Pod): number {
  const text = pod.metadata.annotations?.[deletionCostAnnotation];
  // An annotation that is no number counts as absent, as the API server refuses none.
  return text !== undefined && /^[+-]?\d+$/.test(text) ? Number(text) : 0;
}

function restarts(pod: Pod): number {
  return (pod.status?.containerStatuses ?? []).reduce((most, { restartCount }) => Math.max(most, restartCount), 0);
}

const created = (pod: Pod): number => Date.parse(pod.metadata.creationTimestamp ?? "") || 0;

/** Each key in turn; the Pod with the smaller one goes first. */
const keys: readonly ((pod: Pod, sharing: number) => number)[] = [
  (pod) => (pod.spec.nodeName === undefined ? 0 : 1),
  (pod) => phaseRank[pod.status?.phase ?? "Pending"] ?? 0,
  (pod) => (isReady(pod) ? 1 : 0),
  deletionCost,
  (_, sharing) => -sharing,
  (pod) => -(readySince(pod) ?? 0),
  (pod) => -restarts(pod),
  (pod) => -created(pod),
];

/** The Pods in the order in which they should be deleted. */
export function inDeletionOrder(pods: readonly Pod[]): Pod[] {
  const onNode = new Map<string | undefined, number>();
  for (const { spec } of pods) onNode.set(spec.nodeName, (onNode.get(spec.nodeName) ?? 0) + 1);
  const ranked = pods.map((pod) => ({ pod, rank: keys.map((key) => key(pod, onNode.get(pod.spec.nodeName) ?? 0)) }));
  ranked.sort((a, b) => {
    for (let i = 0; i < keys.length; i++) {
      const difference = (a.rank[i] ?? 0) - (b.rank[i] ?? 0);
      if (difference !== 0) return difference;
    }
    return a.pod.metadata.name < b.pod.metadata.name ? -1 : 1;
  });
  return ranked.map(({ pod }) => pod);
}

import { annotations } from "#api/labels.ts";
import { conditionOf, type Pod } from "#kube/builtin.ts";

/** What several controllers ask about a Pod. */

/** Kubernetes sets deletionTimestamp to the end of the grace period; a Pod that is still there this long after is lost. */
export const lostAfterDeletionMs = 30_000;

/** Its agent takes work; a Pod that is not ready may still be executing Runs. */
export const isReady = (pod: Pod): boolean => conditionOf(pod.status?.conditions, "Ready")?.status === "True";

/** A Pod in such a phase has no process any more and counts as deleted. */
export const hasEnded = (pod: Pod): boolean => pod.status?.phase === "Failed" || pod.status?.phase === "Succeeded";

/** Its deletion was asked for; until the end of its grace period it may still be executing Runs. */
export const isDeleting = (pod: Pod): boolean => pod.metadata.deletionTimestamp !== undefined;

/** It takes no new work because it is to be replaced. */
export const isDraining = (pod: Pod): boolean => pod.metadata.annotations?.[annotations.draining] !== undefined;

/** Why Kubernetes takes a Pod away that nobody asked to delete (Pod condition DisruptionTarget). */
const disruptionOf = (pod: Pod): string | undefined => {
  const disruption = conditionOf(pod.status?.conditions, "DisruptionTarget");
  return disruption?.status === "True" ? disruption.reason : undefined;
};

/** It was, or is being, removed because its node is gone. */
export const isTainted = (pod: Pod): boolean => disruptionOf(pod) === "DeletionByTaintManager";

const evictions: ReadonlySet<string | undefined> = new Set([
  "EvictionByEvictionAPI", // kubectl drain, an autoscaler
  "TerminationByKubelet", // pressure on the node, a volume over its limit
  "PreemptionByScheduler",
]);

/** It had to make room. The kubelet loses its reason `Evicted` when the containers end faster than it writes; the condition may stay. */
export const isEvicted = (pod: Pod): boolean => pod.status?.reason === "Evicted" || evictions.has(disruptionOf(pod));

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

/** It was, or is being, removed because its node is gone (Pod condition DisruptionTarget). */
export const isTainted = (pod: Pod): boolean => {
  const disruption = conditionOf(pod.status?.conditions, "DisruptionTarget");
  return disruption?.status === "True" && disruption.reason === "DeletionByTaintManager";
};

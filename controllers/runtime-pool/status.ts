import { setCondition } from "#api/conditions.ts";
import type { Runtime, RuntimeStatus } from "#api/kinds/runtime.ts";
import { labels } from "#api/labels.ts";
import type { Condition } from "#api/meta.ts";
import { replicasOf } from "#api/runtimes.ts";
import { conditionOf, type Pod } from "#kube/builtin.ts";
import type { PoolPod, Seen } from "./observe.ts";

const isLiving = (pod: Pod) =>
  pod.metadata.deletionTimestamp === undefined && pod.status?.phase !== "Failed" && pod.status?.phase !== "Succeeded";
const isReady = (pod: Pod) => conditionOf(pod.status?.conditions, "Ready")?.status === "True";

/** The status of a Runtime whose pool looks like that. */
export function statusOf(runtime: Runtime, seen: Seen, now: number): RuntimeStatus {
  const old = runtime.status ?? {};
  const current = (seen.current?.pods ?? []).map(({ pod }) => pod).filter(isLiving);
  const all = [...(seen.current?.pods ?? []), ...seen.old.flatMap(({ pods }) => pods)];
  const living = all.filter(({ pod }) => isLiving(pod));
  const ready = living.filter(({ pod }) => isReady(pod));
  const wanted = replicasOf(runtime.spec);
  const rolling = seen.old.some(({ pods }) => pods.some(({ pod }) => isLiving(pod))) || current.length !== wanted;

  let conditions = (old.conditions ?? []) as readonly Condition[];
  const set = (type: string, holds: boolean, reason: Parameters<typeof setCondition>[1]["reason"], message: string) => {
    conditions = setCondition(conditions, { type, status: holds ? "True" : "False", reason, message }, now);
  };
  if (ready.length >= wanted) set("Available", true, "MinimumReplicasAvailable", `${ready.length} Pods are ready`);
  else set("Available", false, "MinimumReplicasUnavailable", `${ready.length} of ${wanted} Pods are ready`);
  if (rolling) set("Progressing", true, "RolloutInProgress", `${current.length} of ${wanted} Pods are up to date`);
  else set("Progressing", false, "RolloutComplete", "all Pods are up to date");
  const trouble = troubleOf(living);
  if (trouble === undefined) set("Degraded", false, "Healthy", "no Pod is in trouble");
  else set("Degraded", true, "PodsFailing", trouble);

  return {
    ...old,
    observedGeneration: runtime.metadata.generation ?? 0,
    replicas: living.length,
    readyReplicas: ready.length,
    activeRuns: living.reduce((sum, { activeRuns }) => sum + activeRuns, 0),
    selector: `${labels.runtime}=${runtime.metadata.name}`,
    conditions: [...conditions],
  };
}

/** Why a container cannot run, in the words of the kubelet; undefined when none has such a problem. */
function troubleOf(living: readonly PoolPod[]): string | undefined {
  for (const { pod } of living) {
    const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
    for (const { name, state } of statuses) {
      const reason = state?.waiting?.reason;
      if (reason === undefined || reason === "ContainerCreating" || reason === "PodInitializing") continue;
      return `Pod ${pod.metadata.name}, container ${name}: ${reason}: ${state?.waiting?.message ?? "no message"}`;
    }
  }
  return undefined;
}

import { setCondition } from "#api/conditions.ts";
import type { Runtime, RuntimeStatus } from "#api/kinds/runtime.ts";
import { labels } from "#api/labels.ts";
import type { Condition } from "#api/meta.ts";
import { replicasOf } from "#api/runtimes.ts";
import { hasEnded, isDeleting, isReady } from "#controllers/pods.ts";
import { conditionOf, type Pod } from "#kube/builtin.ts";
import type { PoolPod, Seen } from "./observe.ts";
import type { Problem } from "./problem.ts";

const isLiving = (pod: Pod) => !isDeleting(pod) && !hasEnded(pod);

/**
 * The status of a Runtime whose pool looks like that.
 *
 * @param problem what the last pass met when it changed the pool
 */
export function statusOf(runtime: Runtime, seen: Seen, now: number, problem?: Problem): RuntimeStatus {
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
  const trouble = problem ?? refusedPods(seen) ?? failingPod(living);
  if (trouble === undefined) set("Degraded", false, "Healthy", "no Pod is in trouble");
  else set("Degraded", true, trouble.reason, trouble.message);

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

/** Why the ReplicaSet gets no Pods: a quota, a policy of the namespace, a field that Kubernetes does not take. */
function refusedPods({ current }: Seen): Problem | undefined {
  const failure = conditionOf(current?.set.status?.conditions, "ReplicaFailure");
  if (failure?.status !== "True") return undefined;
  return { reason: "TemplateRefused", message: failure.message ?? failure.reason ?? "no Pod can be created" };
}

/** States of a container on its way that are no trouble. */
const onTheWay: ReadonlySet<string | undefined> = new Set([undefined, "ContainerCreating", "PodInitializing"]);

/** Why a Pod cannot be placed or a container cannot run, in the words of Kubernetes. */
function failingPod(living: readonly PoolPod[]): Problem | undefined {
  for (const { pod } of living) {
    const { conditions, initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
    const placed = conditionOf(conditions, "PodScheduled");
    if (placed?.status === "False") return failing(pod, `${placed.reason}: ${placed.message ?? "no message"}`);
    for (const { name, state, lastState } of [...initContainerStatuses, ...containerStatuses]) {
      const waiting = state?.waiting;
      if (onTheWay.has(waiting?.reason)) continue;
      const ended = lastState?.terminated?.message;
      const message = [waiting?.message ?? "no message", ...(ended === undefined ? [] : [ended.trim()])].join("; ");
      return failing(pod, `container ${name}: ${waiting?.reason}: ${message}`);
    }
  }
  return undefined;
}

const failing = (pod: Pod, message: string): Problem => ({
  reason: "PodsFailing",
  message: `Pod ${pod.metadata.name}, ${message}`,
});

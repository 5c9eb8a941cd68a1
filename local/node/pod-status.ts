import { timestamp } from "#api/time.ts";
import type { Pod, PodCondition, PodStatus } from "#kube/builtin.ts";
import type { PlanFailure } from "./pod-plan.ts";

/** What of a runner is visible in the status of its Pod. */
export interface RunnerView {
  readonly ready: boolean;
  containerStatuses(): NonNullable<PodStatus["containerStatuses"]>;
}

/** The status of a Pod whose processes run, or undefined when it says so already. */
export function runningStatus(pod: Pod, runner: RunnerView, now: number): PodStatus | undefined {
  const status: PodStatus = {
    ...pod.status,
    phase: "Running",
    podIP: "127.0.0.1",
    hostIP: "127.0.0.1",
    startTime: pod.status?.startTime ?? timestamp(now),
    conditions: conditions(pod, runner.ready, runner.ready ? undefined : "ContainersNotReady", now),
    containerStatuses: runner.containerStatuses(),
  };
  return same(status, pod.status) ? undefined : status;
}

/** The status of a Pod that cannot be started now; the waiting reason of its containers says why. */
export function waitingStatus(pod: Pod, failure: PlanFailure, now: number): PodStatus | undefined {
  const status: PodStatus = {
    ...pod.status,
    phase: "Pending",
    conditions: conditions(pod, false, failure.reason, now, failure.message),
    containerStatuses: pod.spec.containers.map(({ name }) => ({
      name,
      ready: false,
      restartCount: 0,
      state: { waiting: { reason: failure.reason, message: failure.message } },
    })),
  };
  return same(status, pod.status) ? undefined : status;
}

/** The status of a Pod whose processes ended with an earlier process of the local cluster. */
export function failedStatus(pod: Pod, now: number): PodStatus {
  const message = "the local cluster was started anew; the processes of this Pod ended with it";
  return {
    ...pod.status,
    phase: "Failed",
    reason: "NodeLost",
    message,
    conditions: conditions(pod, false, "PodFailed", now, message),
  };
}

function conditions(
  pod: Pod,
  ready: boolean,
  reason: string | undefined,
  now: number,
  message?: string,
): PodCondition[] {
  const make = (type: string, holds: boolean): PodCondition => {
    const old = pod.status?.conditions?.find((condition) => condition.type === type);
    const status = holds ? "True" : "False";
    return {
      type,
      status,
      ...(holds || reason === undefined ? {} : { reason }),
      ...(holds || message === undefined ? {} : { message }),
      lastTransitionTime: old?.status === status ? (old.lastTransitionTime ?? null) : timestamp(now),
    };
  };
  return [make("PodScheduled", true), make("Initialized", true), make("ContainersReady", ready), make("Ready", ready)];
}

/** Both come from the same code, so their members have the same order. */
const same = (a: PodStatus, b: PodStatus | undefined) => JSON.stringify(a) === JSON.stringify(b);

import type { Run, RunStatus } from "#api/kinds/run.ts";
import { isTerminal, retryOf, timeoutOf } from "#api/runs.ts";
import { parseTime } from "#api/time.ts";
import { hasEnded, isEvicted, isTainted, lostAfterDeletionMs } from "#controllers/pods.ts";
import type { Pod } from "#kube/builtin.ts";
import type { LostReason, RunEvent } from "#machines/run.ts";

export interface Seen {
  readonly run: Run;
  /** The Pod that has the name of the assigned one now. */
  readonly pod: Pod | undefined;
  readonly runtimeExists: boolean;
  /**
   * When this controller first saw the attempt at work, milliseconds since the epoch. `startTime` is by the clock of an agent,
   * and must take no Run away when that is wrong.
   */
  readonly runningSince: number | undefined;
}

/** An agent that has not ended an attempt this long after its timeout is silent. */
const silenceMs = 60_000;

/**
 * S1  Scheduled or Running, Pod gone, replaced, ended, or long past its grace period -> POD_LOST
 * S2  Running, Pod there but not ready                                               -> wait: it may still work
 * S3  Running, far beyond its timeout                                                -> POD_LOST NodeLost
 * S4  Pending again, Runtime deleted                                                 -> RUNTIME_DELETED
 * S5  Pending for the first time, no Runtime                                         -> wait: it may come
 */
export function observe(seen: Seen, status: RunStatus, now: number): RunEvent | undefined {
  const { run, runtimeExists } = seen;
  if (isTerminal(status.phase)) return undefined;
  if (status.phase === "Pending") {
    if (runtimeExists || (status.assignmentEpoch ?? 0) === 0) return undefined;
    return { type: "RUNTIME_DELETED", message: `Runtime ${run.spec.runtime} was deleted`, now };
  }
  const lost = lostPod(seen, status, now) ?? silent(seen, status, now);
  if (lost === undefined) return undefined;
  // The Pod went because its Runtime did: another attempt would find no place.
  const reason = runtimeExists ? lost.reason : "RuntimeDeleted";
  return { type: "POD_LOST", reason, message: lost.message, retry: retryOf(run.spec), now };
}

interface Lost {
  readonly reason: LostReason;
  readonly message: string;
}

function lostPod({ pod }: Seen, status: RunStatus, now: number): Lost | undefined {
  const name = status.assignedPod;
  if (pod === undefined) return { reason: "PodDeleted", message: `Pod ${name} was deleted` };
  if (pod.metadata.uid !== status.assignedPodUID) {
    return { reason: "PodDeleted", message: `Pod ${name} was replaced by another one of that name` };
  }
  if (hasEnded(pod)) return { reason: endReason(pod), message: `Pod ${name} has ended: ${describeEnd(pod)}` };
  if (isTainted(pod)) return { reason: "NodeLost", message: `Pod ${name} was removed because its node is lost` };
  const deletion = parseTime(pod.metadata.deletionTimestamp);
  if (deletion !== undefined && now >= deletion + lostAfterDeletionMs) {
    return { reason: "NodeLost", message: `Pod ${name} is long past its grace period and has not gone` };
  }
  return undefined;
}

const endReason = (pod: Pod): LostReason => (isEvicted(pod) ? "PodEvicted" : "PodDeleted");

const describeEnd = (pod: Pod) => pod.status?.message ?? pod.status?.reason ?? `phase ${pod.status?.phase}`;

function silent(seen: Seen, status: RunStatus, now: number): Lost | undefined {
  const deadline = silenceDeadline(seen, status);
  if (deadline === undefined || now < deadline) return undefined;
  return {
    reason: "NodeLost",
    message: `the agent of Pod ${status.assignedPod} has not ended the attempt although its timeout is long over`,
  };
}

function silenceDeadline({ run, runningSince }: Seen, status: RunStatus): number | undefined {
  const timeout = timeoutOf(run.spec);
  if (status.phase !== "Running" || runningSince === undefined || timeout === undefined) return undefined;
  return runningSince + timeout + silenceMs;
}

/** When to look again although nothing changes: the earliest deadline that {@link observe} waits for. */
export function nextDeadline(seen: Seen, status: RunStatus): number | undefined {
  if (status.phase !== "Scheduled" && status.phase !== "Running") return undefined;
  const deletion = parseTime(seen.pod?.metadata.deletionTimestamp);
  const deadlines = [
    silenceDeadline(seen, status),
    deletion === undefined ? undefined : deletion + lostAfterDeletionMs,
  ].filter((deadline) => deadline !== undefined);
  return deadlines.length === 0 ? undefined : Math.min(...deadlines);
}

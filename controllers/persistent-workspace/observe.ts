import { fnv1a32 } from "#api/hash.ts";
import type { PersistentWorkspace, PersistentWorkspaceStatus } from "#api/kinds/persistent-workspace.ts";
import { workspaceFinalizer } from "#api/labels.ts";
import { workspacePath } from "#api/names.ts";
import { parseTime, timestamp } from "#api/time.ts";
import { hasEnded, isDeleting, isReady } from "#controllers/pods.ts";
import type { Pod } from "#kube/builtin.ts";
import type { PersistentWorkspaceEvent } from "#machines/persistent-workspace.ts";

export interface Seen {
  readonly workspace: PersistentWorkspace;
  readonly runtimeExists: boolean;
  /** Ready Pods of the Runtime that take new work. */
  readonly candidates: readonly Pod[];
  /** The Pod that has that name now. */
  podNamed(name: string): Pod | undefined;
  /** Runs that refer to the workspace and have not ended. */
  readonly activeRuns: number;
  /** Latest end of a Run that referred to it since it was bound, milliseconds since the epoch. */
  readonly lastCompletion: number | undefined;
  /** When the number of active Runs may be written again, milliseconds since the epoch. */
  readonly usageDue: number;
}

/** How long a workspace must be unused before that is written down: the next step of a job comes within it. */
export const unusedDelayMs = 1000;

/**
 * S1   Pending, deleted                          -> RELEASE, nothing to wait for
 * S2   Pending, no ready Pod                     -> WAIT
 * S3   Pending, ready Pods                       -> BIND, the same pick for the same candidates
 * S4   Bound, Pod gone, replaced, going or ended -> LOSE, never bound again
 * S5   Bound, Pod merely not ready               -> POD_NOT_READY, the binding stays
 * S6   Bound, deleted                            -> RELEASE, active Runs may finish
 * S7   Bound, unused for its TTL                 -> RELEASE, then deletion is requested
 * S8   Released, Pod gone                        -> LOSE, no bytes are left
 * S9   Released for its TTL, not deleted yet     -> NOT_DELETED
 * S10  Lost or never bound, finalizer left       -> FINALIZER_LEFT
 */
export function observe(
  seen: Seen,
  status: PersistentWorkspaceStatus,
  now: number,
): PersistentWorkspaceEvent | undefined {
  switch (status.phase) {
    case "Pending":
      return observePending(seen, status, now);
    case "Bound":
      return (
        lose(seen, status, now) ?? release(seen, status, now) ?? usage(seen, status, now) ?? pod(seen, status, now)
      );
    case "Released":
      return released(seen, status, now);
    case "Lost":
      return hasFinalizer(seen.workspace) ? { type: "FINALIZER_LEFT" } : undefined;
    default:
      return status.phase satisfies never;
  }
}

const hasFinalizer = (workspace: PersistentWorkspace) =>
  workspace.metadata.finalizers?.includes(workspaceFinalizer) ?? false;

const isDeleted = (workspace: PersistentWorkspace) => workspace.metadata.deletionTimestamp !== undefined;

function observePending(
  { workspace, runtimeExists, candidates }: Seen,
  status: PersistentWorkspaceStatus,
  now: number,
): PersistentWorkspaceEvent | undefined {
  const { runtime } = workspace.spec;
  if (isDeleted(workspace)) {
    return { type: "RELEASE", reason: "DeletionRequested", message: "deleted before it was bound", now };
  }
  const sorted = [...candidates].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const pick = sorted[fnv1a32(workspace.metadata.uid ?? "") % sorted.length];
  if (pick === undefined) {
    const wait = runtimeExists
      ? ({ reason: "NoReadyRuntimePods", message: `Runtime ${runtime} has no ready Pod` } as const)
      : ({ reason: "RuntimeNotFound", message: `there is no Runtime ${runtime}` } as const);
    return status.reason === wait.reason ? undefined : { type: "WAIT", ...wait, now };
  }
  return {
    type: "BIND",
    runtime,
    pod: pick.metadata.name,
    podUID: pick.metadata.uid ?? "",
    path: workspacePath(workspace.metadata.name),
    finalizer: hasFinalizer(workspace),
    now,
  };
}

/** Why the bound Pod no longer holds the files; undefined while it does. */
function lose(seen: Seen, status: PersistentWorkspaceStatus, now: number): PersistentWorkspaceEvent | undefined {
  const name = status.boundPod ?? "";
  const boundPod = seen.podNamed(name);
  const because = (
    reason: Extract<PersistentWorkspaceEvent, { type: "LOSE" }>["reason"],
    message: string,
  ): PersistentWorkspaceEvent => ({ type: "LOSE", reason, message, now });
  if (boundPod === undefined) return because("BoundPodDeleted", `Pod ${name} no longer exists`);
  if (boundPod.metadata.uid !== status.boundPodUID) {
    return because("BoundPodReplaced", `another Pod has the name ${name} now`);
  }
  if (isDeleting(boundPod)) return because("BoundPodDeleting", `Pod ${name} is being deleted`);
  if (hasEnded(boundPod)) return because("BoundPodFailed", `Pod ${name} has ended`);
  return undefined;
}

function release(
  { workspace, activeRuns, ...seen }: Seen,
  status: PersistentWorkspaceStatus,
  now: number,
): PersistentWorkspaceEvent | undefined {
  if (isDeleted(workspace)) {
    return { type: "RELEASE", reason: "DeletionRequested", message: "the workspace is being deleted", now };
  }
  const due = ttlDue({ workspace, activeRuns, ...seen }, status);
  if (due === undefined || now < due) return undefined;
  const seconds = workspace.spec.ttlSecondsAfterUnused;
  return { type: "RELEASE", reason: "TTLExpired", message: `unused for ${seconds} s`, now };
}

/** When the unused interval is over; undefined while it is used, or is kept without limit. */
function ttlDue(
  { workspace, activeRuns, lastCompletion }: Seen,
  status: PersistentWorkspaceStatus,
): number | undefined {
  const { ttlSecondsAfterUnused: ttl, cleanupPolicy = "DeleteAfterTTL" } = workspace.spec;
  if (ttl === undefined || cleanupPolicy === "Retain" || activeRuns > 0) return undefined;
  const unusedSince = Math.max(
    lastCompletion ?? 0,
    parseTime(status.lastUsedTime) ?? 0,
    parseTime(status.boundTime) ?? 0,
  );
  return unusedSince + ttl * 1000;
}

function usage(seen: Seen, status: PersistentWorkspaceStatus, now: number): PersistentWorkspaceEvent | undefined {
  const { activeRuns, lastCompletion, usageDue } = seen;
  const written = status.activeRuns ?? 0;
  if (activeRuns > 0) return activeRuns === written || now < usageDue ? undefined : { type: "USE", activeRuns, now };
  const recorded = parseTime(status.lastUsedTime) ?? 0;
  if (written === 0 && (lastCompletion ?? 0) <= recorded) return undefined;
  // Runs that were deleted while no controller was there leave no completionTime: then they ended now.
  const since = Math.max(lastCompletion ?? now, recorded);
  if (now < unusedSince(seen, status, now)) return undefined;
  return { type: "UNUSED", lastUsedTime: timestamp(since), now };
}

function unusedSince({ lastCompletion }: Seen, status: PersistentWorkspaceStatus, now: number): number {
  return Math.max(lastCompletion ?? now - unusedDelayMs, parseTime(status.lastUsedTime) ?? 0) + unusedDelayMs;
}

function pod(seen: Seen, status: PersistentWorkspaceStatus, now: number): PersistentWorkspaceEvent | undefined {
  const boundPod = seen.podNamed(status.boundPod ?? "");
  if (boundPod === undefined) return undefined;
  const says = status.conditions?.find(({ type }) => type === "PodReady")?.status;
  if (isReady(boundPod)) return says === "True" ? undefined : { type: "POD_READY", now };
  if (says === "False") return undefined;
  return { type: "POD_NOT_READY", message: `Pod ${status.boundPod} is not ready; its files are still there`, now };
}

function released(seen: Seen, status: PersistentWorkspaceStatus, now: number): PersistentWorkspaceEvent | undefined {
  if (status.boundPodUID === undefined) return hasFinalizer(seen.workspace) ? { type: "FINALIZER_LEFT" } : undefined;
  const other = lose(seen, status, now) ?? usage(seen, status, now);
  if (other !== undefined) return other;
  // Released in this very pass, its deletion is asked for already.
  const isStored = seen.workspace.status?.phase === "Released";
  return isStored && !isDeleted(seen.workspace) ? { type: "NOT_DELETED" } : undefined;
}

/** When to look again although nothing changes. */
export function nextDeadline(seen: Seen, status: PersistentWorkspaceStatus, now: number): number | undefined {
  if (status.phase !== "Bound" && status.phase !== "Released") return undefined;
  const written = status.activeRuns ?? 0;
  const deadlines: number[] = [];
  if (seen.activeRuns > 0 && seen.activeRuns !== written) deadlines.push(seen.usageDue);
  const recorded = parseTime(status.lastUsedTime) ?? 0;
  if (seen.activeRuns === 0 && (written > 0 || (seen.lastCompletion ?? 0) > recorded)) {
    deadlines.push(unusedSince(seen, status, now));
  }
  const due = status.phase === "Bound" ? ttlDue(seen, status) : undefined;
  if (due !== undefined) deadlines.push(due);
  return deadlines.length === 0 ? undefined : Math.min(...deadlines);
}

/** What each move of a PersistentWorkspace writes: pure functions from the fields before to the fields after. */
import { type ConditionState, findCondition, setCondition } from "#api/conditions.ts";
import type { PersistentWorkspaceStatus } from "#api/kinds/persistent-workspace.ts";
import type { Reason } from "#api/reasons.ts";
import { parseTime, timestamp } from "#api/time.ts";
import { clip } from "./lib/text.ts";

/** A workspace's status without its phase. */
export type WorkspaceFields = Omit<PersistentWorkspaceStatus, "phase">;

export type UnboundReason = Extract<Reason, "NoReadyRuntimePods" | "RuntimeNotFound">;
export type LoseReason = Extract<
  Reason,
  "BoundPodDeleted" | "BoundPodReplaced" | "BoundPodDeleting" | "BoundPodFailed"
>;
export type ReleaseReason = Extract<Reason, "TTLExpired" | "DeletionRequested">;
export type Readiness = { readonly ready: true } | { readonly ready: false; readonly message: string };

interface Why<R extends Reason> {
  readonly reason: R;
  readonly message: string;
  readonly now: number;
}

/** The condition of a workspace that has nothing to be bound to. */
export function unbound({ reason, message }: { reason: UnboundReason; message: string }): ConditionState {
  return { type: "Bound", status: "False", reason, message: clip(message) };
}

/** The condition that tells whether the bound Pod is ready. */
export function podReadiness(fields: WorkspaceFields, readiness: Readiness): ConditionState {
  return readiness.ready
    ? { type: "PodReady", status: "True", reason: "PodReady", message: `Pod ${fields.boundPod} is ready` }
    : { type: "PodReady", status: "False", reason: "PodNotReady", message: clip(readiness.message) };
}

/** Whether the condition would change by being set. */
export function isNews(fields: WorkspaceFields, says: ConditionState): boolean {
  const old = findCondition(fields.conditions, says.type);
  return old?.status !== says.status || old.reason !== says.reason || old.message !== says.message;
}

/** Says why it is not bound. */
export function wait(fields: WorkspaceFields, why: Why<UnboundReason>): WorkspaceFields {
  const says = unbound(why);
  return { ...set(fields, says, why.now), reason: why.reason, message: says.message };
}

/** Records the Pod that holds the directory. */
export function bind(
  fields: WorkspaceFields,
  to: { runtime: string; pod: string; podUID: string; path: string; now: number },
): WorkspaceFields {
  const { reason: _reason, message: _message, ...rest } = fields;
  const { runtime, pod, podUID, path, now } = to;
  const bound = { ...rest, runtime, boundPod: pod, boundPodUID: podUID, path, boundTime: timestamp(now) };
  const says = { type: "Bound", status: "True", reason: "Bound", message: `bound to Pod ${pod}` } as const;
  return setReadiness(set(bound, says, now), { ready: true }, now);
}

/** The files are gone. */
export function lose(fields: WorkspaceFields, why: Why<LoseReason>): WorkspaceFields {
  const { reason, now } = why;
  const message = clip(why.message);
  const unbound = set(fields, { type: "Bound", status: "False", reason, message }, now);
  return { ...set(unbound, { type: "PodReady", status: "False", reason, message }, now), reason, message };
}

/** No new Run may claim it. */
export function release(fields: WorkspaceFields, why: Why<ReleaseReason>): WorkspaceFields {
  return { ...fields, reason: why.reason, message: clip(why.message) };
}

/** So many Runs use it. */
export function use(fields: WorkspaceFields, { activeRuns, now }: { activeRuns: number; now: number }) {
  // The number stands in activeRuns; a text that repeats it would be one more thing to change with every Run.
  const message = "Runs that have not ended refer to it";
  const says = { type: "InUse", status: "True", reason: "ActiveRuns", message } as const;
  return { ...set(fields, says, now), activeRuns };
}

/** Nothing uses it; the recorded time of the last use never goes back. */
export function unused(fields: WorkspaceFields, last: { lastUsedTime: string; now: number }): WorkspaceFields {
  const message = "no Run that has not ended refers to it";
  const says = { type: "InUse", status: "False", reason: "Unused", message } as const;
  const isLater = (parseTime(last.lastUsedTime) ?? 0) > (parseTime(fields.lastUsedTime) ?? 0);
  return {
    ...set(fields, says, last.now),
    activeRuns: 0,
    ...(isLater && { lastUsedTime: last.lastUsedTime }),
  };
}

/** Whether its Pod is ready, as a condition. */
export function setReadiness(fields: WorkspaceFields, readiness: Readiness, now: number): WorkspaceFields {
  return set(fields, podReadiness(fields, readiness), now);
}

function set(fields: WorkspaceFields, says: ConditionState, now: number): WorkspaceFields {
  return { ...fields, conditions: [...setCondition(fields.conditions, says, now)] };
}

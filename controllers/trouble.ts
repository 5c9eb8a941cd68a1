import { findCondition } from "#api/conditions.ts";
import type { PersistentWorkspaceStatus } from "#api/kinds/persistent-workspace.ts";
import type { RunStatus } from "#api/kinds/run.ts";
import type { WorkflowRunStatus } from "#api/kinds/workflow-run.ts";
import type { Condition, KubeObject } from "#api/meta.ts";
import type { Reason } from "#api/reasons.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import { apiVersionOf } from "#kube/builtin.ts";
import type { Recorder } from "#kube/ports.ts";
import type { ResourceType } from "#kube/resource.ts";

/** What a change of status says that people should hear of as a Warning Event; undefined on the happy path. */
export interface Trouble {
  readonly reason: string;
  readonly message: string;
}

/** An Event. */
export interface Said extends Trouble {
  readonly type: "Normal" | "Warning";
}

/** A Run was taken from its Pod, or ended because its Pod or its Runtime went. */
export function runTrouble(old: RunStatus | undefined, status: RunStatus): Trouble | undefined {
  if (status.phase === old?.phase || old?.phase === undefined) return undefined;
  if (status.reason !== undefined && status.phase !== "Pending") {
    return { reason: status.reason, message: status.message ?? `the Run is ${status.phase}` };
  }
  if (status.phase !== "Pending") return undefined;
  const pod = old.assignedPod ?? "its Pod";
  const lost = (status.attempts?.length ?? 0) > (old.attempts?.length ?? 0) ? status.attempts?.at(-1) : undefined;
  if (lost === undefined) return { reason: "PodLost", message: `Pod ${pod} went before the Run had started` };
  return {
    reason: lost.reason ?? "AttemptLost",
    message: `attempt ${lost.number} on Pod ${pod} is lost; the Run goes on`,
  };
}

/** A workspace is lost with its Pod, for ever. */
export function workspaceTrouble(
  old: PersistentWorkspaceStatus | undefined,
  status: PersistentWorkspaceStatus,
): Trouble | undefined {
  if (status.phase !== "Lost" || old?.phase === "Lost") return undefined;
  const bound = findCondition(status.conditions as readonly Condition[] | undefined, "Bound");
  return {
    reason: "WorkspaceLost",
    message: bound?.message ?? `Pod ${status.boundPod ?? ""} is gone, and its files with it`,
  };
}

/** Ends that a user asked for are no trouble, and no success either. */
const asked: ReadonlySet<string | undefined> = new Set(["Stopped", "Terminated"]);

/** What is said of a workflow when it ends: one Event, whose reason is how. */
export function workflowEnd(old: WorkflowRunStatus | undefined, status: WorkflowRunStatus): Said | undefined {
  if (!hasEnded(status.phase) || old?.phase === status.phase) return undefined;
  if (status.phase === "Succeeded") return { type: "Normal", reason: "RunCompleted", message: "all jobs ended well" };
  const type = asked.has(status.reason) ? "Normal" : "Warning";
  return { type, reason: status.reason ?? "Failed", message: status.message ?? "the workflow failed" };
}

/** What is said of a workflow when gates begin to wait for somebody: one Event for all, since its phase does not tell. */
export function gatesWait(old: WorkflowRunStatus | undefined, status: WorkflowRunStatus): Said | undefined {
  const before = new Set(waitingGates(old).map(({ name }) => name));
  const fresh = waitingGates(status).filter(({ name }) => !before.has(name));
  const [first] = fresh;
  if (first === undefined || hasEnded(status.phase)) return undefined;
  const asks = first.message === undefined ? "" : `: ${first.message}`;
  const more = fresh.length === 1 ? "" : ` (and ${fresh.length - 1} more)`;
  return { type: "Normal", reason: "WaitsForResume", message: `gate ${first.name}${more} waits to be resumed${asks}` };
}

function waitingGates(status: WorkflowRunStatus | undefined) {
  return Object.entries(status?.jobs ?? {}).flatMap(([id, { steps = [] }]) =>
    steps
      .filter(({ phase, reason }) => phase === "Suspended" && reason === ("WaitsForResume" satisfies Reason))
      .map(({ name, message }) => ({ name: `${id}/${name}`, message })),
  );
}

/** Emits trouble, if there is any, about an object whose status was just written. */
export function tellTrouble<T extends KubeObject>(
  recorder: Recorder | undefined,
  resource: ResourceType<T>,
  object: T,
  trouble: Trouble | undefined,
): void {
  if (trouble !== undefined) tell(recorder, resource, object, { type: "Warning", ...trouble });
}

/** Emits an Event about an object. */
export function tell<T extends KubeObject>(
  recorder: Recorder | undefined,
  resource: ResourceType<T>,
  { metadata: { name, namespace, uid } }: T,
  { type, reason, message }: Said,
): void {
  const about = { apiVersion: apiVersionOf(resource), kind: resource.kind, name };
  const place = { ...(namespace === undefined ? {} : { namespace }), ...(uid === undefined ? {} : { uid }) };
  recorder?.event({ ...about, ...place }, type, reason, message);
}

import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import type { WaitingReason } from "#api/reasons.ts";
import { podKey } from "./pod-view.ts";
import type { Slot } from "./slot.ts";
import type { Workload } from "./workload.ts";

/** The one Pod that holds the workspace of a Run, or why there is none to use. Found once for each decision. */
export type ResolvedWorkspace =
  | { readonly kind: "bound"; readonly name: string; readonly slot: Slot }
  | {
      readonly kind: "unusable";
      readonly name: string;
      readonly reason: WaitingReason;
      readonly message: string;
      /** Key of the Pod whose readiness would help. */
      readonly pod?: string;
    };

/**
 * W1  no such workspace                  -> WorkspaceNotFound
 * W2  belongs to another Runtime         -> WorkspaceRuntimeMismatch
 * W3  Released, or being deleted         -> WorkspaceReleased
 * W4  Lost                               -> WorkspaceLost
 * W5  not bound yet                      -> WorkspaceNotBound
 * W6  bound Pod (by UID) is not there    -> WorkspacePodMismatch: a namesake with another UID has no data
 * W7  bound Pod is ended or being deleted-> WorkspacePodNotReady: the workspace becomes Lost soon
 * W8  bound Pod is not ready             -> WorkspacePodNotReady
 * W9  bound Pod is ready, also draining  -> use it
 *
 * None of them ends the Run: it waits, and a change of the workspace or of the Pod wakes it.
 */
export function resolveWorkspace(
  run: Workload,
  workspace: PersistentWorkspace | undefined,
  slot: (podKey: string) => Slot | undefined,
): ResolvedWorkspace {
  const name = run.workspace ?? "";
  const no = (reason: WaitingReason, message: string, pod?: string): ResolvedWorkspace => ({
    kind: "unusable",
    name,
    reason,
    message,
    ...(pod === undefined ? {} : { pod }),
  });
  if (workspace === undefined) {
    return no("WorkspaceNotFound", `there is no PersistentWorkspace ${name} in namespace ${run.namespace}`);
  }
  const { spec, status, metadata } = workspace;
  const runtime = status?.runtime ?? spec.runtime;
  if (runtime !== run.runtime) {
    return no(
      "WorkspaceRuntimeMismatch",
      `workspace ${name} belongs to Runtime ${runtime}, but the Run names Runtime ${run.runtime}`,
    );
  }
  const phase = status?.phase ?? "Pending";
  if (phase === "Lost") {
    return no("WorkspaceLost", `Pod ${status?.boundPod} that held workspace ${name} is gone, and its files with it`);
  }
  if (phase === "Released" || metadata.deletionTimestamp !== undefined) {
    return no("WorkspaceReleased", `workspace ${name} is being deleted`);
  }
  const { boundPod, boundPodUID } = status ?? {};
  if (phase === "Pending" || boundPodUID === undefined) {
    return no("WorkspaceNotBound", `workspace ${name} is not bound to a Pod yet`);
  }
  const key = podKey(run.namespace, boundPodUID);
  const bound = slot(key);
  const availability = bound?.view?.pool === run.pool ? bound.view.availability : undefined;
  if (bound === undefined || availability === undefined || availability === "foreign") {
    return no(
      "WorkspacePodMismatch",
      `workspace ${name} is bound to Pod ${boundPod} with UID ${boundPodUID}, which is no Pod of Runtime ${run.runtime} any more`,
      key,
    );
  }
  if (availability !== "available" && availability !== "draining") {
    const why = availability === "notReady" ? "not ready" : availability === "ended" ? "ended" : "being deleted";
    return no("WorkspacePodNotReady", `Pod ${boundPod} of workspace ${name} is ${why}`, key);
  }
  return { kind: "bound", name, slot: bound };
}

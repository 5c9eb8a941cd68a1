import type { WorkflowRunStatus } from "#api/kinds/workflow-run.ts";
import { step } from "#machines/lib/settle.ts";
import { type WorkflowRunEvent, type WorkflowRunSnapshot, workflowRunMachine } from "#machines/workflow-run.ts";
import type { Seen } from "./seen.ts";

const severity = { Stop: 1, Terminate: 2 } as const;

/**
 * The run as its spec wants it. `spec.suspend` means to start suspended. That it, and `spec.shutdown`, can be changed later is the
 * deprecated way to do what WorkflowActions do; a setting of the controller makes such changes mean nothing.
 */
export function observeSpec(seen: Seen, snapshot: WorkflowRunSnapshot, now: number): WorkflowRunSnapshot {
  return specEvents(seen, snapshot, now).reduce(
    (current, event) => step(workflowRunMachine, current, event).snapshot,
    snapshot,
  );
}

function specEvents(
  { run, honoursDeprecated }: Seen,
  { value, context: { status } }: WorkflowRunSnapshot,
  now: number,
): WorkflowRunEvent[] {
  const { suspend = false, shutdown } = run.spec;
  if (value === "Succeeded" || value === "Failed") return [];
  const isFirst = value === "Pending" && status.observedSpecSuspend === undefined;
  const events: WorkflowRunEvent[] = [];
  if ((isFirst || honoursDeprecated) && suspend !== (status.observedSpecSuspend ?? false)) {
    events.push({ type: suspend ? "SPEC_SUSPEND" : "SPEC_RESUME", now });
  }
  const asked = status.shutdown === undefined ? 0 : severity[status.shutdown];
  if (honoursDeprecated && shutdown !== undefined && shutdown !== status.observedSpecShutdown) {
    const type = shutdown === "Stop" ? "STOP" : "TERMINATE";
    const message = `spec.shutdown says ${shutdown}`;
    if (severity[shutdown] > asked) events.push({ type, message, bySpec: true, now });
  }
  return events;
}

/** The deprecated fields that a pass has honoured; to start suspended is not deprecated. */
export function deprecatedUse(old: WorkflowRunStatus | undefined, next: WorkflowRunStatus): ("suspend" | "shutdown")[] {
  const began = old !== undefined && old.phase !== "Pending";
  return [
    ...(began && next.observedSpecSuspend !== old.observedSpecSuspend ? (["suspend"] as const) : []),
    ...(next.observedSpecShutdown !== old?.observedSpecShutdown && next.observedSpecShutdown !== undefined
      ? (["shutdown"] as const)
      : []),
  ];
}

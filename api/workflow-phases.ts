import type { JobPhase, StepPhase, WorkflowRunPhase } from "./kinds/workflow-run.ts";

export const workflowRunPhases = ["Pending", "Running", "Suspended", "Stopping", "Succeeded", "Failed"] as const;

const ended: ReadonlySet<JobPhase | StepPhase | WorkflowRunPhase> = new Set([
  "Succeeded",
  "Failed",
  "Cancelled",
  "Skipped",
]);

/** Whether a WorkflowRun, job or step in that phase has ended; without a phase it has not begun. */
export function hasEnded(phase: WorkflowRunPhase | JobPhase | StepPhase | undefined): boolean {
  return phase !== undefined && ended.has(phase);
}

import type { Run } from "#api/kinds/run.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { isTerminal } from "#api/runs.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import type { UsedRuns } from "#workflows/used-runs.ts";

/** What is awaited, as it is now. */
export interface View {
  /** In the order in which they were asked for. */
  readonly workflowRuns: readonly WorkflowRun[];
  /** Those that their jobs, and the jobs of these, are; by name. */
  readonly used?: UsedRuns;
  /** Runs that belong to no workflow. */
  readonly runs: readonly Run[];
  /** What has been waiting for longer than people expect. */
  readonly waits: readonly Wait[];
}

/** A Run that cannot be placed, and why. */
export interface Wait {
  /** Label of the Run: see `labelOf`. */
  readonly label: string;
  readonly reason: string;
  /** Sentences for people: what it waits for and what they can do. */
  readonly text: string;
}

/** Whether nothing is left to wait for. */
export function isOver({ workflowRuns, runs }: Pick<View, "workflowRuns" | "runs">): boolean {
  return (
    workflowRuns.every(({ status }) => hasEnded(status?.phase)) && runs.every(({ status }) => isTerminal(status?.phase))
  );
}

/** Whether all of it ended well. */
export function isSuccess({ workflowRuns, runs }: Pick<View, "workflowRuns" | "runs">): boolean {
  return [...workflowRuns, ...runs].every(({ status }) => status?.phase === "Succeeded");
}

/** Whether several things are executed at once: then labels need the names of the WorkflowRuns. */
export function isMany({ workflowRuns, runs }: Pick<View, "workflowRuns" | "runs">): boolean {
  return workflowRuns.length + runs.length > 1;
}

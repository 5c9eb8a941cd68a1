import type { JobStatus, WorkflowRun } from "#api/kinds/workflow-run.ts";
import { maxLevels } from "./uses.ts";

/** WorkflowRuns that are jobs of others, by name. */
export type UsedRuns = ReadonlyMap<string, WorkflowRun>;

/** For a WorkflowRun whose jobs are not looked into. */
export const noneUsed: UsedRuns = new Map();

/** The WorkflowRun that a job is, where it is known. Names that somebody made go round in a circle have an end. */
export function usedBy(job: JobStatus, used: UsedRuns, level: number): WorkflowRun | undefined {
  return level >= maxLevels || job.workflowRunName === undefined ? undefined : used.get(job.workflowRunName);
}

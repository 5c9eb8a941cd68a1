import type { JobStatus, StepStatus, WorkflowRun } from "#api/kinds/workflow-run.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import { workspaceNameOf } from "./job-context.ts";

/** Names of the Runs that the stored status has and that are not over. */
export function namedRuns(run: WorkflowRun): string[] {
  const named = (steps: readonly Pick<StepStatus, "phase" | "runName" | "steps">[]): string[] =>
    steps.flatMap(({ phase, runName, steps: inner = [] }) =>
      hasEnded(phase) ? [] : [...(runName === undefined ? [] : [runName]), ...named(inner)],
    );
  return jobsOf(run).flatMap(([, job]) => named(job.steps ?? []));
}

/** Names of the workspaces of jobs that may still need them, if only to clean up. */
export function namedWorkspaces(run: WorkflowRun): string[] {
  return jobsOf(run).flatMap(([id, job]) => {
    const needs = job.steps !== undefined && ["Queued", "Running", "Stopping"].includes(job.phase);
    return needs ? [workspaceNameOf({ seen: { run }, job: { id } }, job)] : [];
  });
}

/** Names of the WorkflowRuns of jobs that are not over. */
export function namedChildren(run: WorkflowRun): string[] {
  return jobsOf(run).flatMap(([, { phase, workflowRunName }]) =>
    hasEnded(phase) || workflowRunName === undefined ? [] : [workflowRunName],
  );
}

const jobsOf = (run: WorkflowRun): [string, JobStatus][] => Object.entries(run.status?.jobs ?? {});

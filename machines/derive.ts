/**
 * Group state is derived, never edited: what the steps of a job amount to, and what the jobs of a workflow amount to.
 * The derivation yields the event for the group's own machine, so a group cannot say one thing and its members another.
 */
import type { JobStatus, StepStatus, WorkflowRunStatus } from "#api/kinds/workflow-run.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import type { JobEvent } from "./job.ts";
import type { WorkflowRunEvent } from "./workflow-run.ts";

/** A step or job whose child is at work, or was asked to end and has not. */
export function isActive(member: { readonly phase: StepStatus["phase"] | JobStatus["phase"] }): boolean {
  return member.phase === "Running" || member.phase === "Suspended" || member.phase === "Stopping";
}

/** A step or job that ended without doing what it was there for, where that counts. */
export function isBad(member: Pick<StepStatus | JobStatus, "phase" | "continued">): boolean {
  return member.phase === "Cancelled" || (member.phase === "Failed" && member.continued !== true);
}

/** What the members of a group amount to: `Open` as long as something is at work or still to be started. */
export type Sum = "Open" | "Succeeded" | "Failed";

/** After a bad step come those that clean up, and the others are skipped by their conditions: all must have ended. */
export function sumOfSteps(steps: readonly StepStatus[]): Sum {
  return sum(steps);
}

/** Jobs are independent: the run goes on with the others after one failed, so all must have ended. */
export function sumOfJobs(jobs: readonly JobStatus[]): Sum {
  return sum(jobs);
}

function sum(members: readonly (StepStatus | JobStatus)[]): Sum {
  if (!members.every((member) => hasEnded(member.phase))) return "Open";
  return members.some(isBad) ? "Failed" : "Succeeded";
}

/** Whether another step of the job may still have to be started and none is at work: from then on it needs its workspace. */
export function mustStartAnother(steps: readonly StepStatus[]): boolean {
  return !steps.some(isActive) && steps.some((step) => step.phase === "Waiting");
}

/** Whether no step has ended that could have left files. */
export function noStepEnded(steps: readonly Pick<StepStatus, "phase" | "steps">[]): boolean {
  return steps.every(
    (step) =>
      step.phase === "Skipped" || (!hasEnded(step.phase) && (step.steps === undefined || noStepEnded(step.steps))),
  );
}

/** Whether a run that was stopped has jobs that were not asked to end: they clean up, or will. */
export function cleansUp({ reason, jobs = {} }: Pick<WorkflowRunStatus, "reason" | "jobs">): boolean {
  return reason === "Stopped" && Object.values(jobs).some(({ phase }) => !hasEnded(phase) && phase !== "Stopping");
}

/** The step whose turn it is, to run or to be skipped: the job runs, and all steps before it have ended. */
export function nextStep(job: JobStatus): StepStatus | undefined {
  const steps = job.steps ?? [];
  return job.phase === "Running" && mustStartAnother(steps)
    ? steps.find((step) => step.phase === "Waiting")
    : undefined;
}

/** Jobs that ended of all jobs, as `status.progress` shows it; of a job with a matrix its instances count. */
export function progressOf(jobs: Readonly<Record<string, JobStatus>>): string {
  const all = Object.values(jobs).filter((job) => job.instances === undefined);
  return `${all.filter((job) => hasEnded(job.phase)).length}/${all.length}`;
}

/**
 * The event that the steps of a job make due. STEPS_SUCCEEDED comes without outputs: who has evaluated them adds them,
 * or sends OUTPUTS_FAILED instead.
 * @param now milliseconds since the epoch.
 */
export function jobEvent(job: JobStatus, now: number): JobEvent | undefined {
  const steps = job.steps ?? [];
  if (job.phase === "Stopping") return steps.some(isActive) ? undefined : { type: "STEPS_ENDED", now };
  if (job.phase !== "Running") return undefined;
  const sum = sumOfSteps(steps);
  if (sum === "Open") return undefined;
  return sum === "Failed" ? { type: "STEP_FAILED", now } : { type: "STEPS_SUCCEEDED", now };
}

/**
 * The event that the jobs of a workflow make due.
 * @param now milliseconds since the epoch.
 */
export function workflowRunEvent(run: WorkflowRunStatus, now: number): WorkflowRunEvent | undefined {
  const jobs = Object.values(run.jobs ?? {});
  if (run.phase === "Stopping")
    return jobs.every(({ phase }) => hasEnded(phase)) ? { type: "JOBS_ENDED", now } : undefined;
  if (run.phase !== "Running") return undefined;
  const sum = sumOfJobs(jobs);
  if (sum === "Open") return undefined;
  return sum === "Failed" ? { type: "JOB_FAILED", now } : { type: "JOBS_SUCCEEDED", now };
}

import type { Run } from "#api/kinds/run.ts";
import { type JobStatus, maxJobArtifacts, type StepStatus } from "#api/kinds/workflow-run.ts";
import type { RunFailureReason } from "#api/reasons.ts";
import { timestamp } from "#api/time.ts";
import { isBad, nextStep } from "#machines/derive.ts";
import type { StepEvent } from "#machines/step.ts";
import { cannotStartReasons, hasNamesLeft, type RunEnd } from "#machines/step-status.ts";
import type { StepPlan } from "#workflows/compile-workflow.ts";
import { buildRun, type JobContext, runNameOf, whyGone, workspaceOf } from "./job-context.ts";

/** That a child Run exists is written down once it is this old: most have ended by then, and a write is saved. */
export const sightingDelayMs = 1000;

/** Bytes of a status that still leave room for the object around it (etcd refuses 1.5 MiB). */
export const maxStatusBytes = 768 * 1024;

/**
 * What is due for one step of a job.
 *
 * @param stored the step as the API server has it; only what it names can be missing there
 * @param room bytes that the status of the WorkflowRun may still grow by
 */
export function observeStep(
  context: JobContext,
  job: JobStatus,
  plan: StepPlan,
  step: StepStatus,
  stored: StepStatus | undefined,
  room: () => number,
): StepEvent | undefined {
  switch (step.phase) {
    case "Waiting":
      return nextStep(job)?.name === step.name ? observeTurn(context, job, plan, step) : undefined;
    case "Running":
    case "Stopping":
      return observeRun(context, job, plan, step, stored, room);
    default:
      return undefined;
  }
}

const failedBefore = (bad: StepStatus) => `step ${bad.name}, which comes before it, did not succeed`;

const identityOf = (step: StepStatus) => ({ stepAttempt: step.attempt ?? 1, collision: step.collision ?? 0 });

function observeTurn(context: JobContext, job: JobStatus, plan: StepPlan, step: StepStatus): StepEvent | undefined {
  const { now } = context;
  const bad = job.steps?.find(isBad);
  if (bad !== undefined) return { type: "SKIP", reason: "StepFailed", message: failedBefore(bad), now };
  if (lostFiles(context, job, step) !== undefined) return undefined; // the job's business
  const built = buildRun(context, job, plan, identityOf(step));
  if (built.ok) return { type: "START", runName: built.run.metadata.name, now };
  // The Runtime may still come; its workspace says that it is waited for.
  if (built.reason === "RuntimeNotFound") return undefined;
  const reason = cannotStartReasons.find((each) => each === built.reason) ?? "ExpressionFailed";
  return { type: "CANNOT_START", reason, message: built.message, now };
}

/**
 * Why the step cannot have its files; undefined when it can, or when they are only still to be created. A workspace that
 * a step has used never comes back; before that, one that does not exist is created.
 */
function lostFiles(context: JobContext, job: JobStatus, step: StepStatus): string | undefined {
  const workspace = workspaceOf(context, job);
  return isFirst(job, step) && workspace.kind === "absent" ? undefined : whyGone(workspace);
}

const isFirst = (job: JobStatus, step: StepStatus) => job.steps?.[0]?.name === step.name;

function observeRun(
  context: JobContext,
  job: JobStatus,
  plan: StepPlan,
  step: StepStatus,
  stored: StepStatus | undefined,
  room: () => number,
): StepEvent | undefined {
  const { seen, now } = context;
  const name = step.runName ?? "";
  // Ordered in this very pass: nothing can be there yet.
  if (stored?.runName !== name) return undefined;
  const found = seen.runs.get(name) ?? { kind: "absent" };
  const nextName = () => runNameOf(context, job, plan, { ...identityOf(step), collision: (step.collision ?? 0) + 1 });

  if (found.kind === "foreign") {
    if (step.phase === "Stopping") return { type: "RUN_MISSING", now };
    const message = `a Run named ${name} exists and belongs to somebody else`;
    return { type: "NAME_TAKEN", runName: nextName(), message, now };
  }
  const refusal = seen.refused.get(name);
  if (found.kind === "absent") {
    // Nothing new begins in a job that ends: a Run that was ordered, and is not there, is not wanted any more.
    if (job.phase === "Stopping" && step.phase === "Running") return { type: "CANCEL" };
    if (refusal !== undefined && step.phase === "Running") return { type: "RUN_REFUSED", message: refusal, now };
    return { type: "RUN_MISSING", now };
  }
  const run = found.object;
  const ended = observeEnd(run, job, now, room);
  if (ended !== undefined) return ended;
  if (step.phase === "Stopping") return run.spec.termination === undefined ? { type: "CANCEL" } : undefined;
  if (job.phase === "Stopping") return { type: "CANCEL" };
  const lost = lostFiles(context, job, step);
  if (lost !== undefined && neverClaimed(run)) return observeLostFiles(job, step, lost, nextName, now);
  return observeProgress(run, seen.sightings.get(run.metadata.uid ?? "") ?? now, now);
}

/** No attempt of it ever began, and none can begin while it is in this phase. */
export const neverClaimed = (run: Run): boolean =>
  (run.status?.attempt ?? 0) === 0 && (run.status?.phase ?? "Pending") === "Pending";

/** Its files are gone before it began. The first step takes a new workspace; a later one would miss what came before. */
function observeLostFiles(
  job: JobStatus,
  step: StepStatus,
  message: string,
  nextName: () => string,
  now: number,
): StepEvent | undefined {
  if (!isFirst(job, step)) return { type: "RUN_FAILED", reason: "WorkspaceLost", message, now };
  // Without a new workspace a new Run is of no use: the job ends the step.
  return hasNamesLeft(job) ? { type: "REPLACE", runName: nextName(), message, now } : undefined;
}

function observeEnd(run: Run, job: JobStatus, now: number, room: () => number): StepEvent | undefined {
  const status = run.status ?? { phase: "Pending" };
  const end: RunEnd = {
    now,
    ...(status.exitCode === undefined ? {} : { exitCode: status.exitCode }),
    ...(status.startTime === undefined ? {} : { startTime: status.startTime }),
    ...(status.completionTime === undefined ? {} : { completionTime: status.completionTime }),
  };
  const message = status.message ?? `Run ${run.metadata.name} ended as ${status.phase}`;
  switch (status.phase) {
    case "Succeeded": {
      const size = JSON.stringify([status.outputs, status.artifactRefs]).length;
      if (size > room()) {
        const text = `the outputs and artifacts of Run ${run.metadata.name} do not fit into the status of the WorkflowRun`;
        return { type: "RUN_FAILED", reason: "OutputsTooLarge", message: text, ...end };
      }
      const artifacts = artifactCount(job, run);
      if (artifacts > maxJobArtifacts) {
        const text = `with those of Run ${run.metadata.name} the job has ${artifacts} artifacts of different names, and ${maxJobArtifacts} is the most: leave a directory as one artifact, or use another job`;
        return { type: "RUN_FAILED", reason: "ArtifactInvalid", message: text, ...end };
      }
      return { type: "RUN_SUCCEEDED", ...(status.outputs && { outputs: status.outputs }), ...end };
    }
    case "Failed":
    case "Timeout":
      return { type: "RUN_FAILED", reason: failureOf(status.reason), message, ...end };
    case "Cancelled":
      return { type: "RUN_CANCELLED", message, ...end };
    default:
      return undefined;
  }
}

/** How many artifacts the job would have with those of a Run; a name that is there already is replaced. */
function artifactCount(job: JobStatus, run: Run): number {
  const names = (run.status?.artifactRefs ?? []).map(({ name }) => name);
  return new Set([...Object.keys(job.artifacts ?? {}), ...names]).size;
}

/** A failed Run always has one of these reasons; a hand-made status may not. */
function failureOf(reason: string | undefined): Exclude<RunFailureReason, "Cancelled"> {
  return (reason ?? "AttemptLost") as Exclude<RunFailureReason, "Cancelled">;
}

function observeProgress(run: Run, since: number, now: number): StepEvent | undefined {
  const { phase, reason, message, startTime } = run.status ?? { phase: "Pending" };
  const waits = phase === "Pending" && reason !== undefined;
  if (!waits && now - since < sightingDelayMs) return undefined;
  return {
    type: "RUN_SEEN",
    startTime: startTime ?? run.metadata.creationTimestamp ?? timestamp(since),
    ...(waits ? { reason, ...(message === undefined ? {} : { message }) } : {}),
  };
}

import type { Run } from "#api/kinds/run.ts";
import { type JobStatus, maxJobArtifacts, type StepStatus } from "#api/kinds/workflow-run.ts";
import type { RunFailureReason } from "#api/reasons.ts";
import { clip } from "#api/text.ts";
import { timestamp } from "#api/time.ts";
import { noStepEnded } from "#machines/derive.ts";
import type { StepEvent } from "#machines/step.ts";
import { cannotStartReasons, hasNamesLeft, type RunEnd } from "#machines/step-status.ts";
import type { StepPlan } from "#workflows/plan.ts";
import { type Budget, bytesOf, shortMessage } from "./budget.ts";
import { buildRun, runNameOf } from "./build-run.ts";
import { holds } from "./conditions.ts";
import { type JobContext, whyGone, workspaceOf } from "./job-context.ts";
import { ownValues, type StepPlace } from "./step-place.ts";
import { messageOf } from "./waiting.ts";

/** That a child Run exists is written down once it is this old: most have ended by then, and a write is saved. */
export const sightingDelayMs = 1000;

/** One step that is a script, and what its decisions look at. */
export interface StepContext {
  readonly context: JobContext;
  /** The job as this pass has left it. */
  readonly job: JobStatus;
  readonly place: StepPlace;
  readonly plan: StepPlan;
  /** The step as the API server has it; only what it names can be missing there. */
  readonly stored: Pick<StepStatus, "runName"> | undefined;
  /** Whether it is to end: with its job, or with the step that uses the Action. */
  readonly isEnding: boolean;
  readonly budget: Budget;
}

/** What is due for a step whose turn it is to run. */
export function observeTurn({ context, job, place, plan }: StepContext, step: StepStatus): StepEvent | undefined {
  const { now } = context;
  if (lostFiles(context, job) !== undefined) return undefined; // the job's business
  const built = buildRun(context, job, place, plan, step.collision ?? 0);
  if (built.ok) return { type: "START", runName: built.run.metadata.name, now };
  // The Runtime may still come; its workspace says that it is waited for.
  if (built.reason === "RuntimeNotFound") return undefined;
  const reason = cannotStartReasons.find((each) => each === built.reason) ?? "ExpressionFailed";
  return { type: "CANNOT_START", reason, message: built.message, now };
}

/**
 * Why a step cannot have its files; undefined when it can, or when they are only still to be created. A workspace that
 * a step has used never comes back; before that, one that does not exist is created.
 */
function lostFiles(context: JobContext, job: JobStatus): string | undefined {
  const workspace = workspaceOf(context, job);
  return noStepEnded(job.steps ?? []) && workspace.kind === "absent" ? undefined : whyGone(workspace);
}

/** What is due for a step whose child Run was ordered. */
export function observeRun(input: StepContext, step: StepStatus): StepEvent | undefined {
  const { context, job, place, plan, stored, isEnding } = input;
  const { seen, now } = context;
  const name = step.runName ?? "";
  // Ordered in this very pass: nothing can be there yet.
  if (stored?.runName !== name) return undefined;
  const found = seen.runs.get(name) ?? { kind: "absent" };
  const nextName = () => runNameOf(context, job, plan, place.parent, (step.collision ?? 0) + 1);

  if (found.kind === "foreign") {
    if (step.phase === "Stopping") return { type: "RUN_MISSING", now };
    const message = `a Run named ${name} exists and belongs to somebody else`;
    return { type: "NAME_TAKEN", runName: nextName(), message, now };
  }
  const refusal = seen.refused.get(name);
  if (found.kind === "absent") {
    // Nothing new begins in a job that ends: a Run that was ordered, and is not there, is not wanted any more.
    if (isEnding && step.phase === "Running") return { type: "CANCEL" };
    if (refusal !== undefined && step.phase === "Running") return { type: "RUN_REFUSED", message: refusal, now };
    return { type: "RUN_MISSING", now };
  }
  const run = found.object;
  const ended = observeEnd(run, input);
  if (ended !== undefined) return ended;
  if (step.phase === "Stopping") return run.spec.termination === undefined ? { type: "CANCEL" } : undefined;
  if (isEnding) return { type: "CANCEL" };
  const lost = lostFiles(context, job);
  if (lost !== undefined && neverClaimed(run)) return observeLostFiles(job, lost, nextName, now);
  return observeProgress(run, seen.sightings.get(run.metadata.uid ?? "") ?? now, now);
}

/** No attempt of it ever began, and none can begin while it is in this phase. */
export const neverClaimed = (run: Run): boolean =>
  (run.status?.attempt ?? 0) === 0 && (run.status?.phase ?? "Pending") === "Pending";

/** Its files are gone before it began. The first step takes a new workspace; a later one would miss what came before. */
function observeLostFiles(job: JobStatus, message: string, nextName: () => string, now: number): StepEvent | undefined {
  if (!noStepEnded(job.steps ?? [])) return { type: "RUN_FAILED", reason: "WorkspaceLost", message, now };
  // Without a new workspace a new Run is of no use: the job ends the step.
  return hasNamesLeft(job) ? { type: "REPLACE", runName: nextName(), message, now } : undefined;
}

function observeEnd(run: Run, input: StepContext): StepEvent | undefined {
  const { job, budget } = input;
  const { now } = input.context;
  const status = run.status ?? { phase: "Pending" };
  const end: RunEnd = {
    now,
    ...(status.exitCode === undefined ? {} : { exitCode: status.exitCode }),
    ...(status.attempt === undefined ? {} : { attempt: status.attempt }),
    ...(status.startTime === undefined ? {} : { startTime: status.startTime }),
    ...(status.completionTime === undefined ? {} : { completionTime: status.completionTime }),
  };
  const failed = (reason: Exclude<RunFailureReason, "Cancelled">, left: Left): StepEvent => {
    const continued = passesOver(input);
    return { type: "RUN_FAILED", reason, ...(continued && { continued }), ...end, ...left };
  };
  const { outputs } = status;
  switch (status.phase) {
    case "Succeeded": {
      const size = bytesOf([status.outputs, status.artifactRefs]);
      if (!budget.take(size)) {
        const text = `the outputs and artifacts of Run ${run.metadata.name} do not fit into the status of the WorkflowRun`;
        return failed("OutputsTooLarge", { message: text });
      }
      const artifacts = artifactCount(job, run);
      if (artifacts > maxJobArtifacts) {
        const text = `with those of Run ${run.metadata.name} the job has ${artifacts} artifacts of different names, and ${maxJobArtifacts} is the most: leave a directory as one artifact, or use another job`;
        return failed("ArtifactInvalid", { message: text, ...(outputs && { outputs }) });
      }
      return { type: "RUN_SUCCEEDED", ...(outputs && { outputs }), ...end };
    }
    case "Failed":
    case "Timeout":
      return failed(failureOf(status.reason), leftBy(run, budget));
    case "Cancelled":
      return { type: "RUN_CANCELLED", ...end, ...leftBy(run, budget) };
    default:
      return undefined;
  }
}

interface Left {
  readonly outputs?: Record<string, string>;
  readonly message: string;
}

/** What a Run without success says and wrote. That outputs have no room is told, and is no reason of its own. */
function leftBy(run: Run, budget: Budget): Left {
  const { metadata, status } = run;
  const whole = clip(messageOf(run) ?? `Run ${metadata.name} ended as ${status?.phase}`);
  const more = bytesOf(whole) - shortMessage;
  const message = more <= 0 || budget.take(more) ? whole : clip(whole, shortMessage);
  const { outputs } = status ?? {};
  if (outputs === undefined) return { message };
  if (budget.takeOutputs(outputs)) return { outputs, message };
  return { message: `${message}; the outputs of Run ${metadata.name} do not fit into the status of the WorkflowRun` };
}

/** Whether its failure is none for the job. */
function passesOver({ place, plan }: StepContext): boolean {
  return holds(plan.continueOnError, () => ownValues(place, plan));
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
  const { phase, reason, startTime, attempt } = run.status ?? { phase: "Pending" };
  const message = messageOf(run);
  const waits = phase === "Pending" && reason !== undefined;
  if (!waits && now - since < sightingDelayMs) return undefined;
  return {
    type: "RUN_SEEN",
    startTime: startTime ?? run.metadata.creationTimestamp ?? timestamp(since),
    ...(attempt !== undefined && attempt > 1 && { attempt }),
    ...(waits ? { reason, ...(message === undefined ? {} : { message }) } : {}),
  };
}

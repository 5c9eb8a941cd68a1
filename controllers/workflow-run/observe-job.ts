import { formatDuration } from "#api/duration.ts";
import type { JobStatus, StepStatus } from "#api/kinds/workflow-run.ts";
import { parseTime } from "#api/time.ts";
import { isActive, isBad, jobEvent, mustStartAnother } from "#machines/derive.ts";
import type { JobEvent } from "#machines/job.ts";
import { causeOf, isCancelReason } from "#machines/job-status.ts";
import { cannotStartReasons, skipReasons } from "#machines/step-status.ts";
import { checkStores, resolveArtifacts } from "#workflows/artifacts.ts";
import { evaluateOutputs, knownOutputs } from "#workflows/outputs.ts";
import { stepsOf } from "#workflows/plan.ts";
import { type Budget, noRoom, stepBytes, stepCount } from "./budget.ts";
import { courseOf } from "./cleanup.ts";
import { nextAttempt, passedOver } from "./failure.ts";
import { type JobContext, runtimeNameOf, whyGone, workspaceNameOf, workspaceOf } from "./job-context.ts";
import { type Ending, observeNeeds } from "./observe-needs.ts";
import { neverClaimed } from "./observe-step.ts";
import { jobPlace, outerValues } from "./step-place.ts";

/**
 * What is due for a job whose steps are as `job` says.
 *
 * @param stored the job as the API server has it
 * @param ending set while the run, or the matrix that the job is an instance of, is being ended
 * @param hasPlace whether another job may start
 */
export function observeJob(
  context: JobContext,
  job: JobStatus,
  stored: JobStatus | undefined,
  ending: Ending | undefined,
  hasPlace: boolean,
  budget: Budget,
): JobEvent | undefined {
  const { now } = context;
  switch (job.phase) {
    case "Waiting":
      return observeWaiting(context, ending, budget);
    case "Queued":
      if (ending !== undefined) return { type: "SKIP", ...ending, now };
      return (
        observeWorkspace(context, job, stored, budget) ??
        (hasPlace && isTime(job, now) ? { type: "START", now } : undefined)
      );
    case "Running":
      return (
        observeSum(context, job, ending, budget) ??
        (ending === undefined
          ? (observeTimeout(context, job) ?? observeWorkspace(context, job, stored, budget))
          : { type: "CANCEL", ...ending, now })
      );
    case "Suspended":
      return ending === undefined ? observeTimeout(context, job) : { type: "CANCEL", ...ending, now };
    case "Stopping":
      return observeStopping(context, job, ending, budget);
    default:
      return undefined;
  }
}

/** Whether the time of the next attempt has come. */
export const isTime = (job: JobStatus, now: number): boolean => now >= (parseTime(job.nextAttemptTime) ?? 0);

function observeWaiting(context: JobContext, ending: Ending | undefined, budget: Budget): JobEvent | undefined {
  const { job, now } = context;
  const needs = observeNeeds(context, ending);
  if (needs === "wait") return undefined;
  if (context.isSuspended && (needs === "ready" || needs.type !== "SKIP")) return undefined;
  if (needs !== "ready") return needs.type === "SKIP" ? needs : { ...needs, ...passedOver(context) };
  const failure = missingPart(context) ?? missingRoom(context, budget);
  if (failure !== undefined) {
    const reason = cannotStartReasons.find((each) => each === failure.reason) ?? "ExpressionFailed";
    return { type: "CANNOT_START", reason, message: failure.message, ...passedOver(context), now };
  }
  return { type: "READY", steps: stepsOf(job).map(({ name }) => name), now };
}

/** What a job that is due cannot do without: the name of its Runtime, artifacts, a store in common with their producers. */
function missingPart(context: JobContext): { readonly reason: string; readonly message: string } | undefined {
  const { seen, plan, job, jobs } = context;
  const runtime = runtimeNameOf(context);
  if (!runtime.ok) return { reason: "ExpressionFailed", message: `runs-on: ${runtime.message}` };
  const artifacts = resolveArtifacts(job, jobs);
  if (!artifacts.ok) return artifacts;
  const ownerOf = (name: string) => storeOwner(seen.runtimeOf(name));
  return checkStores(job, ownerOf(runtime.value), plan.jobs, ownerOf, artifacts.inputs.values());
}

function missingRoom({ job, instance }: JobContext, budget: Budget): ReturnType<typeof missingPart> {
  const length = stepCount(job);
  // A matrix has taken the room of all its instances.
  if (instance !== undefined || budget.take(length * stepBytes)) return undefined;
  return { reason: "StatusTooLarge", message: `the status of the WorkflowRun has no room for ${length} steps more` };
}

const storeOwner = (runtime: { metadata: { name: string }; spec: object } | undefined) =>
  runtime && { name: runtime.metadata.name, spec: runtime.spec };

function observeSum(
  context: JobContext,
  job: JobStatus,
  ending: Ending | undefined,
  budget: Budget,
): JobEvent | undefined {
  const event = jobEvent(job, context.now);
  switch (event?.type) {
    case "STEP_FAILED":
      return (
        failing(context, job, ending, causeOf(job.steps ?? [])) ?? {
          ...event,
          ...leftOutputs(context, job, budget),
          ...passedOver(context),
        }
      );
    case "STEPS_SUCCEEDED": {
      const values = outerValues(jobPlace(context, job));
      const result = values.ok
        ? evaluateOutputs(context.job.outputs, values.values)
        : { ...values, reason: "ExpressionFailed" as const };
      if (result.ok && budget.takeOutputs(result.outputs)) return { ...event, outputs: result.outputs };
      const { reason, message } = result.ok ? noRoom : result;
      const { now } = context;
      return (
        failing(context, job, ending, { reason, message }) ?? {
          type: "OUTPUTS_FAILED",
          ...{ reason, message, now },
          ...passedOver(context),
        }
      );
    }
    default:
      return event;
  }
}

/** The outputs of a job that ends without success, as far as they have a value and there is room for them. */
function leftOutputs(context: JobContext, job: JobStatus, budget: Budget): { outputs?: Record<string, string> } {
  const values = outerValues(jobPlace(context, job));
  const outputs = values.ok ? knownOutputs(context.job.outputs, values.values) : {};
  return Object.keys(outputs).length > 0 && budget.takeOutputs(outputs) ? { outputs } : {};
}

/** Another attempt instead of a failure, unless the run has to end anyway. */
function failing(
  context: JobContext,
  job: JobStatus,
  ending: Ending | undefined,
  why: Parameters<typeof nextAttempt>[2],
): JobEvent | undefined {
  return ending === undefined ? nextAttempt(context, job, why) : undefined;
}

function observeStopping(
  context: JobContext,
  job: JobStatus,
  ending: Ending | undefined,
  budget: Budget,
): JobEvent | undefined {
  const event = jobEvent(job, context.now);
  // A step that cleans up waits for its turn: for a Runtime, or for the run to be resumed.
  const cleansUp = courseOf(context, job) === "cleans up" && (job.steps ?? []).some(({ phase }) => phase === "Waiting");
  if (cleansUp) return undefined;
  if (event?.type !== "STEPS_ENDED") return event;
  if (isCancelReason(job.reason)) return { ...event, ...leftOutputs(context, job, budget) };
  const reason = skipReasons.find((each) => each === job.reason) ?? "StepFailed";
  const why = { reason, message: job.message ?? "" };
  return (
    failing(context, job, ending, why) ?? {
      ...event,
      ...leftOutputs(context, job, budget),
      ...passedOver(context),
    }
  );
}

/** When a job is out of time; undefined without a limit, and when it is not at work. */
export function jobDeadline({ timeoutMs }: JobContext["job"], job: JobStatus): number | undefined {
  const start = parseTime(job.startTime);
  return (job.phase !== "Running" && job.phase !== "Suspended") || timeoutMs === undefined || start === undefined
    ? undefined
    : start + timeoutMs;
}

function observeTimeout(context: JobContext, job: JobStatus): JobEvent | undefined {
  const { now } = context;
  const deadline = jobDeadline(context.job, job);
  if (deadline === undefined || now < deadline) return undefined;
  const message = `the job took longer than ${formatDuration(context.job.timeoutMs ?? 0)}`;
  return { type: "TIME_OUT", message, now };
}

function observeWorkspace(
  context: JobContext,
  job: JobStatus,
  stored: JobStatus | undefined,
  budget: Budget,
): JobEvent | undefined {
  const { seen, now } = context;
  // Ordered, or renamed, in this very pass: nothing can be there yet.
  if (
    stored === undefined ||
    stored.phase === "Waiting" ||
    workspaceNameOf(context, stored) !== workspaceNameOf(context, job)
  ) {
    return undefined;
  }
  const name = workspaceNameOf(context, job);
  const found = workspaceOf(context, job);
  const gone = whyGone(found);
  if (gone === undefined) return undefined;
  // Files that a step has used cannot be had again, whatever has become of the name.
  if ((job.steps ?? []).some((step) => wasUsed(context, step))) {
    if (!mustStartAnother(job.steps ?? [])) return undefined;
    const again = nextAttempt(context, job, { reason: "WorkspaceLost", message: gone });
    if (again !== undefined) return again;
    return { type: "WORKSPACE_LOST", message: gone, ...leftOutputs(context, job, budget), ...passedOver(context), now };
  }
  switch (found.kind) {
    case "foreign": {
      const message = `a PersistentWorkspace named ${name} exists and belongs to somebody else`;
      return { type: "NAME_TAKEN", message, now };
    }
    case "absent": {
      const refusal = seen.refused.get(name);
      return refusal === undefined
        ? { type: "WORKSPACE_MISSING" }
        : { type: "WORKSPACE_REFUSED", message: refusal, now };
    }
    default:
      return { type: "REPLACE_WORKSPACE", message: gone, now };
  }
}

/** Whether a step of this attempt has been claimed by a Pod: then there may be files that would be missed. */
function wasUsed(context: JobContext, step: Pick<StepStatus, "phase" | "runName" | "steps">): boolean {
  if (step.steps?.some((inner) => wasUsed(context, inner))) return true;
  if (step.steps === undefined && (step.phase === "Succeeded" || isBad(step) || step.phase === "Failed")) return true;
  const found = context.seen.runs.get(step.runName ?? "");
  return isActive(step) && found?.kind === "ours" && !neverClaimed(found.object);
}

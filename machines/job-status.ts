/** What each move of a job writes: pure functions from the fields before to the fields after. */
import { jsonEqual } from "#api/json.ts";
import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import type { JobStatus, StepStatus } from "#api/kinds/workflow-run.ts";
import type { Reason } from "#api/reasons.ts";
import { timestamp } from "#api/time.ts";
import { isActive, isBad } from "./derive.ts";
import { step } from "./lib/settle.ts";
import { clip, firstLine } from "./lib/text.ts";
import { newStep, restoreStep, stepMachine, stepStatus } from "./step.ts";
import { cannotStartReasons, type SkipReason, skipReasons } from "./step-status.ts";

/** A job's status without its phase. */
export type JobFields = Omit<JobStatus, "phase">;

/** Why a job is asked to end. */
export const cancelReasons = ["TimedOut", "Stopped", "Terminated"] as const satisfies readonly Reason[];
export type CancelReason = (typeof cancelReasons)[number];

/** Why a job never runs. */
export const jobSkipReasons = [
  "ConditionNotMet",
  "NeedsNotSucceeded",
  ...cancelReasons,
] as const satisfies readonly Reason[];
export type JobSkipReason = (typeof jobSkipReasons)[number];

/** Why outputs of a job or a workflow that did its work cannot be recorded. */
export const outputsFailedReasons = ["ExpressionFailed", "OutputsTooLarge"] as const satisfies readonly Reason[];
export type OutputsFailedReason = (typeof outputsFailedReasons)[number];

/** When something ends, and whether its failure is none for the run. */
interface End {
  readonly now: number;
  readonly continued?: boolean;
}

interface Why<R extends Reason> extends End {
  readonly reason: R;
  readonly message: string;
}

interface Steps {
  readonly steps: StepStatus[];
  readonly artifacts?: readonly ArtifactRef[];
}

/** Lists the steps of the first attempt. */
export function ready(fields: JobFields, { steps }: { steps: readonly string[] }): JobFields {
  return { ...fields, attempt: fields.attempt ?? 1, steps: steps.map(newStep) };
}

export function start(fields: JobFields, { now }: { now: number }): JobFields {
  return { ...fields, startTime: timestamp(now) };
}

/** Whether taking the steps over would change anything. */
export function stepsChanged(fields: JobFields, { steps, artifacts = [] }: Steps): boolean {
  if (!jsonEqual(fields.steps ?? [], steps)) return true;
  return artifacts.some((artifact) => !jsonEqual(fields.artifacts?.[artifact.name], artifact));
}

/** Takes the steps over; the latest successful step wins a name among the artifacts. */
export function setSteps(fields: JobFields, { steps, artifacts = [] }: Steps): JobFields {
  if (artifacts.length === 0) return { ...fields, steps };
  const fresh = Object.fromEntries(artifacts.map((artifact) => [artifact.name, artifact]));
  return { ...fields, steps, artifacts: { ...fields.artifacts, ...fresh } };
}

/** Takes the steps over and says what the one at work waits for. */
export function followSteps(fields: JobFields, event: Steps): JobFields {
  const { reason: _reason, message: _message, ...rest } = fields;
  const waits = event.steps.find((each) => isActive(each) && each.reason !== undefined);
  return {
    ...setSteps(rest, event),
    ...(waits?.reason !== undefined && { reason: waits.reason }),
    ...(waits?.message !== undefined && { message: waits.message }),
  };
}

export function succeed(fields: JobFields, end: { outputs?: Record<string, string>; now: number }): JobFields {
  const { reason: _reason, message: _message, ...rest } = fields;
  const { outputs, now } = end;
  return {
    ...rest,
    completionTime: timestamp(now),
    ...(outputs !== undefined && Object.keys(outputs).length > 0 && { outputs }),
  };
}

/** An end without success: what has not started never will. */
export function end(fields: JobFields, why: Why<SkipReason>): JobFields {
  const { steps } = fields;
  return close({ ...fields, ...(steps !== undefined && { steps: skipWaiting(steps, why) }) }, why);
}

/** The end of a job whose steps did their work. */
export function outputsFailed(fields: JobFields, why: Why<OutputsFailedReason>): JobFields {
  return close(fields, why);
}

/** The end that a step brought about. */
export function failByStep(fields: JobFields, when: End): JobFields {
  const bad = fields.steps?.find(isBad);
  const cause = [bad?.reason, bad?.message && firstLine(bad.message)].filter(Boolean).join(": ");
  return end(fields, {
    reason: reasonOf(bad?.reason),
    message: `step ${bad?.name} did not succeed${cause === "" ? "" : ` (${cause})`}`,
    ...when,
  });
}

/** Must end while a step is at work: says why until it has. */
export function stop(fields: JobFields, why: { reason: SkipReason; message: string }): JobFields {
  return { ...fields, reason: why.reason, message: clip(why.message) };
}

/** Has ended: the reason is the one that stands there since. */
export function stopped(fields: JobFields, when: End): JobFields {
  const reason = skipReasons.find((each) => each === fields.reason) ?? "StepFailed";
  return end(fields, { reason, message: fields.message ?? "", ...when });
}

/** Whether it was the workflow that wanted the job to end. */
export function isCancelReason(reason: string | undefined): boolean {
  return cancelReasons.some((each) => each === reason);
}

/** The next name for its workspace; the one before was not ours, or was lost unused. */
export function renameWorkspace(fields: JobFields): JobFields {
  return { ...fields, collision: (fields.collision ?? 0) + 1 };
}

/** Reasons of a step that say more about its job than StepFailed does. */
function reasonOf(step: string | undefined): SkipReason {
  return (["WorkspaceLost", ...cannotStartReasons] as const).find((reason) => reason === step) ?? "StepFailed";
}

function close(fields: JobFields, why: Why<SkipReason | OutputsFailedReason>): JobFields {
  const { reason, message, now, continued = false } = why;
  return {
    ...fields,
    reason,
    message: clip(message),
    completionTime: timestamp(now),
    ...(continued && { continued: true }),
  };
}

/** Steps whose turn has not come get their end from their own machine. */
function skipWaiting(steps: StepStatus[], why: Why<SkipReason>): StepStatus[] {
  return steps.map((status) =>
    status.phase === "Waiting"
      ? stepStatus(step(stepMachine, restoreStep(status), { ...why, type: "SKIP" }).snapshot)
      : status,
  );
}

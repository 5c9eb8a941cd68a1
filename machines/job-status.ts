/** What each move of a job writes: pure functions from the fields before to the fields after. */
import { jsonEqual } from "#api/json.ts";
import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import {
  type FormerInstance,
  type JobAttempt,
  type JobStatus,
  maxFormerInstances,
  maxJobAttempts,
  type StepStatus,
} from "#api/kinds/workflow-run.ts";
import type { Reason } from "#api/reasons.ts";
import { timestamp } from "#api/time.ts";
import { isActive, isBad } from "./derive.ts";
import { step } from "./lib/settle.ts";
import { clip, firstLine } from "./lib/text.ts";
import { newStep, restoreStep, stepMachine, stepStatus } from "./step.ts";
import { cannotStartReasons, type SkipReason, skipReasons } from "./step-status.ts";

/** A job's status without its phase. */
export type JobFields = Omit<JobStatus, "phase">;

/** Why a run, and all jobs of it, are asked to end. */
export const cancelReasons = ["TimedOut", "Stopped", "Terminated"] as const satisfies readonly Reason[];
export type CancelReason = (typeof cancelReasons)[number];

/** Why a job is asked to end. */
export const jobCancelReasons = [...cancelReasons, "InstanceFailed"] as const satisfies readonly Reason[];
export type JobCancelReason = (typeof jobCancelReasons)[number];

/** Why a job never runs. */
export const jobSkipReasons = [
  "ConditionNotMet",
  "NeedsNotSucceeded",
  ...jobCancelReasons,
] as const satisfies readonly Reason[];
export type JobSkipReason = (typeof jobSkipReasons)[number];

/** Why outputs of a job or a workflow that did its work cannot be recorded. */
export const outputsFailedReasons = ["ExpressionFailed", "OutputsTooLarge"] as const satisfies readonly Reason[];
export type OutputsFailedReason = (typeof outputsFailedReasons)[number];

/** When something ends, what it wrote until then, and whether its failure is none for the run. */
interface End {
  readonly now: number;
  readonly outputs?: Readonly<Record<string, string>>;
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
  const { reason: _reason, message: _message, nextAttemptTime: _time, ...rest } = fields;
  return { ...rest, startTime: timestamp(now) };
}

/** Its instances are known; those that the matrix does not have any more are remembered. */
export function expand(
  { former: _, ...fields }: JobFields,
  event: { instances: number; former?: FormerInstance[]; now: number },
): JobFields {
  const { instances, former = [], now } = event;
  return { ...fields, instances, ...(former.length > 0 && { former }), startTime: timestamp(now) };
}

/** What a job is to say while it waits for its next attempt. */
export interface Repeat {
  /** How the attempt ended. */
  readonly reason: Reason;
  readonly message: string;
  /** The next one begins no earlier: milliseconds since the epoch. */
  readonly notBefore: number;
  readonly now: number;
}

/** Everything from the beginning, in another workspace: what the attempt before has left is history, or gone. */
export function repeat(fields: JobFields, { reason, message, notBefore, now }: Repeat): JobFields {
  const { collision: _collision, artifacts: _artifacts, workflowRunName: _child, ...kept } = fields;
  const { startTime, stopTime: _time, attempt = 1, attempts = [], steps, ...rest } = kept;
  const before = {
    number: attempt,
    phase: "Failed" as const,
    reason,
    ...(startTime !== undefined && { startTime }),
    completionTime: timestamp(now),
  };
  return {
    ...rest,
    attempt: attempt + 1,
    attempts: [...attempts, before].slice(-maxJobAttempts),
    nextAttemptTime: timestamp(notBefore),
    reason: "BackingOff" satisfies Reason,
    message: clip(`attempt ${attempt} failed (${reason}: ${firstLine(message)})`),
    ...(steps !== undefined && { steps: steps.map(({ name }) => newStep(name)) }),
  };
}

/**
 * Another attempt of a job that has ended, for a run that goes on: a job that has not begun, with the memory of the ones before. What
 * never began has no attempt to remember.
 *
 * @param opened the attempt of the run, and the one of the job: higher than any that its id has had
 */
export function reopen(job: JobStatus, opened: { runAttempt: number; attempt: number }): JobStatus {
  const { attempt, matrix, former } = job;
  const history = attemptsOf(job);
  return {
    phase: "Waiting",
    ...(attempt !== undefined && { attempt: opened.attempt }),
    opened,
    ...(history.length > 0 && { attempts: history }),
    ...(former !== undefined && { former }),
    ...(matrix !== undefined && { matrix }),
  };
}

/** The attempts of a job that has ended, the last one included. */
function attemptsOf({ phase, attempt, attempts = [], reason, startTime, completionTime }: JobStatus): JobAttempt[] {
  if (attempt === undefined) return attempts;
  const last = {
    number: attempt,
    phase,
    ...(reason !== undefined && { reason }),
    ...(startTime !== undefined && { startTime }),
    ...(completionTime !== undefined && { completionTime }),
  };
  return [...attempts, last].slice(-maxJobAttempts);
}

/** What is remembered of instances that leave their matrix; those that never began have nothing to remember. */
export function formerInstances(
  before: readonly FormerInstance[] | undefined,
  left: readonly (readonly [id: string, instance: JobStatus])[],
): { former?: FormerInstance[] } {
  const added = left.flatMap(([id, instance]) => {
    const attempts = attemptsOf(instance);
    return attempts.length === 0 ? [] : [{ id, matrix: instance.matrix ?? {}, attempts }];
  });
  const former = [...(before ?? []), ...added].slice(-maxFormerInstances);
  return former.length === 0 ? {} : { former };
}

/** How the attempt ended whose steps have all ended, one of them badly. */
export function causeOf(steps: readonly StepStatus[]): { reason: SkipReason; message: string } {
  const bad = steps.find(isBad);
  const cause = [bad?.reason, bad?.message && firstLine(bad.message)].filter(Boolean).join(": ");
  return {
    reason: reasonOf(bad?.reason),
    message: `step ${bad?.name} did not succeed${cause === "" ? "" : ` (${cause})`}`,
  };
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

export function succeed(fields: JobFields, { outputs, now }: End): JobFields {
  const { reason: _reason, message: _message, ...rest } = fields;
  return { ...rest, completionTime: timestamp(now), ...written(outputs) };
}

function written(outputs: End["outputs"] = {}): { outputs?: Record<string, string> } {
  return Object.keys(outputs).length > 0 ? { outputs: { ...outputs } } : {};
}

/** An end without success: what has not started never will. */
export function end(fields: JobFields, why: Why<SkipReason>): JobFields {
  const { steps } = fields;
  return close({ ...fields, ...(steps !== undefined && { steps: skipWaiting(steps, why) }) }, why);
}

/** The end that a step brought about. */
export function failByStep(fields: JobFields, when: End): JobFields {
  return end(fields, { ...causeOf(fields.steps ?? []), ...when });
}

/** Must end while a step is at work: says why until it has. */
export function stop(fields: JobFields, why: { reason: SkipReason; message: string }): JobFields {
  return { ...fields, reason: why.reason, message: clip(why.message) };
}

/** Must end, and may clean up before it has. */
export function askToEnd(fields: JobFields, why: Why<SkipReason>): JobFields {
  return { ...stop(fields, why), stopTime: timestamp(why.now) };
}

/** Has ended: the reason is the one that stands there since. */
export function stopped(fields: JobFields, when: End): JobFields {
  const { stopTime: _time, ...rest } = fields;
  const reason = skipReasons.find((each) => each === rest.reason) ?? "StepFailed";
  return end(rest, { reason, message: rest.message ?? "", ...when });
}

/** Whether it was the workflow that wanted the job to end. */
export function isCancelReason(reason: string | undefined): boolean {
  return jobCancelReasons.some((each) => each === reason);
}

/** The next name for its workspace; the one before was not ours, or was lost unused. */
export function renameWorkspace(fields: JobFields): JobFields {
  return { ...fields, collision: (fields.collision ?? 0) + 1 };
}

/** Reasons of a step that say more about its job than StepFailed does. */
function reasonOf(step: string | undefined): SkipReason {
  return (["WorkspaceLost", ...cannotStartReasons] as const).find((reason) => reason === step) ?? "StepFailed";
}

/** The end itself. */
export function close(fields: JobFields, why: Why<Reason>): JobFields {
  const { reason, message, now, outputs, continued = false } = why;
  return {
    ...fields,
    reason,
    message: clip(message),
    completionTime: timestamp(now),
    ...written(outputs),
    ...(continued && { continued: true }),
  };
}

/** Characters that a step repeats of why it will not run. */
const skippedMessage = 128;

/** Steps whose turn has not come get their end from their own machine. */
export function skipWaiting(steps: readonly StepStatus[], why: Why<SkipReason>): StepStatus[] {
  // There may be thousands; the whole text stands in the status of what ends them.
  const message = clip(why.message, skippedMessage);
  return steps.map((status) =>
    status.phase === "Waiting"
      ? stepStatus(step(stepMachine, restoreStep(status), { ...why, type: "SKIP", message }).snapshot)
      : status,
  );
}

/** What each move of a step writes: pure functions from the fields before to the fields after. */
import type { StepStatus } from "#api/kinds/workflow-run.ts";
import { type Reason, type RunFailureReason, runFailureReasons } from "#api/reasons.ts";
import { timestamp } from "#api/time.ts";
import { clip } from "./lib/text.ts";

/** A step's status without its phase. */
export type StepFields = Omit<StepStatus, "phase">;

/** Why a step (or its job) cannot be started although its turn has come. */
export const cannotStartReasons = [
  "ExpressionFailed",
  "ArtifactMissing",
  "ArtifactAmbiguous",
  "ArtifactStoreMismatch",
  "StatusTooLarge",
] as const satisfies readonly Reason[];
export type CannotStartReason = (typeof cannotStartReasons)[number];

/** Why a step will never be started. */
export const skipReasons = [
  "ConditionNotMet",
  "StepFailed",
  "NeedsNotSucceeded",
  "WorkspaceLost",
  "Timeout",
  "TimedOut",
  "Stopped",
  "Terminated",
  "InstanceFailed",
  "NameCollision",
  "ChildRefused",
  ...cannotStartReasons,
] as const satisfies readonly Reason[];
export type SkipReason = (typeof skipReasons)[number];

/** Why a Run that was not asked to end failed. */
export type RunFailedReason = Exclude<RunFailureReason, "Cancelled">;
export const runFailedReasons = runFailureReasons.filter((reason) => reason !== "Cancelled");

type Outputs = Readonly<Record<string, string>>;

/** How a child Run ended; the times are its own (RFC 3339), `now` stands in when it has none. */
export interface RunEnd {
  readonly exitCode?: number;
  /** Attempts that the Run took. */
  readonly attempt?: number;
  readonly startTime?: string;
  readonly completionTime?: string;
  /** What it wrote, however it ended. */
  readonly outputs?: Outputs;
  readonly now: number;
}

/** Names that a step or job tries before it gives up (the bound of `collision` in the schema). */
export const maxCollisions = 100;

/** Whether the child Run was recorded as existing. */
export function wasSeen(fields: StepFields): boolean {
  return fields.startTime !== undefined;
}

export function hasNamesLeft(fields: { readonly collision?: number }): boolean {
  return (fields.collision ?? 0) < maxCollisions;
}

/** Records which Run is to be created. */
export function start(fields: StepFields, { runName }: { runName: string }): StepFields {
  return { ...fields, attempt: fields.attempt ?? 1, runName };
}

/** Records another name for the Run; the one before was not ours, or never ran. */
export function rename(fields: StepFields, { runName }: { runName: string }): StepFields {
  const { startTime: _, ...rest } = silent(fields);
  return { ...rest, runName, collision: (fields.collision ?? 0) + 1 };
}

/** What was seen of a Run that has not ended. */
export interface Sight {
  readonly startTime: string;
  /** Of a Run that was tried before: the number of its attempt. */
  readonly attempt?: number;
  /** With a reason when it waits for something (its own `status.reason`). */
  readonly reason?: string;
  readonly message?: string;
}

/** Whether {@link see} would say something new. */
export function isNews(fields: StepFields, { attempt, reason, message }: Sight): boolean {
  return (
    !wasSeen(fields) ||
    fields.reason !== reason ||
    fields.message !== (message === undefined ? undefined : clip(message)) ||
    (attempt !== undefined && fields.attempt !== attempt)
  );
}

/** Records that the Run exists and what it waits for. */
export function see(fields: StepFields, seen: Sight): StepFields {
  return {
    ...silent(fields),
    ...(seen.attempt !== undefined && { attempt: seen.attempt }),
    startTime: fields.startTime ?? seen.startTime,
    ...(seen.reason !== undefined && { reason: seen.reason }),
    ...(seen.message !== undefined && { message: clip(seen.message) }),
  };
}

export function succeed(fields: StepFields, end: RunEnd): StepFields {
  return ended(fields, end);
}

export function fail(
  fields: StepFields,
  end: RunEnd & { reason: Reason; message: string; continued?: boolean },
): StepFields {
  return {
    ...ended(fields, end),
    reason: end.reason,
    message: clip(end.message),
    ...(end.continued === true && { continued: true }),
  };
}

export function cancel(fields: StepFields, end: RunEnd & { message: string }): StepFields {
  return fail(fields, { ...end, reason: "Cancelled", continued: false });
}

export function skip(fields: StepFields, why: { reason: SkipReason; message: string; now: number }): StepFields {
  return { ...fields, reason: why.reason, message: clip(why.message), completionTime: timestamp(why.now) };
}

function ended(fields: StepFields, end: RunEnd): StepFields {
  const startTime = end.startTime ?? fields.startTime;
  const { outputs = {} } = end;
  return {
    ...silent(fields),
    ...(startTime !== undefined && { startTime }),
    completionTime: end.completionTime ?? timestamp(end.now),
    ...(end.attempt !== undefined && end.attempt > 1 && { attempt: end.attempt }),
    ...(end.exitCode !== undefined && { exitCode: end.exitCode }),
    ...(Object.keys(outputs).length > 0 && { outputs }),
  };
}

/** Without any word about waiting. */
function silent(fields: StepFields): StepFields {
  const { reason: _reason, message: _message, ...rest } = fields;
  return rest;
}

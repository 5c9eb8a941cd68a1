/** What each move of a Run writes: pure functions from the fields before to the fields after. */

import { removeCondition, setCondition } from "#api/conditions.ts";
import { formatDuration } from "#api/duration.ts";
import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import type { RunStatus } from "#api/kinds/run.ts";
import type { Condition } from "#api/meta.ts";
import type { Reason, RunFailureReason, WaitingReason } from "#api/reasons.ts";
import { backoffAfter, type Retry } from "#api/runs.ts";
import { parseTime, timestamp } from "#api/time.ts";
import { clip } from "./lib/text.ts";

/** A Run's status without its phase. */
export type RunFields = Omit<RunStatus, "phase">;

/** Attempts kept in `attempts[]` (the bound of the schema). */
export const attemptHistory = 10;

type Outputs = Readonly<Record<string, string>>;

interface Failure {
  readonly reason: RunFailureReason;
  readonly message: string;
  readonly exitCode?: number;
  /** What the program wrote before it failed. */
  readonly outputs?: Outputs;
  readonly now: number;
}

/** Whether no back-off holds it, or the back-off is over at `now`. */
export function isDue(fields: RunFields, now: number): boolean {
  return (parseTime(fields.nextAttemptTime) ?? 0) <= now;
}

/** Says why it waits, as reason, message and condition Scheduled=False. */
export function wait(fields: RunFields, why: { reason: WaitingReason; message: string; now: number }): RunFields {
  const { reason, now } = why;
  const message = clip(why.message);
  const says = { type: "Scheduled", status: "False", reason, message } as const;
  return { ...fields, reason, message, conditions: [...setCondition(fields.conditions, says, now)] };
}

/** Assigns a Pod; the epoch tells this assignment from every earlier one. */
export function assignTo(fields: RunFields, to: { pod: string; podUID: string }): RunFields {
  const { nextAttemptTime: _, ...rest } = silent(fields);
  return {
    ...rest,
    assignedPod: to.pod,
    assignedPodUID: to.podUID,
    assignmentEpoch: (fields.assignmentEpoch ?? 0) + 1,
  };
}

/** Begins an attempt. */
export function claim(fields: RunFields, { now }: { now: number }): RunFields {
  return { ...fields, attempt: (fields.attempt ?? 0) + 1, startTime: timestamp(now) };
}

/** Back to Pending from Scheduled: no attempt was spent; the epoch stays so that the next one is higher. */
export function unassign(fields: RunFields, reason: Reason, message: string): RunFields {
  return { ...withoutAssignment(fields), reason, message: clip(message) };
}

/** Back to Pending from Running: the attempt goes into the history, its outputs are dropped, and the next one is put off. */
export function retry(fields: RunFields, failure: Failure & { retry: Retry }): RunFields {
  const { now, reason, exitCode } = failure;
  const number = fields.attempt ?? 0;
  const { startTime, exitCode: _, ...rest } = withoutAssignment(fields);
  const ended = {
    number,
    ...(fields.assignedPod !== undefined && { pod: fields.assignedPod }),
    reason,
    ...(startTime !== undefined && { startTime }),
    endTime: timestamp(now),
    ...(exitCode !== undefined && { exitCode }),
  };
  const due = timestamp(now + backoffAfter(failure.retry, number));
  const attempts = [...(fields.attempts ?? []), ended].slice(-attemptHistory);
  const message = `attempt ${number} of ${failure.retry.maxAttempts} failed (${reason}: ${failure.message}); the next one starts after ${due}`;
  return wait({ ...rest, attempts, nextAttemptTime: due }, { reason: "BackingOff", message, now });
}

/** The end of a Run that did its work. */
export function succeed(
  fields: RunFields,
  result: { exitCode: number; outputs?: Outputs; artifactRefs?: ArtifactRef[]; now: number },
): RunFields {
  const { exitCode, outputs, artifactRefs, now } = result;
  return {
    ...ended(silent(fields), "True", "Completed", "the program ended with exit code 0", now),
    exitCode,
    ...written(outputs),
    ...(artifactRefs !== undefined && artifactRefs.length > 0 && { artifactRefs }),
  };
}

/** The end of a Run that failed for good. */
export function fail(fields: RunFields, failure: Failure): RunFields {
  const { reason, exitCode, outputs, now } = failure;
  const message = clip(failure.message);
  return {
    ...ended(silent(fields), "False", reason, message, now),
    reason,
    message,
    ...(exitCode !== undefined && { exitCode }),
    ...written(outputs),
  };
}

/** The end of a Run that somebody ended. */
export function cancel(fields: RunFields, asked: { message: string; outputs?: Outputs; now: number }): RunFields {
  const { outputs, now } = asked;
  const message = clip(asked.message);
  const done = ended(silent(fields), "False", "Cancelled", message, now);
  return { ...done, reason: "Cancelled", message, ...written(outputs) };
}

function written(outputs: Outputs = {}): { outputs?: Record<string, string> } {
  return Object.keys(outputs).length > 0 ? { outputs: { ...outputs } } : {};
}

/** Without any word about waiting. */
function silent(fields: RunFields): RunFields {
  const { reason: _reason, message: _message, conditions, ...rest } = fields;
  const left = removeCondition(conditions, "Scheduled");
  return left.length === 0 ? rest : { ...rest, conditions: [...left] };
}

function withoutAssignment(fields: RunFields): RunFields {
  const { assignedPod: _pod, assignedPodUID: _uid, ...rest } = silent(fields);
  return rest;
}

function ended(
  fields: RunFields,
  succeeded: Condition["status"],
  reason: Reason,
  message: string,
  now: number,
): RunFields {
  const { nextAttemptTime: _, ...rest } = fields;
  const start = parseTime(rest.startTime);
  const first = setCondition(rest.conditions, { type: "Succeeded", status: succeeded, reason, message }, now);
  return {
    ...rest,
    completionTime: timestamp(now),
    // A Run that ended before its first claim, or between two attempts, has no current attempt to measure.
    ...(start !== undefined && { duration: formatDuration(now - start) }),
    conditions: [...setCondition(first, { type: "Finished", status: "True", reason, message }, now)],
  };
}

import type { JobStatus } from "#api/kinds/workflow-run.ts";
import type { Reason } from "#api/reasons.ts";
import { backoffAfter, type Retry } from "#api/runs.ts";
import { holds } from "./conditions.ts";
import { headOf, type JobContext } from "./job-context.ts";

/** `continue-on-error` of a job that fails now: nothing, or the mark for its event. */
export function passedOver(context: JobContext): { readonly continued?: true } {
  const isPassed = holds(context.job.continueOnError, () => ({ ok: true, values: headOf(context) }));
  return isPassed ? { continued: true } : {};
}

/** The next attempt of a job that would fail now for that reason, if its `retry` allows one; after a Retry it counts anew. */
export function nextAttempt(
  { job, now }: JobContext,
  { attempt = 1, opened }: JobStatus,
  why: { readonly reason: Reason; readonly message: string },
):
  | { readonly type: "RETRY"; readonly reason: Reason; readonly message: string; notBefore: number; now: number }
  | undefined {
  const { retry } = job;
  const made = attempt - (opened?.attempt ?? 1) + 1;
  if (retry === undefined || made >= retry.attempts) return undefined;
  const policy: Retry = { maxAttempts: retry.attempts, backoffMs: retry.backoffMs, reasons: [] };
  return { type: "RETRY", ...why, notBefore: now + backoffAfter(policy, made), now };
}

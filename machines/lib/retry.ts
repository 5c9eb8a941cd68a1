import type { RunSpec } from "#api/kinds/run.ts";
import { finalRunFailures, type RunFailureReason } from "#api/reasons.ts";
import { parseDuration } from "./time.ts";

/** A retry policy after its defaults. */
export interface RetryRule {
  /** Attempts in all, the first one included. */
  readonly maxAttempts: number;
  /** Delay before the second attempt; doubles each time. */
  readonly backoffMs: number;
  /** Only these failures are retried; empty means all that are retryable. */
  readonly retryableReasons: readonly RunFailureReason[];
}

/** Delay before the second attempt when the policy names none. */
export const defaultBackoffMs = 1000;

/** No delay grows beyond this. */
export const maxBackoffMs = 60_000;

/** `spec.retryPolicy` with its defaults: one attempt, 1 s, all retryable reasons. */
export function retryRule(policy: RunSpec["retryPolicy"]): RetryRule {
  return {
    maxAttempts: policy?.maxAttempts ?? 1,
    backoffMs: policy?.backoff === undefined ? defaultBackoffMs : parseDuration(policy.backoff),
    retryableReasons: policy?.retryableReasons ?? [],
  };
}

/** Whether the failure of this attempt (from 1) is followed by another one. */
export function retryAllowed(rule: RetryRule, attempt: number, reason: RunFailureReason): boolean {
  if (attempt >= rule.maxAttempts || finalRunFailures.has(reason)) return false;
  return rule.retryableReasons.length === 0 || rule.retryableReasons.includes(reason);
}

/** Milliseconds between the failure of this attempt (from 1) and the earliest placement of the next. */
export function backoffAfter(rule: RetryRule, attempt: number): number {
  return Math.min(maxBackoffMs, rule.backoffMs * 2 ** Math.max(0, attempt - 1));
}

import { parseDuration } from "./duration.ts";
import type { RunPhase, RunSpec } from "./kinds/run.ts";
import { type Amounts, wholeNumbers } from "./quantity.ts";
import { finalRunFailures, type RunFailureReason } from "./reasons.ts";
import { runPhases } from "./run-phases.ts";

/** What a Run's spec means after defaults. */

const terminal: ReadonlySet<RunPhase> = new Set(["Succeeded", "Failed", "Timeout", "Cancelled"]);

/** Whether a Run in that phase has ended; a Run without a phase is Pending. */
export function isTerminal(phase: RunPhase | undefined): boolean {
  return phase !== undefined && terminal.has(phase);
}

/** Field selector of the Runs that have not ended: what has ended leaves such a watch, and with it the memory of its reader. */
export const unfinishedRuns = runPhases
  .filter(isTerminal)
  .map((phase) => `status.phase!=${phase}`)
  .join(",");

/**
 * Logical capacity that a Run takes: its requests, and `runs: 1` unless it says otherwise. `undefined` when a request is no
 * whole number: such a Run can never be placed (InvalidResources).
 */
export function requestsOf(spec: Pick<RunSpec, "resources">): Amounts | undefined {
  return wholeNumbers({ runs: 1, ...spec.resources?.requests });
}

/** Longest time of one attempt in milliseconds; `undefined` means no limit. */
export function timeoutOf(spec: Pick<RunSpec, "timeout">): number | undefined {
  return parseDuration(spec.timeout);
}

/** How the Run executes; `task` when the spec does not say. */
export function modeOf(spec: Pick<RunSpec, "mode">): "task" | "function" | "session" {
  if (spec.mode?.session !== undefined) return "session";
  return spec.mode?.function === undefined ? "task" : "function";
}

export interface Retry {
  /** Attempts in all, from 1. */
  readonly maxAttempts: number;
  /** Delay before the second attempt in milliseconds. */
  readonly backoffMs: number;
  /** Reasons that are retried; empty means all that can be. */
  readonly reasons: readonly RunFailureReason[];
}

/** Delay before the second attempt when the policy does not say, and the most that any delay grows to. */
export const defaultBackoffMs = 1000;
export const maxBackoffMs = 60_000;

/** The retry policy after defaults: one attempt, 1 s, every reason that can be retried. */
export function retryOf(spec: Pick<RunSpec, "retryPolicy">): Retry {
  const policy = spec.retryPolicy;
  return {
    maxAttempts: policy?.maxAttempts ?? 1,
    backoffMs: parseDuration(policy?.backoff) ?? defaultBackoffMs,
    reasons: policy?.retryableReasons ?? [],
  };
}

/** Whether an attempt of that number that failed for that reason is followed by another one. */
export function isRetried(retry: Retry, attempt: number, reason: RunFailureReason): boolean {
  if (attempt >= retry.maxAttempts || finalRunFailures.has(reason)) return false;
  return retry.reasons.length === 0 || retry.reasons.includes(reason);
}

/** Delay in milliseconds after the failure of that attempt (from 1): doubles each time, at most 60 s. */
export function backoffAfter(retry: Retry, attempt: number): number {
  return Math.min(maxBackoffMs, retry.backoffMs * 2 ** Math.max(0, attempt - 1));
}

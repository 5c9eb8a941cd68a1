import type { Reason } from "#api/reasons.ts";

/** How one pass over a key ended. There is no fifth way. */
export type Outcome =
  /** Nothing to wait for: an event will wake us. */
  | { readonly kind: "done" }
  /** Look again in `ms`: a deadline derived from status. Not an error, so no back-off grows. */
  | { readonly kind: "after"; readonly ms: number; readonly why: string }
  /** Try again with growing back-off; counted. `withinMs`: something else is due then, however far the back-off has grown. */
  | { readonly kind: "retry"; readonly error: Error; readonly withinMs?: number }
  /** Will not get better by itself: recorded, not retried until an event comes. */
  | { readonly kind: "fatal"; readonly reason: Reason; readonly message: string };

/** Nothing to wait for. */
export const done: Outcome = { kind: "done" };

/** @param why shown in debug logs, e.g. `timeout of the attempt`. */
export const after = (ms: number, why: string): Outcome => ({ kind: "after", ms: Math.max(0, ms), why });

/**
 * @param error what was thrown; becomes an Error if it is none
 * @param withinMs when something else is due, whatever the back-off
 */
export const retry = (error: unknown, withinMs?: number): Outcome => ({
  kind: "retry",
  error: asError(error),
  ...(withinMs !== undefined && { withinMs }),
});

/** @param message for people: what is wrong, and what to do about it. */
export const fatal = (reason: Reason, message: string): Outcome => ({ kind: "fatal", reason, message });

/** The outcome that looks again first: for a pass that consists of several. Errors win over waits, fatal over all. */
export function soonest(...outcomes: readonly Outcome[]): Outcome {
  const rank = { fatal: 3, retry: 2, after: 1, done: 0 } as const;
  return outcomes.reduce((best, next) => {
    if (best.kind === "after" && next.kind === "after") return next.ms < best.ms ? next : best;
    return rank[next.kind] > rank[best.kind] ? next : best;
  }, done);
}

/** An Error for anything that can be thrown. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

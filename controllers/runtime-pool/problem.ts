import type { Reason } from "#api/reasons.ts";
import { StatusError } from "#kube/transport.ts";

/** What keeps a pool from being as its Runtime wants it, and will not get better by trying again at once. */
export interface Problem {
  readonly reason: Reason;
  readonly message: string;
}

/** How long after a problem the pool tries again although nothing that it watches has changed, in milliseconds. */
export const problemRetryMs = 15_000;

/**
 * The problem behind the API server's refusal of an object: a wrong template, a missing right, a policy, a quota. Other
 * errors are none: they pass, or are defects.
 */
export function refusal(error: unknown, reason: Reason, what: string): Problem | undefined {
  if (!(error instanceof StatusError)) return undefined;
  if (error.code !== 400 && error.code !== 403 && error.code !== 422) return undefined;
  return { reason, message: `${what}: ${error.message}` };
}

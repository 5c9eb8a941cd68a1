import type { Run } from "#api/kinds/run.ts";
import { requestsOf } from "#api/runs.ts";
import { parseTime } from "#api/time.ts";

/** What is to be done with a Run that is Pending, before anybody looks for a Pod. */
export type PendingAction =
  /** It is being deleted: it goes by itself. */
  | { readonly kind: "leave" }
  | { readonly kind: "cancel"; readonly message: string }
  | { readonly kind: "invalid"; readonly message: string }
  /** Not before that time (milliseconds since the epoch). */
  | { readonly kind: "sleep"; readonly until: number }
  | { readonly kind: "place" };

/**
 * P1  being deleted               -> leave
 * P2  termination asked for       -> cancel, also during a back-off
 * P3  requests no whole numbers   -> invalid: no Pod can ever give them
 * P4  back-off not over           -> sleep
 * P5  anything else               -> place
 */
export function pendingAction(run: Run, now: number): PendingAction {
  if (run.metadata.deletionTimestamp !== undefined) return { kind: "leave" };
  const { termination } = run.spec;
  if (termination !== undefined) {
    return { kind: "cancel", message: termination.message ?? "cancelled before it was placed" };
  }
  if (requestsOf(run.spec) === undefined) return { kind: "invalid", message: invalidRequests(run) };
  const until = parseTime(run.status?.nextAttemptTime);
  if (until !== undefined && until > now) return { kind: "sleep", until };
  return { kind: "place" };
}

/** Names the requests that are wrong, and what to write instead. */
function invalidRequests(run: Run): string {
  const wrong = Object.entries(run.spec.resources?.requests ?? {})
    .filter(([name, amount]) => requestsOf({ resources: { requests: { [name]: amount } } }) === undefined)
    .map(([name, amount]) => `spec.resources.requests.${name} is ${JSON.stringify(amount)}`);
  return `${wrong.join(", ")}; write whole numbers of 0 or more`;
}

import type { Run } from "#api/kinds/run.ts";
import type { WaitingReason } from "#api/reasons.ts";
import type { RunEvent } from "#machines/run.ts";
import { pendingAction } from "./policies/pending.ts";

/** What the scheduler has decided about a Run; `observe` checks it against the Run as it is when the write begins. */
export type Intent =
  | { readonly kind: "assign"; readonly pod: string; readonly podUID: string }
  | { readonly kind: "wait"; readonly reason: WaitingReason; readonly message: string }
  | { readonly kind: "cancel" }
  | { readonly kind: "invalid" }
  /** Only from the assignment of that epoch. */
  | { readonly kind: "takeBack"; readonly epoch: number };

/**
 * The next event of a Run, from what it is and what was decided; undefined when the decision no longer fits.
 *
 * O1  Pending, to be cancelled or invalid  -> that, whatever was decided
 * O2  Pending, assign                      -> ASSIGN, unless it is being deleted or backs off
 * O3  Pending, wait                        -> WAIT
 * O4  Scheduled with the epoch, takeBack   -> TAKE_BACK
 * O5  anything else                        -> nothing: the Run has moved on
 */
export function observe(run: Run, intent: Intent, now: number): RunEvent | undefined {
  const phase = run.status?.phase ?? "Pending";
  if (phase === "Scheduled") {
    const unclaimed = intent.kind === "takeBack" && intent.epoch === (run.status?.assignmentEpoch ?? 0);
    return unclaimed ? { type: "TAKE_BACK", now } : undefined;
  }
  if (phase !== "Pending") return undefined;
  const action = pendingAction(run, now);
  switch (action.kind) {
    case "cancel":
      return { type: "CANCEL", message: action.message, now };
    case "invalid":
      return { type: "INVALID", reason: "InvalidResources", message: action.message, now };
    case "leave":
    case "sleep":
      return undefined;
    case "place":
      if (intent.kind === "assign") return { type: "ASSIGN", pod: intent.pod, podUID: intent.podUID, now };
      if (intent.kind === "wait") return { type: "WAIT", reason: intent.reason, message: intent.message, now };
      return undefined;
  }
}

import type { WaitingReason } from "#api/reasons.ts";

/** Why a Run waits at the moment. Times are monotonic. */
export interface WaitState {
  readonly reason: WaitingReason;
  readonly message: string;
  /** Waiting alone will not help. */
  readonly hopeless: boolean;
  /** Since when the Run waits. */
  readonly since: number;
  /** Since when the reason is this one. */
  readonly reasonSince: number;
}

/** What the status of the Run says, and when that was written or first seen (monotonic). */
export interface Written {
  readonly reason: string | undefined;
  readonly message: string | undefined;
  readonly at: number;
}

export type Report =
  | { readonly kind: "write" }
  /** Look again at that time, if nothing happens before. */
  | { readonly kind: "later"; readonly at: number }
  /** The status says it all. */
  | { readonly kind: "nothing" };

/**
 * A reason is written once it has held for this long. Most at the first decision: the short delay only lets the watches of
 * different kinds catch up with each other, so that a Run that came a moment before its Runtime is not written to for nothing. A
 * Pod that starts is a matter of seconds, and a full pool is nothing unusual before half a minute.
 */
export function delayOf({ reason, hopeless }: Pick<WaitState, "reason" | "hopeless">): number {
  if (reason === "NoReadyPods") return 5000;
  return reason === "InsufficientCapacity" && !hopeless ? 30_000 : 200;
}

/** Counts in a message change with every Pod; they are worth a write at most once a minute. */
export const refreshMs = 60_000;

/** Whether it is time to write why a Run waits: one write for each change of reason, and few for changed counts. */
export function reportWaiting(state: WaitState, written: Written, now: number): Report {
  if (written.reason === state.reason && written.message === state.message) return { kind: "nothing" };
  const at =
    written.reason === state.reason
      ? written.at + refreshMs
      : Math.max(state.since, state.reasonSince) + delayOf(state);
  return now >= at ? { kind: "write" } : { kind: "later", at };
}

import type { Reason } from "#api/reasons.ts";

/** The identities that may move a lifecycle. A move that nobody is named for does not exist. */
export const writers = ["scheduler", "agent", "controller", "user"] as const;
export type Writer = (typeof writers)[number];

/** What stands on every transition beside its description. */
export interface TransitionMeta {
  /** Who may fire it. */
  readonly writer: Writer | readonly Writer[];
  /** Reasons that it may record, where it says why. */
  readonly reason?: Reason | readonly Reason[];
  /** Leaves a terminal state and raises `attempt`. */
  readonly reopens?: true;
}

import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import type { ActionFailureReason } from "#machines/workflow-action.ts";
import type { WorkflowRunSnapshot } from "#machines/workflow-run.ts";
import type { WorkflowPlan } from "#workflows/plan.ts";

/** What an action is applied to. */
export interface ApplyContext {
  readonly run: WorkflowRun;
  /** The run as the actions before it have left it. */
  readonly snapshot: WorkflowRunSnapshot;
  /** The graph; undefined where it is not known, or of no use any more. */
  readonly plan?: WorkflowPlan;
  /** The graph cannot be read at the moment, and may be soon. */
  readonly isGraphUnavailable: boolean;
  /** Name of the run above that is suspended, if one is. */
  readonly heldBy?: string;
  /** Names of the runs below that a Resume of their own would move. */
  waitingBelow(): readonly string[];
  /** UIDs of the child Runs that exist. */
  readonly runUids: ReadonlySet<string>;
  /** Takes so many bytes of the status, if they are there. */
  room(bytes: number): boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** What was made of an action. The snapshot is the very one that it was applied to when nothing had to change. */
export type Verdict =
  | { readonly outcome: "Succeeded"; readonly snapshot: WorkflowRunSnapshot; readonly message: string }
  | { readonly outcome: "Failed"; readonly reason: ActionFailureReason; readonly message: string };

export const refuse = (reason: ActionFailureReason, message: string): Verdict => ({
  outcome: "Failed",
  reason,
  message,
});

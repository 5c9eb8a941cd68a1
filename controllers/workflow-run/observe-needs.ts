import type { JobStatus } from "#api/kinds/workflow-run.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import type { JobCancelReason, JobSkipReason } from "#machines/job-status.ts";
import type { CannotStartReason } from "#machines/step-status.ts";
import { memberOf } from "#workflows/values.ts";
import { asks, notMet, progressOfNeeds, unsuccessful } from "./conditions.ts";
import { headOf, type JobContext } from "./job-context.ts";

/** Why the whole run must end, while it is ending. */
export interface Ending {
  readonly reason: JobCancelReason;
  readonly message: string;
  /** Jobs that ask how the others went (`if: always()`, `if: cancelled()`) run all the same. */
  readonly cleansUp?: true;
}

/**
 * What ends a job while the run is ending. Nothing ends one that cleans up: whether it does, its `if` says, which is asked again of a job
 * that has begun before.
 */
export function endingOf(ending: Ending | undefined, context: JobContext, { phase }: JobStatus): Ending | undefined {
  const { job, jobs } = context;
  if (ending?.cleansUp !== true || job.if?.asksStatus !== true) return ending;
  if (phase === "Waiting") return undefined; // it is asked when its turn comes
  const asked = asks(job.if, () => ({ ok: true, values: headOf(context) }), progressOfNeeds(job, jobs, true));
  return asked.ok && asked.holds ? undefined : ending;
}

/** That a job will not run. */
export type Unready =
  | { readonly type: "SKIP"; readonly reason: JobSkipReason; readonly message: string; readonly now: number }
  | {
      readonly type: "CANNOT_START";
      readonly reason: CannotStartReason;
      readonly message: string;
      readonly now: number;
    };

/** Whether a job that waits for others may begin: not yet, never, or now. The same for jobs of every kind. */
export function observeNeeds(context: JobContext, ending: Ending | undefined): "wait" | "ready" | Unready {
  const { job, jobs, now } = context;
  if (ending !== undefined) return { type: "SKIP", ...ending, now };
  const asksStatus = job.if?.asksStatus === true;
  const bad = unsuccessful(job, jobs);
  // Nothing that is still to end can make up for it.
  if (bad !== undefined && !asksStatus) {
    const [id, { phase }] = bad;
    const message = `job ${id}, which it needs, ended as ${phase}`;
    return { type: "SKIP", reason: "NeedsNotSucceeded", message, now };
  }
  const isReady = job.needs.every((id) => {
    const phase = memberOf(jobs, id)?.phase;
    return phase !== undefined && hasEnded(phase);
  });
  if (!isReady) return "wait";
  const asked = asks(
    job.if,
    () => ({ ok: true, values: headOf(context) }),
    progressOfNeeds(job, jobs, context.isStopping),
  );
  if (!asked.ok) return { type: "CANNOT_START", reason: "ExpressionFailed", message: `if: ${asked.message}`, now };
  return asked.holds ? "ready" : { type: "SKIP", reason: "ConditionNotMet", message: notMet(job.if), now };
}

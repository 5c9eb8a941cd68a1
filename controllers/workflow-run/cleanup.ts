import type { JobStatus } from "#api/kinds/workflow-run.ts";
import { parseTime } from "#api/time.ts";
import { isCancelReason } from "#machines/job-status.ts";
import type { Progress } from "#workflows/expressions/functions.ts";
import { type JobContext, whyGone, workspaceOf } from "./job-context.ts";

/** How long a job may clean up, in milliseconds from when it was asked to end; GitHub gives as much. */
const cleanupMs = 300_000;

/**
 * What becomes of steps: all that is due begins and goes on; only those whose `if` holds although the job must end; or none. The `if` is
 * asked again for a step at work, as on GitHub: one with `always()` is not ended.
 */
export type Course = "goes on" | "cleans up" | "ends";

/** What becomes of the steps of a job at work. */
export function courseOf(context: JobContext, job: JobStatus): Course {
  if (job.phase !== "Stopping") return "goes on";
  return mayCleanUp(context, job) ? "cleans up" : "ends";
}

/** Until when a job that must end may clean up, in milliseconds since the epoch; undefined for every other job. */
export function cleanupDeadline({ phase, stopTime }: JobStatus): number | undefined {
  const since = phase === "Stopping" ? parseTime(stopTime) : undefined;
  return since === undefined ? undefined : since + cleanupMs;
}

/** There is something to clean up once a step has begun, and only where its files are. */
function mayCleanUp(context: JobContext, job: JobStatus): boolean {
  const deadline = cleanupDeadline(job);
  return (
    deadline !== undefined &&
    context.now < deadline &&
    !context.isTerminating &&
    (job.steps ?? []).some(({ phase }) => phase !== "Waiting" && phase !== "Skipped") &&
    whyGone(workspaceOf(context, job)) === undefined
  );
}

/**
 * What status functions answer in a job that must end. One that is out of time has failed, and its steps are cancelled: so both hold,
 * whichever of them people expect.
 */
export function progressOfEnding({ reason }: Pick<JobStatus, "reason">): Progress {
  return { success: false, failure: !isCancelReason(reason), cancelled: true };
}

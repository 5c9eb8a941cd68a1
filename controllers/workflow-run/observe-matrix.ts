import type { JobStatus } from "#api/kinds/workflow-run.ts";
import { parseTime } from "#api/time.ts";
import { isBad, sumOfJobs } from "#machines/derive.ts";
import { instanceFailedReasons, type JobMatrixEvent } from "#machines/job-matrix.ts";
import { firstLine } from "#machines/lib/text.ts";
import { instancesOf } from "#workflows/matrix.ts";
import type { StrategyPlan } from "#workflows/plan.ts";
import { type Budget, bytesOf, jobBytes, noRoom, stepBytes, stepCount } from "./budget.ts";
import { passedOver } from "./failure.ts";
import { stillFormer } from "./instances.ts";
import { headOf, type JobContext } from "./job-context.ts";
import { type Ending, observeNeeds } from "./observe-needs.ts";

/**
 * What is due for a job with a matrix.
 *
 * @param instances its instances with their ids, once they are listed
 */
export function observeMatrix(
  context: JobContext,
  strategy: StrategyPlan,
  job: JobStatus,
  instances: readonly (readonly [id: string, status: JobStatus])[],
  ending: Ending | undefined,
  budget: Budget,
): JobMatrixEvent | undefined {
  switch (job.phase) {
    case "Waiting":
      return observeWaiting(context, strategy, job, ending, budget);
    case "Running":
      return observeInstances(instances, ending, budget, context.now);
    default:
      return undefined;
  }
}

function observeWaiting(
  context: JobContext,
  strategy: StrategyPlan,
  status: JobStatus,
  ending: Ending | undefined,
  budget: Budget,
): JobMatrixEvent | undefined {
  const { job, now } = context;
  const needs = observeNeeds(context, ending);
  if (needs === "wait") return undefined;
  if (needs !== "ready") return needs.type === "SKIP" ? needs : { ...needs, ...passedOver(context) };
  const known = instancesOf(job.id, strategy.matrix, headOf(context));
  if (!known.ok) {
    const place = ["matrix", ...known.path].join(".");
    const message = `${place}: ${known.message}; ${known.advice}`;
    return { type: "CANNOT_START", reason: "ExpressionFailed", message, ...passedOver(context), now };
  }
  const { instances } = known;
  // Room for all of it at once: a matrix of which some instances cannot be listed is of no use.
  const values = instances.reduce((sum, each) => sum + bytesOf(each.values), 0);
  const size = values + instances.length * (jobBytes + stepBytes * stepCount(job));
  if (!budget.take(size)) {
    const message = `the status of the WorkflowRun has no room for ${instances.length} instances of ${stepCount(job)} steps`;
    return { type: "CANNOT_START", reason: "StatusTooLarge", message, ...passedOver(context), now };
  }
  const former = status.former && { former: stillFormer(status.former, instances) };
  return { type: "EXPAND", instances: instances.length, ...former, now };
}

function observeInstances(
  instances: readonly (readonly [id: string, status: JobStatus])[],
  ending: Ending | undefined,
  budget: Budget,
  now: number,
): JobMatrixEvent | undefined {
  const all = instances.map(([, status]) => status);
  if (sumOfJobs(all) === "Open") return undefined;
  const outputs = mergedOutputs(all);
  const hasRoom = budget.takeOutputs(outputs);
  const failed = firstFailed(instances);
  if (failed !== undefined) {
    const [id, { reason, message }] = failed;
    const cause = [reason, message && firstLine(message)].filter(Boolean).join(": ");
    return {
      type: "INSTANCE_FAILED",
      reason: instanceFailedReasons.find((each) => each === reason) ?? "JobFailed",
      message: `job ${id} did not succeed${cause === "" ? "" : ` (${cause})`}`,
      ...(hasRoom && { outputs }),
      now,
    };
  }
  if (ending !== undefined && all.some(({ phase }) => phase === "Cancelled" || phase === "Skipped")) {
    return { type: "INSTANCES_CANCELLED", ...ending, ...(hasRoom && { outputs }), now };
  }
  if (hasRoom) return { type: "INSTANCES_SUCCEEDED", outputs, now };
  return { type: "INSTANCE_FAILED", reason: "StatusTooLarge", message: noRoom.message, now };
}

/** The instance that failed first. */
function firstFailed(
  instances: readonly (readonly [id: string, status: JobStatus])[],
): readonly [string, JobStatus] | undefined {
  const when = (job: JobStatus) => parseTime(job.completionTime) ?? Number.POSITIVE_INFINITY;
  return instances
    .filter(([, status]) => status.phase === "Failed" && isBad(status))
    .toSorted(([, a], [, b]) => when(a) - when(b))[0];
}

/** Of outputs of one name the last instance that has a text wins, in the order of the matrix. */
function mergedOutputs(instances: readonly JobStatus[]): Record<string, string> {
  const merged: Record<string, string> = {};
  for (const { outputs = {} } of instances) {
    for (const [name, value] of Object.entries(outputs))
      if (value !== "" || merged[name] === undefined) merged[name] = value;
  }
  return merged;
}

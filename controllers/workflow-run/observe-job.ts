import type { JobStatus } from "#api/kinds/workflow-run.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import { isActive, isBad, jobEvent, mustStartAnother } from "#machines/derive.ts";
import type { JobEvent } from "#machines/job.ts";
import type { CancelReason } from "#machines/job-status.ts";
import { cannotStartReasons } from "#machines/step-status.ts";
import { checkStores, resolveArtifacts } from "#workflows/artifacts.ts";
import { stepsOf } from "#workflows/plan.ts";
import { contextValues, jobOutputs, memberOf } from "#workflows/values.ts";
import { type JobContext, whyGone, workspaceNameOf, workspaceOf } from "./job-context.ts";
import { neverClaimed } from "./observe-step.ts";

/** Why the whole run must end, while it is ending. */
export interface Ending {
  readonly reason: CancelReason;
  readonly message: string;
}

/**
 * What is due for a job whose steps are as `job` says.
 *
 * @param stored the job as the API server has it
 * @param ending set while the run is being ended
 * @param hasPlace whether another job may start under `spec.parallelism`
 */
export function observeJob(
  context: JobContext,
  job: JobStatus,
  stored: JobStatus | undefined,
  ending: Ending | undefined,
  hasPlace: boolean,
): JobEvent | undefined {
  const { now } = context;
  switch (job.phase) {
    case "Waiting":
      return ending === undefined ? observeNeeds(context) : { type: "SKIP", ...ending, now };
    case "Queued":
      if (ending !== undefined) return { type: "SKIP", ...ending, now };
      return observeWorkspace(context, job, stored) ?? (hasPlace ? { type: "START", now } : undefined);
    case "Running":
      return (
        observeSum(context, job) ??
        (ending === undefined ? observeWorkspace(context, job, stored) : { type: "CANCEL", ...ending, now })
      );
    case "Stopping":
      return jobEvent(job, now);
    default:
      return undefined;
  }
}

function observeNeeds({ seen, plan, job, jobs, now }: JobContext): JobEvent | undefined {
  const needed = job.needs.map((id) => [id, memberOf(jobs, id)?.phase] as const);
  const bad = needed.find(([, phase]) => phase !== undefined && hasEnded(phase) && phase !== "Succeeded");
  if (bad !== undefined) {
    const message = `job ${bad[0]}, which it needs, ended as ${bad[1]}`;
    return { type: "SKIP", reason: "NeedsNotSucceeded", message, now };
  }
  if (needed.some(([, phase]) => phase !== "Succeeded")) return undefined;
  const artifacts = resolveArtifacts(job, jobs);
  const failure = artifacts.ok ? checkStores(job, plan.jobs, (name) => storeOwner(seen.runtimeOf(name))) : artifacts;
  if (failure !== undefined) {
    const reason = cannotStartReasons.find((each) => each === failure.reason) ?? "ArtifactMissing";
    return { type: "CANNOT_START", reason, message: failure.message, now };
  }
  return { type: "READY", steps: stepsOf(job).map(({ name }) => name), now };
}

const storeOwner = (runtime: { metadata: { name: string }; spec: object } | undefined) =>
  runtime && { name: runtime.metadata.name, spec: runtime.spec };

function observeSum({ job: plan, jobs, now }: JobContext, job: JobStatus): JobEvent | undefined {
  const event = jobEvent(job, now);
  if (event?.type !== "STEPS_SUCCEEDED") return event;
  const result = jobOutputs(plan, contextValues(plan, { ...jobs, [plan.id]: job }));
  if (result.ok) return { ...event, outputs: { ...result.outputs } };
  const reason = result.reason === "OutputsTooLarge" ? "OutputsTooLarge" : "ExpressionFailed";
  return { type: "OUTPUTS_FAILED", reason, message: result.message, now };
}

function observeWorkspace(context: JobContext, job: JobStatus, stored: JobStatus | undefined): JobEvent | undefined {
  const { seen, now } = context;
  // Ordered, or renamed, in this very pass: nothing can be there yet.
  if (stored === undefined || stored.phase === "Waiting" || (stored.collision ?? 0) !== (job.collision ?? 0)) {
    return undefined;
  }
  const name = workspaceNameOf(context, job);
  const found = workspaceOf(context, job);
  const gone = whyGone(found);
  if (gone === undefined) return undefined;
  // Files that a step has used cannot be had again, whatever has become of the name.
  if (wasUsed(context, job)) {
    return mustStartAnother(job.steps ?? []) ? { type: "WORKSPACE_LOST", message: gone, now } : undefined;
  }
  switch (found.kind) {
    case "foreign": {
      const message = `a PersistentWorkspace named ${name} exists and belongs to somebody else`;
      return { type: "NAME_TAKEN", message, now };
    }
    case "absent": {
      const refusal = seen.refused.get(name);
      return refusal === undefined
        ? { type: "WORKSPACE_MISSING" }
        : { type: "WORKSPACE_REFUSED", message: refusal, now };
    }
    default:
      return { type: "REPLACE_WORKSPACE", message: gone, now };
  }
}

/** Whether a step of this attempt has been claimed by a Pod: then there may be files that would be missed. */
function wasUsed({ seen }: JobContext, job: JobStatus): boolean {
  return (job.steps ?? []).some((step) => {
    if (step.phase === "Succeeded" || isBad(step)) return true;
    const found = seen.runs.get(step.runName ?? "");
    return isActive(step) && found?.kind === "ours" && !neverClaimed(found.object);
  });
}

import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import type { JobStatus } from "#api/kinds/workflow-run.ts";
import { resolveArtifacts } from "#workflows/artifacts.ts";
import { type ChildRunResult, childRun, childRunNameOf } from "#workflows/child-run.ts";
import { childWorkspaceName } from "#workflows/child-workspace.ts";
import { type JobPlan, runsOnOf, type StepPlan, type WorkflowPlan } from "#workflows/plan.ts";
import { runtimeLanguage } from "#workflows/script/language.ts";
import { contextValues } from "#workflows/values.ts";
import type { Found, Seen } from "./seen.ts";

export type Jobs = Readonly<Record<string, JobStatus>>;

/** What the decisions about one job look at. */
export interface JobContext {
  readonly seen: Seen;
  readonly plan: WorkflowPlan;
  readonly job: JobPlan;
  /** All jobs as this pass has left them so far; producers come before consumers. */
  readonly jobs: Jobs;
  readonly now: number;
}

/** Name of the workspace of the current attempt of a job. */
export function workspaceNameOf(
  { seen, job }: { readonly seen: Pick<Seen, "run">; readonly job: JobPlan },
  status: JobStatus,
): string {
  return childWorkspaceName({
    owner: seen.run,
    job,
    jobAttempt: status.attempt ?? 1,
    collision: status.collision ?? 0,
  });
}

/** Why the files of a job are not there (any more); undefined while they are, or are being placed. */
export function whyGone(found: Found<PersistentWorkspace>): string | undefined {
  const phase = found.kind === "ours" ? (found.object.status?.phase ?? "Pending") : "Released";
  if (phase === "Lost") return "the Pod with the files of the job is gone";
  return phase === "Released" ? "the files of the job were deleted" : undefined;
}

/** What stands under the name of the workspace of the current attempt of a job. */
export function workspaceOf(context: JobContext, status: JobStatus): Found<PersistentWorkspace> {
  return context.seen.workspaces.get(workspaceNameOf(context, status)) ?? { kind: "absent" };
}

interface StepIdentity {
  readonly stepAttempt: number;
  readonly collision: number;
}

/** Name of the child Run of a step. */
export function runNameOf(context: JobContext, status: JobStatus, step: StepPlan, id: StepIdentity): string {
  const { seen, job } = context;
  return childRunNameOf({ owner: seen.run, job, step, jobAttempt: status.attempt ?? 1, ...id });
}

/** The child Run of a step, built from the statuses of this pass. */
export function buildRun(context: JobContext, status: JobStatus, step: StepPlan, id: StepIdentity): ChildRunResult {
  const { seen, job, jobs } = context;
  const runtime = seen.runtimeOf(runsOnOf(job));
  const artifacts = resolveArtifacts(job, jobs);
  if (!artifacts.ok) return artifacts;
  return childRun({
    owner: seen.run,
    job,
    step,
    jobAttempt: status.attempt ?? 1,
    ...id,
    workspace: workspaceNameOf(context, status),
    language: runtime && runtimeLanguage(runtime.spec),
    values: contextValues(job, { ...jobs, [job.id]: status }),
    artifactInputs: artifacts.inputs.get(step.name) ?? [],
  });
}

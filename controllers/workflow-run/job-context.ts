import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import type { JobStatus } from "#api/kinds/workflow-run.ts";
import { childWorkspaceName } from "#workflows/child-workspace.ts";
import { type EnvResult, evaluateEnv } from "#workflows/env.ts";
import type { ContextValues, Evaluated } from "#workflows/expressions/evaluate.ts";
import { planOf } from "#workflows/matrix.ts";
import type { JobPlan, WorkflowPlan } from "#workflows/plan.ts";
import { runtimeName } from "#workflows/runtime-name.ts";
import { headValues, type Instance, memberOf, type RunValues, runValues } from "#workflows/values.ts";
import type { Found, Seen } from "./seen.ts";

export type Jobs = Readonly<Record<string, JobStatus>>;

/** What the decisions about one job look at. */
export interface JobContext {
  readonly seen: Seen;
  readonly plan: WorkflowPlan;
  /** Of an instance of a matrix: the plan of its job, under the id of the instance. */
  readonly job: JobPlan;
  readonly instance?: Instance;
  /** All jobs as this pass has left them so far; producers come before consumers. */
  readonly jobs: Jobs;
  readonly values: RunValues;
  /** The run was stopped: what begins now cleans up. */
  readonly isStopping: boolean;
  /** The run ends at once: nothing cleans up. */
  readonly isTerminating: boolean;
  /** Nothing new may start. */
  readonly isSuspended: boolean;
  readonly now: number;
}

/** What the decisions about a job, or an instance of a matrix, look at between two passes; undefined when there is no such job. */
export function jobContext(seen: Seen, plan: WorkflowPlan, id: string, now: number): JobContext | undefined {
  const job = planOf(plan, id);
  const jobs = seen.run.status?.jobs ?? {};
  const values = runValues(seen.run, inputsOf(seen));
  const idle = { isSuspended: false, isStopping: false, isTerminating: false };
  if (job === undefined || job.id === id) return job && { seen, plan, job, jobs, values, ...idle, now };
  const index = Number(id.slice(job.id.length + 1));
  const total = memberOf(jobs, job.id)?.instances ?? 0;
  const instance = { job: job.id, index, total, values: { ...(memberOf(jobs, id)?.matrix as object | undefined) } };
  return { seen, plan, job: { ...job, id }, instance, jobs, values, ...idle, now };
}

/** The context `inputs`. */
export const inputsOf = ({ source }: Seen): RunValues["inputs"] => (source.kind === "plan" ? source.inputs : {});

/** What the fields of the job itself can see. */
export function headOf({ job, jobs, values, instance }: JobContext): ContextValues {
  return headValues(job, jobs, values, instance);
}

/** The name of the Runtime of the job. */
export function runtimeNameOf(context: JobContext): Evaluated {
  const { work } = context.job;
  if (work.kind !== "steps") return { ok: false, message: "it has no steps" };
  if (work.runsOn.expressions.length === 0) return { ok: true, value: work.runsOn.text };
  return runtimeName(work.runsOn, headOf(context));
}

/** The variables of the workflow and of the job. */
export function envOf(context: JobContext): EnvResult {
  const outer = evaluateEnv(context.plan.env, { ...context.values });
  return outer.ok ? evaluateEnv(context.job.env, headOf(context), outer.env) : outer;
}

/** Name of the workspace of the current attempt of a job. */
export function workspaceNameOf(
  { seen, job }: { readonly seen: Pick<Seen, "run">; readonly job: Pick<JobPlan, "id"> },
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

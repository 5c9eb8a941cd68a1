import type { JobStatus, StepStatus, WorkflowRun } from "#api/kinds/workflow-run.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import type { ContextValues } from "./expressions/evaluate.ts";
import type { InputValue } from "./inputs.ts";
import type { JobPlan } from "./plan.ts";

type Jobs = Readonly<Record<string, JobStatus>> | undefined;

/** How a job or a step ended, in GitHub's words. */
export type Result = "success" | "failure" | "cancelled" | "skipped";

/** What a job or step came to by itself: `outcome` of a step. Undefined while it has not ended. */
export function outcomeOf({ phase }: Pick<JobStatus | StepStatus, "phase">): Result | undefined {
  switch (phase) {
    case "Succeeded":
      return "success";
    case "Failed":
      return "failure";
    case "Cancelled":
      return "cancelled";
    case "Skipped":
      return "skipped";
    default:
      return undefined;
  }
}

/** What others go by: `result` of a job, `conclusion` of a step. A failure with `continue-on-error` is none. */
export function resultOf(member: Pick<JobStatus | StepStatus, "phase" | "continued">): Result | undefined {
  return member.phase === "Failed" && member.continued === true ? "success" : outcomeOf(member);
}

/** What every expression of a WorkflowRun can see. */
export interface RunValues {
  readonly inputs: Readonly<Record<string, InputValue>>;
  readonly run: Readonly<Record<string, unknown>>;
}

/** @param inputs from `inputValues` */
export function runValues(run: WorkflowRun, inputs: RunValues["inputs"]): RunValues {
  const { name, namespace = "", uid = "" } = run.metadata;
  const workflow = run.spec.workflowRef?.name ?? "";
  return { inputs, run: { name, uid, namespace, workflow, attempt: run.status?.attempt ?? 1 } };
}

/** The place of a job among the instances of its matrix. */
export interface Instance {
  /** Id of the job with the matrix. */
  readonly job: string;
  /** From 0. */
  readonly index: number;
  readonly total: number;
  readonly values: Readonly<Record<string, unknown>>;
}

/**
 * What the fields of a job itself can see: the jobs that it needs, and of an instance of a matrix its values.
 *
 * @param jobs `status.jobs` of the WorkflowRun
 */
export function headValues(job: JobPlan, jobs: Jobs, run: RunValues, instance?: Instance): ContextValues {
  const needs = jobValues(job.needs, jobs);
  const known = { ...run, needs, jobs: needs };
  if (instance === undefined) return known;
  const { failFast = true, maxParallel = instance.total } = job.strategy ?? {};
  const strategy = {
    "fail-fast": failFast,
    "job-index": instance.index,
    "job-total": instance.total,
    "max-parallel": maxParallel,
  };
  return { ...known, matrix: instance.values, strategy };
}

/** Results and outputs of jobs that have ended. */
export function jobValues(ids: readonly string[], jobs: Jobs): Readonly<Record<string, unknown>> {
  const members = ids.flatMap((id) => {
    const status = memberOf(jobs, id);
    const result = status && resultOf(status);
    return result === undefined ? [] : [[id, { outputs: status?.outputs ?? {}, result }] as const];
  });
  return Object.fromEntries(members);
}

/** What steps can see of the ones before them: those that have ended. */
export function stepsValues(steps: readonly StepStatus[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    steps
      .filter(({ phase }) => hasEnded(phase))
      .map((step) => [
        step.name,
        { outputs: step.outputs ?? {}, outcome: outcomeOf(step), conclusion: resultOf(step) },
      ]),
  );
}

/** A member of a map from the API: ids may be names like `constructor`, which every object has. */
export function memberOf<T>(map: Readonly<Record<string, T>> | undefined, id: string): T | undefined {
  return map !== undefined && Object.hasOwn(map, id) ? map[id] : undefined;
}

import type { JobStatus, WorkflowRun } from "#api/kinds/workflow-run.ts";
import { maxLevels } from "./uses.ts";

/** WorkflowRuns that are jobs of others, by name. */
export type UsedRuns = ReadonlyMap<string, WorkflowRun>;

/** For a WorkflowRun whose jobs are not looked into. */
export const noneUsed: UsedRuns = new Map();

/** A child Run of a workflow, or of one that a job of it uses. */
export interface StepRun {
  readonly runName: string;
  /** Where it belongs: the job and the step, and before them the jobs that lead to it. */
  readonly path: readonly string[];
}

/** The WorkflowRun that a job is, where it is known. Names that somebody made go round in a circle have an end. */
export function usedBy(job: JobStatus, used: UsedRuns, level: number): WorkflowRun | undefined {
  return level >= maxLevels || job.workflowRunName === undefined ? undefined : used.get(job.workflowRunName);
}

/**
 * The Runs of all steps that have begun, in the order of the jobs; those of an Action stand for the step that uses it.
 *
 * @param order of the jobs, as a plan has it
 */
export function* stepRuns(
  { status }: WorkflowRun,
  used: UsedRuns,
  order: readonly string[] = Object.keys(status?.jobs ?? {}),
  path: readonly string[] = [],
): Iterable<StepRun> {
  const listed = order.flatMap((id) => instancesOf(id, status?.jobs ?? {}));
  for (const id of new Set([...listed, ...Object.keys(status?.jobs ?? {})])) {
    const job = status?.jobs?.[id];
    if (job === undefined) continue;
    for (const step of job.steps ?? []) {
      for (const { runName } of [step, ...(step.steps ?? [])]) {
        if (runName !== undefined) yield { runName, path: [...path, id, step.name] };
      }
    }
    const child = usedBy(job, used, path.length + 1);
    if (child !== undefined) yield* stepRuns(child, used, undefined, [...path, id]);
  }
}

/** A job and, where it has a matrix, its instances. */
function instancesOf(id: string, jobs: Readonly<Record<string, JobStatus>>): string[] {
  const { instances = 0 } = jobs[id] ?? {};
  return [id, ...Array.from({ length: instances }, (_, index) => `${id}.${index}`)];
}

/** Which jobs of a run that has ended are to run again. */
import type { JobStatus } from "#api/kinds/workflow-run.ts";
import { instanceKey } from "./matrix.ts";
import { matchesNode, type NodeFieldSelector } from "./node-field-selector.ts";
import { type JobPlan, stepsOf, type WorkflowPlan } from "./plan.ts";
import { memberOf } from "./values.ts";

type Jobs = Readonly<Record<string, JobStatus>>;

export interface RetryChoice {
  readonly selector?: NodeFieldSelector;
  /** The selector also means jobs that succeeded. */
  readonly restartSuccessful: boolean;
}

/** How a job runs again: wholly, or, of a matrix, only these of its instances. */
export type Rerun = "all" | readonly string[];

/**
 * The jobs that run again, by id, in the order of the graph: those that did not succeed or never ran, as far as the selector means
 * them, jobs that clean up, and everything that waits for one of these, since it may have used their results.
 */
export function retrySet(plan: WorkflowPlan, jobs: Jobs, choice: RetryChoice): ReadonlyMap<string, Rerun> {
  const set = new Map<string, Rerun>();
  for (const id of plan.order) {
    const job = plan.jobs.get(id);
    const chosen = job && chosenOf(job, jobs, choice);
    if (chosen !== undefined) set.set(id, chosen);
  }
  if (set.size === 0) return set;
  for (const [id, job] of plan.jobs) if (job.if?.asksStatus === true) set.set(id, "all");
  // Every job comes after those that it needs.
  for (const id of plan.order) {
    if (plan.jobs.get(id)?.needs.some((need) => set.has(need))) set.set(id, "all");
  }
  return new Map(plan.order.flatMap((id) => (set.has(id) ? [[id, set.get(id) ?? "all"] as const] : [])));
}

function chosenOf(job: JobPlan, jobs: Jobs, choice: RetryChoice): Rerun | undefined {
  const status = memberOf(jobs, job.id);
  const count = status?.instances ?? 0;
  if (count === 0) return isChosen(job, job.id, status, choice) ? "all" : undefined;
  const keys = Array.from({ length: count }, (_, index) => instanceKey(job.id, index));
  const chosen = keys.filter((key) => isChosen(job, key, memberOf(jobs, key), choice));
  return chosen.length === 0 ? undefined : chosen;
}

function isChosen(job: JobPlan, id: string, status: JobStatus | undefined, choice: RetryChoice): boolean {
  const { selector, restartSuccessful } = choice;
  if (selector === undefined) return isOpen(status);
  const phase = status?.phase ?? "Waiting";
  const base = { job: job.id, phase };
  const nodes = [
    { ...base, name: id, step: "", displayName: id, type: "Job" },
    ...stepsOf(job).map(({ name, index, work }) => {
      const type = work.kind === "gate" ? "Gate" : "Step";
      const stepPhase = status?.steps?.[index]?.phase ?? "Waiting";
      return { ...base, name: `${id}/${name}`, step: name, displayName: name, phase: stepPhase, type };
    }),
  ];
  return (isOpen(status) || restartSuccessful) && nodes.some((node) => matchesNode(selector, node));
}

/** Whether a job has something left to do: it failed, was ended, or never came to its turn. */
function isOpen(status: JobStatus | undefined): boolean {
  switch (status?.phase) {
    case "Succeeded":
      return false;
    case "Failed":
      return status.continued !== true;
    case "Skipped":
      return status.reason !== "ConditionNotMet";
    default:
      return true;
  }
}

/**
 * What a job that runs again takes from one that is kept and that is not there any more; undefined when all is there.
 *
 * @param runUids UIDs of the Runs of the WorkflowRun that still exist
 */
export function missingArtifact(
  plan: WorkflowPlan,
  jobs: Jobs,
  set: ReadonlyMap<string, Rerun>,
  runUids: ReadonlySet<string>,
): string | undefined {
  for (const id of set.keys()) {
    const job = plan.jobs.get(id);
    for (const step of job === undefined ? [] : stepsOf(job)) {
      for (const { job: producer, name } of step.artifacts) {
        if (set.has(producer)) continue;
        const where = `step "${step.name}" of job "${id}" takes artifact "${name}" of job "${producer}"`;
        const kept = memberOf(jobs, producer);
        const keys = Array.from({ length: kept?.instances ?? 0 }, (_, index) => instanceKey(producer, index));
        const refs = [producer, ...keys].map((key) => memberOf(memberOf(jobs, key)?.artifacts, name));
        const ref = refs.find((each) => each !== undefined);
        if (ref === undefined) return `${where}, which is kept and has none of that name`;
        const [, uid = ""] = /runs\/([^/]+)\/artifacts\//.exec(JSON.stringify(ref.location)) ?? [];
        if (!runUids.has(uid)) return `${where}, and the Run that it is of is gone`;
      }
    }
  }
  return undefined;
}

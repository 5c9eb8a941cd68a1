/** Which jobs of a run that has ended are to run again. */
import { jsonEqual } from "#api/json.ts";
import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import type { JobStatus } from "#api/kinds/workflow-run.ts";
import { matrixUsesInputs, usesInputs } from "./input-use.ts";
import { instanceKey, instancesOf } from "./matrix.ts";
import { matchesNode, type NodeFieldSelector } from "./node-field-selector.ts";
import { type JobPlan, stepsOf, type WorkflowPlan } from "./plan.ts";
import { headValues, memberOf, type RunValues } from "./values.ts";

type Jobs = Readonly<Record<string, JobStatus>>;

export interface RetryChoice {
  readonly selector?: NodeFieldSelector;
  /** The selector also means jobs that succeeded. */
  readonly restartSuccessful: boolean;
  /** Some inputs have other values from now on. */
  readonly override?: {
    readonly changed: ReadonlySet<string>;
    /** What expressions of the new attempt see. */
    readonly values: RunValues;
  };
}

/** An instance of a matrix in the new attempt. */
export interface Placed {
  readonly values: Readonly<Record<string, unknown>>;
  /** Id of the instance that had these values; absent when none had. */
  readonly from?: string;
  /** Whether it runs; otherwise it stays as it was. */
  readonly runs: boolean;
}

/** How a job runs again: wholly, or, of a matrix, as these instances; of the others that it had nothing is left but their history. */
export type Rerun = "all" | readonly Placed[];

export type RetrySet =
  | { readonly ok: true; readonly set: ReadonlyMap<string, Rerun> }
  /** With the new inputs a matrix has no values. */
  | { readonly ok: false; readonly message: string };

/**
 * The jobs that run again, by id, in the order of the graph: those that did not succeed or never ran, as far as the selector means
 * them, those that use an input that has another value now, jobs that clean up, and everything that waits for one of these, since it
 * may have used their results. An instance of a matrix is told by its values: a matrix that uses such an input, and nothing else of its
 * job does, keeps those that it still has.
 */
export function retrySet(plan: WorkflowPlan, jobs: Jobs, choice: RetryChoice): RetrySet {
  const set = new Map<string, Rerun>();
  const wrong = new Map<string, string>();
  for (const [id, job] of plan.jobs) {
    const rerun = isBehind(job, set) ? "all" : chosenOf(plan, job, jobs, choice);
    if (typeof rerun === "object" && "fault" in rerun) wrong.set(id, rerun.fault);
    else if (rerun !== undefined) set.set(id, rerun);
  }
  if (set.size > 0) for (const [id, job] of plan.jobs) if (job.if?.asksStatus === true) set.set(id, "all");
  // Every job comes after those that it needs.
  for (const [id, job] of plan.jobs) if (isBehind(job, set)) set.set(id, "all");
  const fault = [...wrong].find(([id]) => set.get(id) !== "all");
  if (fault !== undefined) return { ok: false, message: fault[1] };
  return { ok: true, set: new Map(plan.order.flatMap((id) => entryOf(set, id))) };
}

function entryOf(set: ReadonlyMap<string, Rerun>, id: string): [string, Rerun][] {
  const rerun = set.get(id);
  return rerun === undefined ? [] : [[id, rerun]];
}

const isBehind = ({ needs }: JobPlan, set: ReadonlyMap<string, Rerun>) => needs.some((need) => set.has(need));

/** Ids of the instances of a job with a matrix as its status lists them. */
export function instanceKeys(jobs: Jobs, id: string): string[] {
  return Array.from({ length: memberOf(jobs, id)?.instances ?? 0 }, (_, index) => instanceKey(id, index));
}

/** How the job runs again by itself; undefined when it is kept, and the text of a matrix that has no values now. */
function chosenOf(
  plan: WorkflowPlan,
  job: JobPlan,
  jobs: Jobs,
  choice: RetryChoice,
): Rerun | { readonly fault: string } | undefined {
  const { override } = choice;
  if (override !== undefined && usesInputs(plan, job, override.changed)) return "all";
  const hasOther = override !== undefined && matrixUsesInputs(job, override.changed);
  const keys = instanceKeys(jobs, job.id);
  if (keys.length === 0) {
    return hasOther || isChosen(job, job.id, memberOf(jobs, job.id), choice) ? "all" : undefined;
  }
  const isAgain = (key: string) => isChosen(job, key, memberOf(jobs, key), choice);
  const matrixOf = (key: string): Placed["values"] => ({ ...(memberOf(jobs, key)?.matrix as object | undefined) });
  if (job.strategy === undefined || !hasOther) {
    const placed = keys.map((key) => ({ values: matrixOf(key), from: key, runs: isAgain(key) }));
    return placed.some(({ runs }) => runs) ? placed : undefined;
  }
  const known = instancesOf(job.id, job.strategy.matrix, headValues(job, jobs, override.values));
  if (!known.ok) {
    const place = ["strategy", "matrix", ...known.path].join(".");
    return { fault: `${place} of job "${job.id}": ${known.message}; ${known.advice}` };
  }
  const left = new Set(keys);
  const placed = known.instances.map(({ values }): Placed => {
    const from = [...left].find((key) => jsonEqual(matrixOf(key), values));
    if (from === undefined) return { values, runs: true };
    left.delete(from);
    return { values, from, runs: isAgain(from) };
  });
  const isSame = left.size === 0 && placed.every(({ from, runs }, index) => from === keys[index] && !runs);
  return isSame ? undefined : placed;
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
 * What a job that runs again takes from one that is kept and that is not there any more; undefined when all is there. Of a matrix that
 * runs again in part, the instances that are kept must still have theirs.
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
        const why = missingOf(jobs, set.get(producer), producer, name, runUids);
        if (why === undefined) continue;
        return `step "${step.name}" of job "${id}" takes artifact "${name}" of job "${producer}", ${why}`;
      }
    }
  }
  return undefined;
}

function missingOf(
  jobs: Jobs,
  rerun: Rerun | undefined,
  producer: string,
  name: string,
  runUids: ReadonlySet<string>,
): string | undefined {
  if (rerun === "all") return undefined;
  const kept = rerun?.flatMap(({ from, runs }) => (from === undefined || runs ? [] : [from]));
  const refs = (kept ?? [producer, ...instanceKeys(jobs, producer)]).flatMap((key) => {
    const ref = memberOf(memberOf(jobs, key)?.artifacts, name);
    return ref === undefined ? [] : [ref];
  });
  const canStillCome = rerun?.some(({ runs }) => runs) === true;
  if (refs.length === 0) return canStillCome ? undefined : "which is kept and has none of that name";
  const isGone = (ref: ArtifactRef) => {
    const [, uid = ""] = /runs\/([^/]+)\/artifacts\//.exec(JSON.stringify(ref.location)) ?? [];
    return !runUids.has(uid);
  };
  return refs.some(isGone) ? "and the Run that it is of is gone" : undefined;
}

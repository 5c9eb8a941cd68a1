import type { Run } from "#api/kinds/run.ts";
import type { JobStatus, WorkflowRun } from "#api/kinds/workflow-run.ts";
import { labels } from "#api/labels.ts";
import type { KubeObject } from "#api/meta.ts";
import { isChildOf } from "#workflows/child-meta.ts";
import { maxLevels } from "#workflows/uses.ts";

/** What is known of the children of a WorkflowRun and of theirs, in any order. */
export interface Family {
  readonly runs: readonly Run[];
  readonly workflowRuns: readonly WorkflowRun[];
}

/** A Run of a step. */
export interface StepRun {
  readonly runName: string;
  /** Where it belongs: the job and the step, and before them the jobs that lead to it; jobs with their attempt where there are several. */
  readonly path: readonly string[];
  /** The job of the WorkflowRun that was asked for, and its attempt. */
  readonly job: string;
  readonly attempt: number;
  /** Whether it belongs to an attempt that another one has followed. */
  readonly earlier: boolean;
}

/** What steps have run. */
export interface StepRuns {
  /** In the order of the jobs, of the attempts of each, and of the steps. */
  readonly steps: readonly StepRun[];
  /** Attempts that have run and have no Run any more, in words. */
  readonly gone: readonly string[];
}

/**
 * The Runs of all steps that have begun, those of earlier attempts included; those of an Action stand for the step that uses it.
 *
 * @param order of the jobs, as a plan has it
 */
export function stepRuns(run: WorkflowRun, family: Family, order?: readonly string[]): StepRuns {
  const [steps, gone]: [StepRun[], string[]] = [[], []];
  collect(run, { family, steps, gone, path: [], earlier: false }, order);
  return { steps, gone: [...new Set(gone)] };
}

/** Whether a job of a WorkflowRun is not in its first attempt. */
export function hasEarlierAttempts({ status }: WorkflowRun): boolean {
  const jobs = Object.values(status?.jobs ?? {});
  return jobs.some(
    ({ attempt = 1, attempts, former }) => attempt > 1 || attempts !== undefined || former !== undefined,
  );
}

interface Walk {
  readonly family: Family;
  readonly steps: StepRun[];
  readonly gone: string[];
  readonly path: readonly string[];
  readonly earlier: boolean;
  /** The job at the top, and its attempt; absent there. */
  readonly top?: { readonly job: string; readonly attempt: number };
}

function collect(run: WorkflowRun, walk: Walk, order: readonly string[] = []): void {
  const { family, steps, gone, path } = walk;
  const jobs = run.status?.jobs ?? {};
  const runs = childrenBy(run, family.runs);
  const workflowRuns = childrenBy(run, family.workflowRuns);
  const before = [...runs, ...workflowRuns];
  for (const id of jobIds([...order, ...Object.keys(jobs), ...before.map(({ job }) => job)])) {
    const status = jobs[id];
    const current = status === undefined ? undefined : (status.attempt ?? 1);
    for (const attempt of attemptsOf(id, before, current)) {
      const earlier = walk.earlier || attempt !== current;
      const name = attempt > 1 || attempt !== current ? attemptName(id, attempt) : id;
      const top = walk.top ?? { job: id, attempt };
      const add = (runName: string, step: string) =>
        steps.push({ runName, path: [...path, name, step], ...top, earlier });
      const isOf = (child: Child<KubeObject>) => child.job === id && child.attempt === attempt;
      if (status !== undefined && attempt === current) addCurrent(status, add);
      else for (const { object } of runs.filter(isOf).toSorted(byStart)) add(object.metadata.name, stepOf(object));
      for (const { object } of path.length + 1 < maxLevels ? workflowRuns.filter(isOf) : []) {
        // Of the current attempt the one that counts is in the status.
        if (attempt === current && status?.workflowRunName !== object.metadata.name) continue;
        collect(object, { ...walk, path: [...path, name], earlier, top });
      }
    }
    const { attempts = [], former = [] } = status ?? {};
    for (const { number } of [...attempts, ...former.flatMap((instance) => instance.attempts)].filter(hasRun)) {
      const isThere = before.some((child) => groupOf(child.job) === groupOf(id) && child.attempt === number);
      if (!isThere) gone.push([...path, attemptName(groupOf(id), number)].join("/"));
    }
  }
}

const attemptName = (id: string, attempt: number) => `${id} (attempt ${attempt})`;

/** A job, or the one that an instance of a matrix belongs to. */
const groupOf = (id: string): string => id.split(".", 1)[0] ?? id;

const indexOf = (id: string): number => (id.includes(".") ? Number(id.slice(id.indexOf(".") + 1)) : -1);

/** Each job with its instances behind it. An instance may be one that its matrix does not have any more. */
function jobIds(ids: readonly string[]): string[] {
  const groups = new Set(ids.map(groupOf));
  const known = [...new Set(ids)];
  return [...groups].flatMap((group) =>
    known.filter((id) => groupOf(id) === group).toSorted((a, b) => indexOf(a) - indexOf(b)),
  );
}

interface Child<T extends KubeObject> {
  readonly job: string;
  readonly attempt: number;
  readonly object: T;
}

function childrenBy<T extends KubeObject>(owner: WorkflowRun, objects: readonly T[]): Child<T>[] {
  return objects.flatMap((object) => {
    const job = object.metadata.labels?.[labels.job];
    if (job === undefined || !isChildOf(object, owner)) return [];
    return [{ job, attempt: Number(object.metadata.labels?.[labels.attempt] ?? 1), object }];
  });
}

/** Those that have left something, and the current one. */
function attemptsOf(id: string, children: readonly Child<KubeObject>[], current: number | undefined): number[] {
  const numbers = children.filter(({ job }) => job === id).map(({ attempt }) => attempt);
  const all = new Set([...numbers, ...(current === undefined ? [] : [current])]);
  return [...all].toSorted((a, b) => a - b);
}

function addCurrent({ steps = [] }: JobStatus, add: (runName: string, step: string) => void): void {
  for (const step of steps) {
    for (const { runName } of [step, ...(step.steps ?? [])]) if (runName !== undefined) add(runName, step.name);
  }
}

/** The steps of a job come one after the other. */
function byStart({ object: a }: Child<Run>, { object: b }: Child<Run>): number {
  const [first, second] = [startOf(a), startOf(b)];
  return first === second ? 0 : first < second ? -1 : 1;
}

const startOf = ({ status, metadata }: Run): string => status?.startTime ?? metadata.creationTimestamp ?? "";

const stepOf = ({ metadata }: Run): string => metadata.labels?.[labels.step] ?? metadata.name;

/** What was never started had no Run. */
const hasRun = ({ phase, startTime }: NonNullable<JobStatus["attempts"]>[number]): boolean =>
  phase !== "Skipped" && startTime !== undefined;

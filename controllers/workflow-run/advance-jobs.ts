import type { JobStatus, WorkflowRunStatus } from "#api/kinds/workflow-run.ts";
import type { Work } from "#api/work.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import { isBad } from "#machines/derive.ts";
import { type JobEffect, type JobEvent, jobMachine, jobStatus, newJob, restoreJob } from "#machines/job.ts";
import { jobMatrixMachine, jobMatrixStatus, restoreJobMatrix } from "#machines/job-matrix.ts";
import {
  type JobWorkflowEffect,
  jobWorkflowMachine,
  jobWorkflowStatus,
  restoreJobWorkflow,
} from "#machines/job-workflow.ts";
import { settle } from "#machines/lib/settle.ts";
import { instanceKey, instancesOf } from "#workflows/matrix.ts";
import type { JobPlan, StrategyPlan, WorkflowPlan } from "#workflows/plan.ts";
import { type Instance, memberOf, runValues } from "#workflows/values.ts";
import { advanceSteps, type PlacedEffect } from "./advance-steps.ts";
import { Budget } from "./budget.ts";
import { newInstance } from "./instances.ts";
import { headOf, inputsOf, type JobContext } from "./job-context.ts";
import { observeCall } from "./observe-call.ts";
import { observeJob } from "./observe-job.ts";
import { observeMatrix } from "./observe-matrix.ts";
import { type Ending, endingOf } from "./observe-needs.ts";
import type { Seen } from "./seen.ts";

export type EffectOfJob = (JobEffect | JobWorkflowEffect | PlacedEffect) & { readonly job: string };

/** One pass over the jobs of a run. */
interface Pass {
  readonly seen: Seen;
  readonly plan: WorkflowPlan;
  readonly ending: Ending | undefined;
  readonly isSuspended: boolean;
  readonly now: number;
  /** All jobs as far as the pass has come. */
  readonly jobs: Record<string, JobStatus>;
  readonly budget: Budget;
  readonly add: (effect: EffectOfJob) => void;
  /** Jobs at work: instances of a matrix each by itself. */
  running: number;
  readonly limit: number;
}

/**
 * The jobs after this pass; the same object when none has moved. Jobs are taken in an order in which every job comes after those it
 * needs, so that whatever became possible happens in this pass.
 */
export function* advanceJobs(
  seen: Seen,
  plan: WorkflowPlan,
  status: WorkflowRunStatus,
  ending: Ending | undefined,
  now: number,
  add: (effect: EffectOfJob) => void,
): Work<Record<string, JobStatus>> {
  const before = status.jobs ?? {};
  const pass: Pass = {
    seen,
    plan,
    ending,
    // One that ends does not wait: shutdown beats suspension, also that of a run above.
    isSuspended: status.phase !== "Stopping" && (status.phase === "Suspended" || seen.heldBy !== undefined),
    now,
    jobs: { ...before },
    budget: new Budget(seen.run.status),
    add,
    running: Object.values(before).filter(isAtWork).length,
    limit: seen.run.spec.parallelism ?? Number.POSITIVE_INFINITY,
  };
  let changed = false;
  for (const id of plan.order) {
    const job = plan.jobs.get(id);
    if (job === undefined) continue;
    const moved = job.strategy === undefined ? advanceOne(pass, job) : yield* advanceMatrix(pass, job, job.strategy);
    changed = moved || changed;
    yield;
  }
  return changed ? pass.jobs : before;
}

/** Whether it failed by itself, where that counts: not where a Retry that means others of its matrix has kept it. */
const isFailure = ({ seen }: Pass, job: JobStatus): boolean =>
  job.phase === "Failed" && isBad(job) && (job.opened?.runAttempt ?? 1) === (seen.run.status?.attempt ?? 1);

/** Whether a job has a place under `spec.parallelism`. */
const isAtWork = ({ phase, instances }: JobStatus): boolean =>
  instances === undefined && (phase === "Running" || phase === "Suspended" || phase === "Stopping");

interface InstanceOf {
  readonly instance?: Instance;
  /** What ends it, if not the end of the run. */
  readonly ending?: Ending | undefined;
  /** Whether as many instances are at work as may be. */
  readonly isFull?: boolean;
}

/** Moves a job without a matrix, or an instance of one; says whether it has moved. */
function advanceOne(pass: Pass, job: JobPlan, of: InstanceOf = {}): boolean {
  const { id } = job;
  const old = memberOf(pass.jobs, id) ?? newJob();
  if (hasEnded(old.phase)) return false;
  const context: JobContext = {
    ...contextOf(pass, job),
    ...(of.instance !== undefined && { instance: of.instance }),
  };
  const ending = endingOf(pass.ending, context, old) ?? of.ending;
  const hasPlace = !pass.isSuspended && pass.running < pass.limit && of.isFull !== true;
  const next =
    job.work.kind === "steps"
      ? advanceJob(pass, context, old, ending, hasPlace)
      : advanceCall(pass, context, old, ending, hasPlace);
  if (next === old) return false;
  pass.running += Number(isAtWork(next)) - Number(isAtWork(old));
  pass.jobs[id] = next;
  return true;
}

const contextOf = ({ seen, plan, jobs, ending, isSuspended, now }: Pass, job: JobPlan): JobContext => ({
  seen,
  plan,
  job,
  jobs,
  values: runValues(seen.run, inputsOf(seen)),
  isSuspended,
  isStopping: ending?.cleansUp === true,
  isTerminating: ending?.reason === "Terminated",
  now,
});

function advanceJob(
  pass: Pass,
  context: JobContext,
  old: JobStatus,
  ending: Ending | undefined,
  hasPlace: boolean,
): JobStatus {
  const { id } = context.job;
  const stored = memberOf(context.seen.run.status?.jobs, id);
  const settled = settle({
    machine: jobMachine,
    snapshot: restoreJob(old),
    observe: (snapshot): JobEvent | undefined => {
      const status = jobStatus(snapshot);
      if (status.phase === "Running" || status.phase === "Suspended" || status.phase === "Stopping") {
        const { steps, artifacts, effects } = advanceSteps(context, status, stored, pass.budget);
        for (const effect of effects) pass.add({ ...effect, job: id });
        if (steps !== undefined) return { type: "STEPS", steps, artifacts };
      }
      return observeJob(context, status, stored, ending, hasPlace, pass.budget);
    },
  });
  for (const effect of settled.effects) pass.add({ ...effect, job: id });
  return settled.changed ? jobStatus(settled.snapshot) : old;
}

function advanceCall(
  pass: Pass,
  context: JobContext,
  old: JobStatus,
  ending: Ending | undefined,
  hasPlace: boolean,
): JobStatus {
  const { id } = context.job;
  const stored = memberOf(context.seen.run.status?.jobs, id);
  const settled = settle({
    machine: jobWorkflowMachine,
    snapshot: restoreJobWorkflow(old),
    observe: (snapshot) => observeCall(context, jobWorkflowStatus(snapshot), stored, ending, hasPlace, pass.budget),
  });
  for (const effect of settled.effects) pass.add({ ...effect, job: id });
  return settled.changed ? jobWorkflowStatus(settled.snapshot) : old;
}

/** Moves a job with a matrix and its instances. */
function* advanceMatrix(pass: Pass, job: JobPlan, strategy: StrategyPlan): Work<boolean> {
  const moved = advanceGroup(pass, job, strategy);
  const { instances = 0, phase } = memberOf(pass.jobs, job.id) ?? newJob();
  if (phase !== "Running") return moved;
  const isMoved = yield* advanceInstances(pass, job, strategy, instances);
  return (isMoved && advanceGroup(pass, job, strategy)) || isMoved || moved;
}

function advanceGroup(pass: Pass, job: JobPlan, strategy: StrategyPlan): boolean {
  const old = memberOf(pass.jobs, job.id) ?? newJob();
  if (hasEnded(old.phase)) return false;
  const context = contextOf(pass, job);
  const settled = settle({
    machine: jobMatrixMachine,
    snapshot: restoreJobMatrix(old),
    observe: (snapshot) => {
      const status = jobMatrixStatus(snapshot);
      const instances = instancesIn(pass.jobs, job.id, status.instances ?? 0);
      // Its instances are listed with it: in the pass that knows their number they are not there yet.
      if (status.phase === "Running" && instances.length === 0) return undefined;
      return observeMatrix(context, strategy, status, instances, endingOf(pass.ending, context, status), pass.budget);
    },
  });
  if (!settled.changed) return false;
  const next = jobMatrixStatus(settled.snapshot);
  pass.jobs[job.id] = next;
  if (old.phase === "Waiting" && next.phase === "Running") {
    const known = instancesOf(job.id, strategy.matrix, headOf(context));
    if (known.ok) for (const { key, values } of known.instances) pass.jobs[key] = newInstance(old, values);
  }
  return true;
}

/** The instances of a matrix that are listed, with their ids. */
function instancesIn(jobs: Readonly<Record<string, JobStatus>>, id: string, count: number): [string, JobStatus][] {
  const keys = Array.from({ length: count }, (_, index) => instanceKey(id, index));
  return keys.flatMap((key) => {
    const status = memberOf(jobs, key);
    return status === undefined ? [] : [[key, status]];
  });
}

function* advanceInstances(pass: Pass, job: JobPlan, strategy: StrategyPlan, total: number): Work<boolean> {
  const { maxParallel = total, failFast } = strategy;
  let isMoved = false;
  const before = instancesIn(pass.jobs, job.id, total);
  let running = before.filter(([, status]) => isAtWork(status)).length;
  let failed = failFast ? before.find(([, status]) => isFailure(pass, status))?.[0] : undefined;
  for (let index = 0; index < total; index++) {
    const key = instanceKey(job.id, index);
    const old = memberOf(pass.jobs, key) ?? newJob();
    if (hasEnded(old.phase)) continue;
    const ending = failed === undefined ? undefined : endedBy(failed);
    const instance = { job: job.id, index, total, values: { ...(old.matrix as object | undefined) } };
    yield;
    if (!advanceOne(pass, { ...job, id: key }, { instance, ending, isFull: running >= maxParallel })) continue;
    isMoved = true;
    const next = pass.jobs[key] ?? old;
    running += Number(isAtWork(next)) - Number(isAtWork(old));
    if (failFast && isFailure(pass, next)) failed ??= key;
  }
  return isMoved;
}

const endedBy = (id: string): Ending => ({
  reason: "InstanceFailed",
  message: `job ${id} failed, and fail-fast ends the others`,
});

import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import type { AppliedAction, JobStatus, StepStatus, WorkflowRunStatus } from "#api/kinds/workflow-run.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import { type JobEffect, type JobEvent, jobMachine, jobStatus, newJob, restoreJob } from "#machines/job.ts";
import { cancelReasons } from "#machines/job-status.ts";
import { settle, step } from "#machines/lib/settle.ts";
import { restoreStep, type StepEffect, stepMachine, stepStatus } from "#machines/step.ts";
import {
  restoreWorkflowRun,
  type WorkflowRunEffect,
  type WorkflowRunEvent,
  workflowRunMachine,
  workflowRunStatus,
} from "#machines/workflow-run.ts";
import { stepsOf, type WorkflowPlan } from "#workflows/plan.ts";
import { drain } from "./actions/drain.ts";
import type { JobContext } from "./job-context.ts";
import { type Ending, observeJob } from "./observe-job.ts";
import { observeRun } from "./observe-run.ts";
import { maxStatusBytes, observeStep } from "./observe-step.ts";
import type { Seen } from "./seen.ts";

/** What is to be done once the status is stored, with the job that it is for. */
export type Effect =
  | (WorkflowRunEffect & { readonly job?: undefined })
  | (JobEffect & { readonly job: string })
  | (StepEffect & { readonly job: string });

export interface Advanced {
  readonly status: WorkflowRunStatus;
  readonly changed: boolean;
  readonly effects: readonly Effect[];
  /** What was made of the actions of this pass. */
  readonly answers: readonly AppliedAction[];
  /** Those of them that changed something. */
  readonly applied: readonly AppliedAction[];
}

/**
 * One pass over a WorkflowRun, bottom-up: steps, then their job, then the run, each by its own machine. Jobs are taken
 * in an order in which every job comes after those it needs, so that whatever became possible happens in this pass.
 */
export function advance(seen: Seen, now: number): Advanced {
  const before = restoreWorkflowRun(seen.run.status);
  const effects = new Map<string, Effect>();
  const add = (effect: Effect) => effects.set(JSON.stringify(effect), effect);

  const { told, pending } = seen.inbox;
  const tidied =
    told.length === 0 ? before : step(workflowRunMachine, before, { type: "FORGET_ACTIONS", uids: told }).snapshot;
  const drained = drain(tidied, pending, { run: seen.run, now });
  const settled = settle({
    machine: workflowRunMachine,
    snapshot: drained.snapshot,
    observe: (snapshot): WorkflowRunEvent | undefined => {
      const status = workflowRunStatus(snapshot);
      const plan = seen.source.kind === "plan" && seen.source.compiled.ok ? seen.source.compiled.plan : undefined;
      if (plan !== undefined && (status.phase === "Running" || status.phase === "Stopping")) {
        const jobs = advanceJobs(seen, plan, status, now, add);
        if (jobs !== status.jobs) return { type: "JOBS", jobs };
      }
      return observeRun(seen, status, now);
    },
  });
  for (const effect of settled.effects) add(effect);
  const { answers, applied } = drained;
  // A replay after a crash must find all of them: one that changed nothing would perhaps change something the next time.
  const recorded =
    settled.snapshot !== before && answers.length > 0
      ? step(workflowRunMachine, settled.snapshot, { type: "RECORD_ACTIONS", records: answers }).snapshot
      : settled.snapshot;
  const status = workflowRunStatus(recorded);
  const due = [...effects.values()].filter((effect) => isDue(effect, status));
  due.sort((a, b) => order.indexOf(a.type) - order.indexOf(b.type));
  return { status, changed: recorded !== before, effects: due, answers, applied };
}

/** Whether the status at the end of the pass still asks for a child that was ordered on the way there. */
function isDue(effect: Effect, { jobs }: WorkflowRunStatus): boolean {
  switch (effect.type) {
    case "createWorkspace": {
      const job = jobs?.[effect.job];
      return job !== undefined && !hasEnded(job.phase) && (job.collision ?? 0) === effect.collision;
    }
    case "createRun": {
      const step = jobs?.[effect.job]?.steps?.find(({ name }) => name === effect.step);
      return step?.phase === "Running" && step.runName === effect.runName;
    }
    default:
      return true;
  }
}

/** A workspace comes before the Runs that name it, and a Run that is replaced goes before its successor comes. */
const order: readonly Effect["type"][] = ["createSnapshot", "createWorkspace", "deleteRun", "createRun", "cancelRun"];

/** The jobs after this pass; the same object when none has moved. */
function advanceJobs(
  seen: Seen,
  plan: WorkflowPlan,
  status: WorkflowRunStatus,
  now: number,
  add: (effect: Effect) => void,
): Record<string, JobStatus> {
  const jobs = status.jobs ?? {};
  const ending = endingOf(status);
  let after: Record<string, JobStatus> = jobs;
  let running = Object.values(jobs).filter(({ phase }) => phase === "Running" || phase === "Stopping").length;
  const limit = seen.run.spec.parallelism ?? Number.POSITIVE_INFINITY;
  for (const id of plan.order) {
    const job = plan.jobs.get(id);
    const old = jobs[id] ?? newJob();
    if (job === undefined || hasEnded(old.phase)) continue;
    const context: JobContext = { seen, plan, job, jobs: after, now };
    const next = advanceJob(context, old, ending, running < limit, add);
    if (next === old) continue;
    if (next.phase === "Running" && old.phase !== "Running") running++;
    if (hasEnded(next.phase) && old.phase === "Running") running--;
    after = { ...after, [id]: next };
  }
  return after;
}

function endingOf({ phase, reason, message }: WorkflowRunStatus): Ending | undefined {
  if (phase !== "Stopping") return undefined;
  return {
    reason: cancelReasons.find((each) => each === reason) ?? "TimedOut",
    message: message ?? "the run has to end",
  };
}

function advanceJob(
  context: JobContext,
  old: JobStatus,
  ending: Ending | undefined,
  hasPlace: boolean,
  add: (effect: Effect) => void,
): JobStatus {
  const id = context.job.id;
  const stored = context.seen.run.status?.jobs?.[id];
  const settled = settle({
    machine: jobMachine,
    snapshot: restoreJob(old),
    observe: (snapshot): JobEvent | undefined => {
      const status = jobStatus(snapshot);
      if (status.phase === "Running" || status.phase === "Stopping") {
        const { steps, artifacts, effects } = advanceSteps(context, status, stored);
        for (const effect of effects) add({ ...effect, job: id });
        if (steps !== undefined) return { type: "STEPS", steps, artifacts };
      }
      return observeJob(context, status, stored, ending, hasPlace);
    },
  });
  for (const effect of settled.effects) add({ ...effect, job: id });
  return settled.changed ? jobStatus(settled.snapshot) : old;
}

interface AdvancedSteps {
  /** Undefined when no step has moved. */
  readonly steps: StepStatus[] | undefined;
  /** Of the child Runs that succeeded in this pass, in the order of the steps. */
  readonly artifacts: readonly ArtifactRef[];
  readonly effects: readonly StepEffect[];
}

/** Only the step at work and the one whose turn it is can move; the others are not even restored. */
function advanceSteps(context: JobContext, job: JobStatus, stored: JobStatus | undefined): AdvancedSteps {
  const effects: StepEffect[] = [];
  const artifacts: ArtifactRef[] = [];
  let steps = job.steps ?? [];
  let room: number | undefined;
  const roomLeft = () => {
    room ??= maxStatusBytes - JSON.stringify(context.seen.run.status ?? {}).length;
    return room;
  };
  for (const [index, plan] of stepsOf(context.job).entries()) {
    const old = steps[index];
    if (old === undefined || hasEnded(old.phase)) continue;
    const settled = settle({
      machine: stepMachine,
      snapshot: restoreStep(old),
      observe: (snapshot) =>
        observeStep(
          context,
          { ...job, steps },
          plan,
          stepStatus(snapshot),
          stored?.steps?.find(({ name }) => name === plan.name),
          roomLeft,
        ),
    });
    effects.push(...settled.effects);
    if (!settled.changed) break; // the steps after it have not had their turn
    const next = stepStatus(settled.snapshot);
    if (next.phase === "Succeeded") artifacts.push(...artifactsOf(context, next));
    steps = steps.with(index, next);
  }
  return { steps: steps === job.steps ? undefined : steps, artifacts, effects };
}

function artifactsOf({ seen }: JobContext, step: StepStatus): readonly ArtifactRef[] {
  const found = seen.runs.get(step.runName ?? "");
  return found?.kind === "ours" ? (found.object.status?.artifactRefs ?? []) : [];
}

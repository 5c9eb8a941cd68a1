import type { AppliedAction, JobStatus, StepStatus, WorkflowRunStatus } from "#api/kinds/workflow-run.ts";
import { clip } from "#api/text.ts";
import { finish, type Work } from "#api/work.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import { cancelReasons } from "#machines/job-status.ts";
import { settling, step } from "#machines/lib/settle.ts";
import {
  restoreWorkflowRun,
  type WorkflowRunEffect,
  type WorkflowRunEvent,
  workflowRunMachine,
  workflowRunStatus,
} from "#machines/workflow-run.ts";
import { drain } from "./actions/drain.ts";
import { advanceJobs, type EffectOfJob } from "./advance-jobs.ts";
import { Budget, shortMessage } from "./budget.ts";
import type { Ending } from "./observe-needs.ts";
import { observeRun } from "./observe-run.ts";
import type { Seen } from "./seen.ts";
import { observeSpec } from "./spec-fields.ts";

/** What is to be done once the status is stored, with the job that it is for. */
export type Effect = (WorkflowRunEffect & { readonly job?: undefined }) | EffectOfJob;

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
  return finish(advancing(seen, now));
}

/** The same, job by job: hundreds of instances that begin at once would keep a controller from everything else for too long. */
export function* advancing(seen: Seen, now: number): Work<Advanced> {
  const before = restoreWorkflowRun(seen.run.status);
  const effects = new Map<string, Effect>();
  const add = (effect: Effect) => effects.set(JSON.stringify(effect), effect);

  const { told, pending } = seen.inbox;
  const tidied =
    told.length === 0 ? before : step(workflowRunMachine, before, { type: "FORGET_ACTIONS", uids: told }).snapshot;
  const informed = observeSpec(seen, tidied, now);
  const plan = seen.source.kind === "plan" && seen.source.compiled.ok ? seen.source.compiled.plan : undefined;
  const budget = new Budget(seen.run.status);
  const drained = drain(informed, pending, {
    run: seen.run,
    ...(plan !== undefined && { plan }),
    isGraphUnavailable: seen.source.kind === "unavailable",
    ...(seen.heldBy !== undefined && { heldBy: seen.heldBy }),
    waitingBelow: () => seen.waitingBelow(),
    runUids: new Set(
      [...seen.runs.values()].flatMap((found) => (found.kind === "ours" ? [found.object.metadata.uid ?? ""] : [])),
    ),
    room: (bytes) => budget.take(bytes),
    now,
  });
  const isReopened = informed.hasTag("terminal") && !drained.snapshot.hasTag("terminal");
  const settled = yield* settling({
    machine: workflowRunMachine,
    snapshot: drained.snapshot,
    *observe(snapshot): Work<WorkflowRunEvent | undefined> {
      if (isReopened) return undefined;
      const status = workflowRunStatus(snapshot);
      const goes = status.phase === "Running" || status.phase === "Suspended" || status.phase === "Stopping";
      if (plan !== undefined && goes) {
        const jobs = yield* advanceJobs(seen, plan, status, endingOf(status), now, add);
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
      if (job === undefined || hasEnded(job.phase)) return false;
      return (job.attempt ?? 1) === effect.attempt && (job.collision ?? 0) === effect.collision;
    }
    case "createRun": {
      const step = stepOf(jobs?.[effect.job], effect);
      return step?.phase === "Running" && step.runName === effect.runName;
    }
    case "createWorkflowRun": {
      const job = jobs?.[effect.job];
      return job?.phase === "Running" && job.workflowRunName === effect.workflowRunName;
    }
    default:
      return true;
  }
}

/** A workspace comes before the Runs that name it, and a Run that is replaced goes before its successor comes. */
const order: readonly Effect["type"][] = [
  "createSnapshot",
  "createWorkspace",
  "deleteRun",
  "createRun",
  "createWorkflowRun",
  "cancelRun",
];

/** The step of a job, or of the Action that a step of it uses. */
export function stepOf(
  job: JobStatus | undefined,
  { step, parent }: { readonly step: string; readonly parent?: string },
): NonNullable<StepStatus["steps"]>[number] | undefined {
  const steps = parent === undefined ? job?.steps : job?.steps?.find(({ name }) => name === parent)?.steps;
  return steps?.find(({ name }) => name === step);
}

function endingOf({ phase, reason, message }: WorkflowRunStatus): Ending | undefined {
  if (phase !== "Stopping") return undefined;
  return {
    reason: cancelReasons.find((each) => each === reason) ?? "TimedOut",
    // The whole text stands in the status of the run; each of its jobs repeats the beginning.
    message: clip(message ?? "the run has to end", 2 * shortMessage),
    ...(reason === "Stopped" && { cleansUp: true }),
  };
}

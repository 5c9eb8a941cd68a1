import { assign, type SnapshotFrom } from "xstate";
import type { JobStatus } from "#api/kinds/workflow-run.ts";
import { charts } from "./job-parts.ts";
import * as moves from "./job-status.ts";
import { whileQueued, whileRunning } from "./job-workspace.ts";
import { checkStatus } from "./lib/persist.ts";
import { cannotStartReasons } from "./step-status.ts";

export type { JobEffect, JobEvent } from "./job-parts.ts";

/** The life of a job with steps: its phase follows from theirs. */
export const jobMachine = charts.createMachine({
  id: "job",
  description: "A job is a chain of steps that share one workspace; its phase follows from theirs.",
  context: { status: {} },
  initial: "Waiting",
  states: {
    Waiting: {
      description: "Jobs that it needs have not ended yet.",
      on: {
        READY: {
          target: "Queued",
          actions: [
            assign(({ context, event }) => ({ status: moves.ready(context.status, event) })),
            "createWorkspace",
          ],
          description: "Everything that it needs is there: its steps are listed, its workspace is created.",
          meta: { writer: "controller" },
        },
        CANNOT_START: {
          target: "Failed",
          actions: assign(({ context, event }) => ({ status: moves.end(context.status, event) })),
          description: "An artifact or a value that one of its steps needs does not exist.",
          meta: { writer: "controller", reason: cannotStartReasons },
        },
        SKIP: {
          target: "Skipped",
          actions: assign(({ context, event }) => ({ status: moves.end(context.status, event) })),
          description: "Its `if` does not hold, a job that it needs did not succeed, or the workflow ends.",
          meta: { writer: "controller", reason: moves.jobSkipReasons },
        },
      },
    },
    Queued: {
      description:
        "Ready; waits for a place under spec.parallelism, or for the time of its next attempt. Its workspace exists or is being created.",
      on: {
        START: {
          target: "Running",
          actions: assign(({ context, event }) => ({ status: moves.start(context.status, event) })),
          description: "There is a place for it: its first step may start.",
          meta: { writer: "controller" },
        },
        SKIP: {
          target: "Skipped",
          actions: assign(({ context, event }) => ({ status: moves.end(context.status, event) })),
          description: "The workflow ends before there was a place for it.",
          meta: { writer: "controller", reason: moves.jobSkipReasons },
        },
        ...whileQueued,
      },
    },
    Running: {
      description: "Its steps run one after the other.",
      on: {
        STEPS: [
          {
            guard: { type: "aGateWaits", params: ({ event }) => event },
            target: "Suspended",
            actions: assign(({ context, event }) => ({ status: moves.followSteps(context.status, event) })),
            description: "A gate waits from now on; artifacts of a step that succeeded replace those of the same name.",
            meta: { writer: "controller", reason: "WaitsForResume" },
          },
          {
            guard: { type: "stepsChanged", params: ({ event }) => event },
            actions: assign(({ context, event }) => ({ status: moves.followSteps(context.status, event) })),
            description: "A step moved; artifacts of a step that succeeded replace those of the same name.",
            meta: { writer: "controller" },
          },
        ],
        STEPS_SUCCEEDED: {
          guard: "everyStepSucceeded",
          target: "Succeeded",
          actions: assign(({ context, event }) => ({ status: moves.succeed(context.status, event) })),
          description: "Every step ended well; its outputs are recorded.",
          meta: { writer: "controller" },
        },
        STEP_FAILED: {
          guard: "aStepFailed",
          target: "Failed",
          actions: assign(({ context, event }) => ({ status: moves.failByStep(context.status, event) })),
          description: "Every step ended, not all of them well.",
          meta: { writer: "controller", reason: ["StepFailed", "WorkspaceLost", ...cannotStartReasons] },
        },
        OUTPUTS_FAILED: {
          guard: "everyStepSucceeded",
          target: "Failed",
          actions: assign(({ context, event }) => ({ status: moves.close(context.status, event) })),
          description: "Every step ended well, but an output of the job has no value or does not fit.",
          meta: { writer: "controller", reason: moves.outputsFailedReasons },
        },
        ...whileRunning,
        TIME_OUT: {
          target: "Stopping",
          actions: assign(({ context, event }) => ({
            status: moves.askToEnd(context.status, { ...event, reason: "Timeout" }),
          })),
          description: "It took longer than its timeout: the step at work is asked to end.",
          meta: { writer: "controller", reason: "Timeout" },
        },
        RETRY: {
          guard: "mayRepeat",
          target: "Queued",
          actions: [
            assign(({ context, event }) => ({ status: moves.repeat(context.status, event) })),
            "createWorkspace",
          ],
          description: "The attempt failed: another one, from the first step, in a new workspace.",
          meta: { writer: "controller", reason: "BackingOff" },
        },
        CANCEL: {
          target: "Stopping",
          actions: assign(({ context, event }) => ({ status: moves.askToEnd(context.status, event) })),
          description: "The workflow must end: the step at work is asked to.",
          meta: { writer: "controller", reason: moves.jobCancelReasons },
        },
      },
    },
    Suspended: {
      description: "A gate of it waits for a Resume; its time goes on, and its files stay.",
      on: {
        STEPS: {
          guard: { type: "stepsChanged", params: ({ event }) => event },
          target: "Running",
          actions: assign(({ context, event }) => ({ status: moves.followSteps(context.status, event) })),
          description: "The gate waits no longer.",
          meta: { writer: "controller" },
        },
        TIME_OUT: {
          target: "Stopping",
          actions: assign(({ context, event }) => ({
            status: moves.askToEnd(context.status, { ...event, reason: "Timeout" }),
          })),
          description: "It took longer than its timeout: the gate has to end.",
          meta: { writer: "controller", reason: "Timeout" },
        },
        CANCEL: {
          target: "Stopping",
          actions: assign(({ context, event }) => ({ status: moves.askToEnd(context.status, event) })),
          description: "The workflow must end, and the gate with it.",
          meta: { writer: "controller", reason: moves.jobCancelReasons },
        },
      },
    },
    Stopping: {
      description: "It must end: the step at work was asked to, and steps that clean up may still run.",
      on: {
        STEPS: {
          guard: { type: "stepsChanged", params: ({ event }) => event },
          actions: assign(({ context, event }) => ({ status: moves.setSteps(context.status, event) })),
          description: "A step ended as asked; one that cleans up began, moved, or does not apply.",
          meta: { writer: "controller" },
        },
        STEPS_ENDED: [
          {
            guard: "endedAsAsked",
            target: "Cancelled",
            actions: assign(({ context, event }) => ({
              status: moves.stopped(context.status, { ...event, continued: false }),
            })),
            description:
              "No step is at work or is to clean up any more, as the workflow wanted; the others are skipped.",
            meta: { writer: "controller", reason: moves.jobCancelReasons },
          },
          {
            guard: "noStepIsActive",
            target: "Failed",
            actions: assign(({ context, event }) => ({ status: moves.stopped(context.status, event) })),
            description: "No step is at work or is to clean up any more in a job that could not go on.",
            meta: { writer: "controller", reason: ["NameCollision", "ChildRefused", "WorkspaceLost", "Timeout"] },
          },
        ],
        RETRY: {
          guard: "mayRepeat",
          target: "Queued",
          actions: [
            assign(({ context, event }) => ({ status: moves.repeat(context.status, event) })),
            "createWorkspace",
          ],
          description: "The step has ended as asked, and the job may begin again: another attempt in a new workspace.",
          meta: { writer: "controller", reason: "BackingOff" },
        },
      },
    },
    Succeeded: { tags: ["terminal"], description: "Every step ended well." },
    Failed: { tags: ["terminal"], description: "A step ended badly, or the job could not be started or continued." },
    Cancelled: { tags: ["terminal"], description: "It was ended because the workflow had to end." },
    Skipped: { tags: ["terminal"], description: "It never ran." },
  },
});

export type JobSnapshot = SnapshotFrom<typeof jobMachine>;

/** A job that has not begun. Its steps are listed when it becomes ready. */
export function newJob(): JobStatus {
  return { phase: "Waiting" };
}

/**
 * The snapshot of a persisted status; without a status the job has not begun.
 * @throws UnknownPhaseError, MalformedStatusError
 */
export function restoreJob(status: JobStatus | undefined): JobSnapshot {
  const persisted = status ?? newJob();
  checkStatus(jobMachine.id, persisted, Object.keys(jobMachine.states), {
    attempt: "count",
    collision: "count",
    startTime: "time",
    stopTime: "time",
    nextAttemptTime: "time",
    attempts: "list",
    artifacts: "map",
    steps: "list",
  });
  const { phase, ...fields } = persisted;
  return jobMachine.resolveState({ value: phase, context: { status: fields } });
}

/** The status to persist; the inverse of {@link restoreJob}. */
export function jobStatus(snapshot: JobSnapshot): JobStatus {
  return { phase: snapshot.value, ...snapshot.context.status };
}

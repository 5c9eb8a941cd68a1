import { assign, emit, type SnapshotFrom, setup } from "xstate";
import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import type { JobStatus, StepStatus } from "#api/kinds/workflow-run.ts";
import { isActive, mustStartAnother, noStepEnded, sumOfSteps } from "./derive.ts";
import * as moves from "./job-status.ts";
import type { TransitionMeta } from "./lib/meta.ts";
import { checkStatus } from "./lib/persist.ts";
import { type CannotStartReason, cannotStartReasons, hasNamesLeft } from "./step-status.ts";

/**
 * `now` is milliseconds since the epoch everywhere; the workflow-run controller fires every event. `continued` means: should it fail
 * now, that is no failure of the run, by its `continue-on-error`.
 */
export type JobEvent =
  /** Every job that it needs ended, and its `if` holds; `steps` are the names of its steps in order. */
  | { type: "READY"; steps: readonly string[]; now: number }
  /** It is due, and an expression or an artifact that it needs has no value. */
  | { type: "CANNOT_START"; reason: CannotStartReason; message: string; continued?: boolean; now: number }
  /** It will never run. */
  | { type: "SKIP"; reason: moves.JobSkipReason; message: string; now: number }
  /** There is a place for it under `spec.parallelism`. */
  | { type: "START"; now: number }
  /** Its steps as their machines left them, and the artifacts of child Runs that succeeded since the last time. */
  | { type: "STEPS"; steps: StepStatus[]; artifacts?: readonly ArtifactRef[] }
  /** Derived: every step ended well (see derive.ts); `outputs` are the job's own. */
  | { type: "STEPS_SUCCEEDED"; outputs?: Record<string, string>; now: number }
  /** Derived: every step ended, not all of them well. */
  | { type: "STEP_FAILED"; continued?: boolean; now: number }
  /** Derived: it is stopping and no step is at work any more. */
  | { type: "STEPS_ENDED"; continued?: boolean; now: number }
  /** Every step ended well, but an output of the job has no value or does not fit. */
  | { type: "OUTPUTS_FAILED"; reason: moves.OutputsFailedReason; message: string; continued?: boolean; now: number }
  /** Its workspace is lost although a step has already used it. */
  | { type: "WORKSPACE_LOST"; message: string; continued?: boolean; now: number }
  /** Its workspace was lost before any step was claimed. */
  | { type: "REPLACE_WORKSPACE"; message: string; now: number }
  /** The workspace was ordered and does not exist, as a live read has confirmed; no step was claimed. */
  | { type: "WORKSPACE_MISSING" }
  /** An object of another owner has the name of its workspace; no step was claimed (else it is WORKSPACE_LOST). */
  | { type: "NAME_TAKEN"; message: string; now: number }
  /** The API server will not have the workspace. */
  | { type: "WORKSPACE_REFUSED"; message: string; now: number }
  /** It has taken longer than its timeout. */
  | { type: "TIME_OUT"; message: string; continued?: boolean; now: number }
  /** The attempt has failed, for that reason, and its `retry` allows another one. */
  | ({ type: "RETRY" } & moves.Repeat)
  /** It must end. */
  | { type: "CANCEL"; reason: moves.JobCancelReason; message: string; now: number };

/** The name follows from WorkflowRun UID, job, attempt and collision (`jobWorkspaceName`). */
export type JobEffect =
  /** Create the workspace of this attempt; an existing one with our owner reference is the same workspace. */
  { type: "createWorkspace"; attempt: number; collision: number };

export interface JobContext {
  /** Everything of the status but the phase, which is the state. */
  status: moves.JobFields;
}

/** The life of a job with steps: its phase follows from theirs. */
export const jobMachine = setup({
  types: {
    context: {} as JobContext,
    events: {} as JobEvent,
    emitted: {} as JobEffect,
    tags: {} as "terminal",
    transitionMeta: {} as TransitionMeta,
  },
  actions: {
    createWorkspace: emit(({ context }) => ({
      type: "createWorkspace" as const,
      attempt: context.status.attempt ?? 1,
      collision: context.status.collision ?? 0,
    })),
  },
  guards: {
    /** A step, or an artifact, differs from what stands there. */
    stepsChanged: ({ context }, event: { steps: StepStatus[]; artifacts?: readonly ArtifactRef[] }) =>
      moves.stepsChanged(context.status, event),
    /** The steps are others than those that stand there, and one of them is a gate that waits. */
    aGateWaits: ({ context }, event: { steps: StepStatus[]; artifacts?: readonly ArtifactRef[] }) =>
      moves.stepsChanged(context.status, event) && event.steps.some(({ phase }) => phase === "Suspended"),
    everyStepSucceeded: ({ context }) => sumOfSteps(context.status.steps ?? []) === "Succeeded",
    aStepFailed: ({ context }) => sumOfSteps(context.status.steps ?? []) === "Failed",
    aStepIsActive: ({ context }) => (context.status.steps ?? []).some(isActive),
    /** No step is at work, and it was the workflow that wanted the job to end. */
    endedAsAsked: ({ context }) =>
      !(context.status.steps ?? []).some(isActive) && moves.isCancelReason(context.status.reason),
    /** No step is at work, and it was not the workflow that wanted the job to end. */
    mayRepeat: ({ context }) =>
      !(context.status.steps ?? []).some(isActive) && !moves.isCancelReason(context.status.reason),
    noStepIsActive: ({ context }) => !(context.status.steps ?? []).some(isActive),
    /** Another step must still start, and none is at work that could be the last to need the files. */
    mustStartAnother: ({ context }) => mustStartAnother(context.status.steps ?? []),
    /** No step has ended but those that were skipped, so no file can be missed. */
    noStepEnded: ({ context }) => noStepEnded(context.status.steps ?? []),
    /** The first step is at work, so no file can be missed. */
    onlyFirstStepIsActive: ({ context }) =>
      noStepEnded(context.status.steps ?? []) && (context.status.steps ?? []).some(isActive),
    /** No step has ended, and not every name has been tried. */
    canReplaceWorkspace: ({ context }) => noStepEnded(context.status.steps ?? []) && hasNamesLeft(context.status),
    /** Not every name has been tried. */
    hasNamesLeft: ({ context }) => hasNamesLeft(context.status),
  },
}).createMachine({
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
        REPLACE_WORKSPACE: [
          {
            guard: "hasNamesLeft",
            actions: [assign(({ context }) => ({ status: moves.renameWorkspace(context.status) })), "createWorkspace"],
            description: "The Pod of its workspace went before anything had run there: a new workspace.",
            meta: { writer: "controller" },
          },
          {
            target: "Failed",
            actions: assign(({ context, event }) => ({
              status: moves.end(context.status, { ...event, reason: "WorkspaceLost" }),
            })),
            description: "Its workspace was lost again and again before anything could run there.",
            meta: { writer: "controller", reason: "WorkspaceLost" },
          },
        ],
        WORKSPACE_MISSING: {
          actions: "createWorkspace",
          description: "The workspace was ordered and is not there: created, again if somebody deleted it.",
          meta: { writer: "controller" },
        },
        NAME_TAKEN: [
          {
            guard: "hasNamesLeft",
            actions: [assign(({ context }) => ({ status: moves.renameWorkspace(context.status) })), "createWorkspace"],
            description: "The name belongs to somebody else's workspace: the next name is tried.",
            meta: { writer: "controller" },
          },
          {
            target: "Failed",
            actions: assign(({ context, event }) => ({
              status: moves.end(context.status, { ...event, reason: "NameCollision" }),
            })),
            description: "Every name belongs to somebody else.",
            meta: { writer: "controller", reason: "NameCollision" },
          },
        ],
        WORKSPACE_REFUSED: {
          target: "Failed",
          actions: assign(({ context, event }) => ({
            status: moves.end(context.status, { ...event, reason: "ChildRefused" }),
          })),
          description: "The API server refused its workspace.",
          meta: { writer: "controller", reason: "ChildRefused" },
        },
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
        WORKSPACE_LOST: {
          guard: "mustStartAnother",
          target: "Failed",
          actions: assign(({ context, event }) => ({
            status: moves.end(context.status, { ...event, reason: "WorkspaceLost" }),
          })),
          description: "Its files are gone and another step would need them. A step at work may finish first.",
          meta: { writer: "controller", reason: "WorkspaceLost" },
        },
        REPLACE_WORKSPACE: [
          {
            guard: "canReplaceWorkspace",
            actions: [assign(({ context }) => ({ status: moves.renameWorkspace(context.status) })), "createWorkspace"],
            description: "The Pod of its workspace went before anything had run there: a new workspace.",
            meta: { writer: "controller" },
          },
          {
            guard: "onlyFirstStepIsActive",
            target: "Stopping",
            actions: assign(({ context, event }) => ({
              status: moves.stop(context.status, { ...event, reason: "WorkspaceLost" }),
            })),
            description:
              "Its workspace was lost again and again before anything could run there; its step is asked to end.",
            meta: { writer: "controller", reason: "WorkspaceLost" },
          },
          {
            guard: "noStepEnded",
            target: "Failed",
            actions: assign(({ context, event }) => ({
              status: moves.end(context.status, { ...event, reason: "WorkspaceLost" }),
            })),
            description: "Its workspace was lost again and again before anything could run there.",
            meta: { writer: "controller", reason: "WorkspaceLost" },
          },
        ],
        WORKSPACE_MISSING: {
          guard: "noStepEnded",
          actions: "createWorkspace",
          description: "The workspace was ordered and never created (a crash came between): created now.",
          meta: { writer: "controller" },
        },
        NAME_TAKEN: [
          {
            guard: "canReplaceWorkspace",
            actions: [assign(({ context }) => ({ status: moves.renameWorkspace(context.status) })), "createWorkspace"],
            description: "The name belongs to somebody else's workspace: the next name is tried.",
            meta: { writer: "controller" },
          },
          {
            guard: "onlyFirstStepIsActive",
            target: "Stopping",
            actions: assign(({ context, event }) => ({
              status: moves.stop(context.status, { ...event, reason: "NameCollision" }),
            })),
            description: "Every name belongs to somebody else; the step at work is asked to end.",
            meta: { writer: "controller", reason: "NameCollision" },
          },
          {
            guard: "noStepEnded",
            target: "Failed",
            actions: assign(({ context, event }) => ({
              status: moves.end(context.status, { ...event, reason: "NameCollision" }),
            })),
            description: "Every name belongs to somebody else.",
            meta: { writer: "controller", reason: "NameCollision" },
          },
        ],
        WORKSPACE_REFUSED: [
          {
            guard: "aStepIsActive",
            target: "Stopping",
            actions: assign(({ context, event }) => ({
              status: moves.stop(context.status, { ...event, reason: "ChildRefused" }),
            })),
            description: "The API server refused its workspace; the step at work is asked to end.",
            meta: { writer: "controller", reason: "ChildRefused" },
          },
          {
            target: "Failed",
            actions: assign(({ context, event }) => ({
              status: moves.end(context.status, { ...event, reason: "ChildRefused" }),
            })),
            description: "The API server refused its workspace.",
            meta: { writer: "controller", reason: "ChildRefused" },
          },
        ],
        TIME_OUT: [
          {
            guard: "aStepIsActive",
            target: "Stopping",
            actions: assign(({ context, event }) => ({
              status: moves.stop(context.status, { ...event, reason: "Timeout" }),
            })),
            description: "It took longer than its timeout: the step at work is asked to end.",
            meta: { writer: "controller", reason: "Timeout" },
          },
          {
            target: "Failed",
            actions: assign(({ context, event }) => ({
              status: moves.end(context.status, { ...event, reason: "Timeout" }),
            })),
            description: "It took longer than its timeout, and no step is at work.",
            meta: { writer: "controller", reason: "Timeout" },
          },
        ],
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
        CANCEL: [
          {
            guard: "aStepIsActive",
            target: "Stopping",
            actions: assign(({ context, event }) => ({ status: moves.stop(context.status, event) })),
            description: "The workflow must end: the step at work is asked to.",
            meta: { writer: "controller", reason: moves.jobCancelReasons },
          },
          {
            target: "Cancelled",
            actions: assign(({ context, event }) => ({ status: moves.end(context.status, event) })),
            description: "The workflow must end, and no step is at work.",
            meta: { writer: "controller", reason: moves.jobCancelReasons },
          },
        ],
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
            status: moves.stop(context.status, { ...event, reason: "Timeout" }),
          })),
          description: "It took longer than its timeout: the gate has to end.",
          meta: { writer: "controller", reason: "Timeout" },
        },
        CANCEL: {
          target: "Stopping",
          actions: assign(({ context, event }) => ({ status: moves.stop(context.status, event) })),
          description: "The workflow must end, and the gate with it.",
          meta: { writer: "controller", reason: moves.jobCancelReasons },
        },
      },
    },
    Stopping: {
      description: "A step was asked to end and has not ended yet.",
      on: {
        STEPS: {
          guard: { type: "stepsChanged", params: ({ event }) => event },
          actions: assign(({ context, event }) => ({ status: moves.setSteps(context.status, event) })),
          description: "A step moved.",
          meta: { writer: "controller" },
        },
        STEPS_ENDED: [
          {
            guard: "endedAsAsked",
            target: "Cancelled",
            actions: assign(({ context, event }) => ({ status: moves.stopped(context.status, { now: event.now }) })),
            description: "No step is at work any more, as the workflow wanted; those that never started are skipped.",
            meta: { writer: "controller", reason: moves.jobCancelReasons },
          },
          {
            guard: "noStepIsActive",
            target: "Failed",
            actions: assign(({ context, event }) => ({ status: moves.stopped(context.status, event) })),
            description: "No step is at work any more in a job that could not go on.",
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

import { assign, emit, type SnapshotFrom, setup } from "xstate";
import type { JobStatus } from "#api/kinds/workflow-run.ts";
import { type InstanceFailedReason, instanceFailedReasons } from "./job-matrix.ts";
import * as moves from "./job-status.ts";
import type { TransitionMeta } from "./lib/meta.ts";
import { checkStatus } from "./lib/persist.ts";
import { type CannotStartReason, cannotStartReasons, hasNamesLeft } from "./step-status.ts";

/**
 * All but READY, CANNOT_START, SKIP, START, RETRY and CANCEL tell what was seen of the child WorkflowRun; `now` is milliseconds since
 * the epoch everywhere. The workflow-run controller fires every event.
 */
export type JobWorkflowEvent =
  /** Every job that it needs ended, and its `if` holds. */
  | { type: "READY"; now: number }
  /** It is due, and a value that it hands over does not exist. */
  | { type: "CANNOT_START"; reason: CannotStartReason; message: string; continued?: boolean; now: number }
  /** It will never run. */
  | { type: "SKIP"; reason: moves.JobSkipReason; message: string; now: number }
  /** There is a place for it; `workflowRunName` is the name of the WorkflowRun to create. */
  | { type: "START"; workflowRunName: string; now: number }
  /** The child exists. */
  | { type: "CHILD_SEEN"; startTime: string }
  | { type: "CHILD_SUCCEEDED"; outputs?: Record<string, string>; now: number }
  /** `continued`: by its `continue-on-error` that is no failure of the run. */
  | {
      type: "CHILD_FAILED";
      reason: InstanceFailedReason;
      message: string;
      outputs?: Record<string, string>;
      continued?: boolean;
      now: number;
    }
  /** The child has ended after it was not needed any more. */
  | { type: "CHILD_ENDED"; outputs?: Record<string, string>; now: number }
  /** There is no such WorkflowRun: a live read has confirmed it. */
  | { type: "CHILD_MISSING"; now: number }
  /** An object of another owner has that name; `workflowRunName` is the next one to try. */
  | { type: "NAME_TAKEN"; workflowRunName: string; message: string; now: number }
  /** The API server will not have the WorkflowRun. */
  | { type: "CHILD_REFUSED"; message: string; now: number }
  /** The attempt has failed, for that reason, and its `retry` allows another one. */
  | ({ type: "RETRY" } & moves.Repeat)
  /** It must end; the child sees that by itself. */
  | { type: "CANCEL"; reason: moves.JobCancelReason; message: string; now: number };

export type JobWorkflowEffect =
  /** Create the child WorkflowRun of that name; an existing one with our owner reference is the same one. */
  { type: "createWorkflowRun"; workflowRunName: string };

export interface JobWorkflowContext {
  /** Everything of the status but the phase, which is the state. */
  status: moves.JobFields;
}

const name = (fields: moves.JobFields) => fields.workflowRunName ?? "";

/** The life of a job that is a reusable Workflow: one child WorkflowRun, created once, followed to its end. */
export const jobWorkflowMachine = setup({
  types: {
    context: {} as JobWorkflowContext,
    events: {} as JobWorkflowEvent,
    emitted: {} as JobWorkflowEffect,
    tags: {} as "terminal",
    transitionMeta: {} as TransitionMeta,
  },
  actions: {
    createWorkflowRun: emit((_, { workflowRunName }: { workflowRunName: string }) => ({
      type: "createWorkflowRun" as const,
      workflowRunName,
    })),
  },
  guards: {
    /** The child was recorded as existing, so its absence means that somebody deleted it. */
    wasSeen: ({ context }) => context.status.startTime !== undefined,
    notSeen: ({ context }) => context.status.startTime === undefined,
    /** Not every name has been tried. */
    hasNamesLeft: ({ context }) => hasNamesLeft(context.status),
  },
}).createMachine({
  id: "job-workflow",
  description: "A job that uses a Workflow is one child WorkflowRun: created once, followed to its end.",
  context: { status: {} },
  initial: "Waiting",
  states: {
    Waiting: {
      description: "Jobs that it needs have not ended yet.",
      on: {
        READY: {
          target: "Queued",
          actions: assign(({ context }) => ({ status: { ...context.status, attempt: context.status.attempt ?? 1 } })),
          description: "Everything that it needs is there.",
          meta: { writer: "controller" },
        },
        CANNOT_START: {
          target: "Failed",
          actions: assign(({ context, event }) => ({ status: moves.close(context.status, event) })),
          description: "A value that it hands over does not exist.",
          meta: { writer: "controller", reason: cannotStartReasons },
        },
        SKIP: {
          target: "Skipped",
          actions: assign(({ context, event }) => ({ status: moves.close(context.status, event) })),
          description: "Its `if` does not hold, a job that it needs did not succeed, or the workflow ends.",
          meta: { writer: "controller", reason: moves.jobSkipReasons },
        },
      },
    },
    Queued: {
      description: "Ready; waits for a place under spec.parallelism, or for the time of its next attempt.",
      on: {
        START: {
          target: "Running",
          actions: [
            assign(({ context, event }) => {
              const { reason: _reason, message: _message, nextAttemptTime: _time, ...rest } = context.status;
              return { status: { ...rest, workflowRunName: event.workflowRunName } };
            }),
            { type: "createWorkflowRun", params: ({ event }) => event },
          ],
          description: "There is a place for it: the name of the child is recorded, then the child is created.",
          meta: { writer: "controller" },
        },
        SKIP: {
          target: "Skipped",
          actions: assign(({ context, event }) => ({ status: moves.close(context.status, event) })),
          description: "The workflow ends before there was a place for it.",
          meta: { writer: "controller", reason: moves.jobSkipReasons },
        },
      },
    },
    Running: {
      description: "Its child was ordered; startTime appears once it was seen to exist.",
      on: {
        CHILD_SEEN: {
          guard: "notSeen",
          actions: assign(({ context, event }) => ({ status: { ...context.status, startTime: event.startTime } })),
          description: "The child exists.",
          meta: { writer: "controller" },
        },
        CHILD_SUCCEEDED: {
          target: "Succeeded",
          actions: assign(({ context, event }) => ({ status: moves.succeed(context.status, event) })),
          description: "The child succeeded; its outputs are taken over.",
          meta: { writer: "controller" },
        },
        CHILD_FAILED: {
          target: "Failed",
          actions: assign(({ context, event }) => ({ status: moves.close(context.status, event) })),
          description: "The child failed, or somebody ended it.",
          meta: { writer: "controller", reason: instanceFailedReasons },
        },
        CHILD_MISSING: [
          {
            guard: "wasSeen",
            target: "Failed",
            actions: assign(({ context, event }) => ({
              status: moves.close(context.status, {
                reason: "ChildDeleted",
                message: `WorkflowRun ${name(context.status)} was deleted before it ended`,
                now: event.now,
              }),
            })),
            description: "The child existed and is gone: somebody deleted it before it ended.",
            meta: { writer: "controller", reason: "ChildDeleted" },
          },
          {
            actions: {
              type: "createWorkflowRun",
              params: ({ context }) => ({ workflowRunName: name(context.status) }),
            },
            description: "The child was ordered and never created (a crash came between): created now.",
            meta: { writer: "controller" },
          },
        ],
        NAME_TAKEN: [
          {
            guard: "wasSeen",
            target: "Failed",
            actions: assign(({ context, event }) => ({
              status: moves.close(context.status, { ...event, reason: "ChildDeleted" }),
            })),
            description: "The child existed, and somebody else's has its name now: it was deleted before it ended.",
            meta: { writer: "controller", reason: "ChildDeleted" },
          },
          {
            guard: "hasNamesLeft",
            actions: [
              assign(({ context, event }) => ({
                status: { ...moves.renameWorkspace(context.status), workflowRunName: event.workflowRunName },
              })),
              { type: "createWorkflowRun", params: ({ event }) => event },
            ],
            description: "The name belongs to somebody else's object: the next name is tried.",
            meta: { writer: "controller" },
          },
          {
            target: "Failed",
            actions: assign(({ context, event }) => ({
              status: moves.close(context.status, { ...event, reason: "NameCollision" }),
            })),
            description: "Every name belongs to somebody else.",
            meta: { writer: "controller", reason: "NameCollision" },
          },
        ],
        CHILD_REFUSED: {
          target: "Failed",
          actions: assign(({ context, event }) => ({
            status: moves.close(context.status, { ...event, reason: "ChildRefused" }),
          })),
          description: "The API server refused the child.",
          meta: { writer: "controller", reason: "ChildRefused" },
        },
        RETRY: {
          target: "Queued",
          actions: assign(({ context, event }) => ({ status: moves.repeat(context.status, event) })),
          description: "The child failed: another attempt, with another child.",
          meta: { writer: "controller", reason: "BackingOff" },
        },
        CANCEL: {
          target: "Stopping",
          actions: assign(({ context, event }) => ({ status: moves.stop(context.status, event) })),
          description: "The workflow must end, and its child sees that.",
          meta: { writer: "controller", reason: moves.jobCancelReasons },
        },
      },
    },
    Stopping: {
      description: "The workflow must end, and its child has not ended yet.",
      on: {
        CHILD_ENDED: {
          target: "Cancelled",
          actions: assign(({ context, event }) => ({ status: moves.stopped(context.status, event) })),
          description: "The child has ended, however it did.",
          meta: { writer: "controller", reason: moves.jobCancelReasons },
        },
        CHILD_MISSING: {
          target: "Cancelled",
          actions: assign(({ context, event }) => ({ status: moves.stopped(context.status, { now: event.now }) })),
          description: "There is no child to end.",
          meta: { writer: "controller", reason: moves.jobCancelReasons },
        },
      },
    },
    Succeeded: { tags: ["terminal"], description: "Its child succeeded." },
    Failed: { tags: ["terminal"], description: "Its child failed, was deleted, or could not be created." },
    Cancelled: { tags: ["terminal"], description: "Its child was ended because the workflow had to end." },
    Skipped: { tags: ["terminal"], description: "It never ran." },
  },
});

export type JobWorkflowSnapshot = SnapshotFrom<typeof jobWorkflowMachine>;

/**
 * The snapshot of a persisted status; without a status the job has not begun.
 * @throws UnknownPhaseError, MalformedStatusError
 */
export function restoreJobWorkflow(status: JobStatus | undefined): JobWorkflowSnapshot {
  const persisted = status ?? { phase: "Waiting" };
  checkStatus(jobWorkflowMachine.id, persisted, Object.keys(jobWorkflowMachine.states), {
    attempt: "count",
    attempts: "list",
    collision: "count",
    startTime: "time",
    nextAttemptTime: "time",
    workflowRunName: "text",
  });
  const { phase, ...fields } = persisted;
  return jobWorkflowMachine.resolveState({ value: phase, context: { status: fields } });
}

/** The status to persist; the inverse of {@link restoreJobWorkflow}. */
export function jobWorkflowStatus(snapshot: JobWorkflowSnapshot): JobStatus {
  return { phase: snapshot.value, ...snapshot.context.status };
}

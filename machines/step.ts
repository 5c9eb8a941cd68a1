import { assign, emit, type SnapshotFrom, setup } from "xstate";
import type { StepStatus } from "#api/kinds/workflow-run.ts";
import type { TransitionMeta } from "./lib/meta.ts";
import { checkStatus } from "./lib/persist.ts";
import * as moves from "./step-status.ts";

/**
 * Events of a step that is one child Run. All but START, CANNOT_START, SKIP and CANCEL tell what was seen of that
 * Run; `now` is milliseconds since the epoch. The workflow-run controller fires every one.
 */
export type StepEvent =
  /** It is its turn; `runName` is the name of the Run to create. */
  | { type: "START"; runName: string; now: number }
  /** It is its turn, and no Run can be made of it. */
  | { type: "CANNOT_START"; reason: moves.CannotStartReason; message: string; now: number }
  /** It will never be its turn. */
  | { type: "SKIP"; reason: moves.SkipReason; message: string; now: number }
  /** The Run exists and has not ended. */
  | ({ type: "RUN_SEEN" } & moves.Sight)
  | ({ type: "RUN_SUCCEEDED" } & moves.RunEnd)
  /** `continued`: by its `continue-on-error` that is no failure of the job. */
  | ({ type: "RUN_FAILED"; reason: moves.RunFailedReason; message: string; continued?: boolean } & moves.RunEnd)
  | ({ type: "RUN_CANCELLED"; message: string } & moves.RunEnd)
  /** There is no such Run: a live read has confirmed it. */
  | { type: "RUN_MISSING"; now: number }
  /** An object of another owner has that name; `runName` is the next one to try. */
  | { type: "NAME_TAKEN"; runName: string; message: string; now: number }
  /** The API server will not have the Run. */
  | { type: "RUN_REFUSED"; message: string; now: number }
  /** The Run was never claimed and its workspace was replaced; `runName` is the name of the Run that takes its place. */
  | { type: "REPLACE"; runName: string; message: string; now: number }
  /** It must end; fired again as long as the Run has not been asked to. */
  | { type: "CANCEL" };

/** `step` is the name of the step. */
export type StepEffect =
  /** Create the child Run of that name; an existing one with our owner reference is the same Run. */
  | { type: "createRun"; step: string; runName: string }
  /** Ask the child Run to end (`spec.termination`). */
  | { type: "cancelRun"; step: string; runName: string }
  /** Delete the child Run, as long as nobody has claimed it (UID and resourceVersion as preconditions). */
  | { type: "deleteRun"; step: string; runName: string };

export interface StepContext {
  /** Everything of the status but the phase, which is the state. */
  status: moves.StepFields;
}

/** The life of a step: one child Run, created once, followed to its end. */
export const stepMachine = setup({
  types: {
    context: {} as StepContext,
    events: {} as StepEvent,
    emitted: {} as StepEffect,
    tags: {} as "terminal",
    transitionMeta: {} as TransitionMeta,
  },
  actions: {
    createRun: emit(({ context }, { runName }: { runName: string }) => ({
      type: "createRun" as const,
      step: context.status.name,
      runName,
    })),
    cancelRun: emit(({ context }) => ({
      type: "cancelRun" as const,
      step: context.status.name,
      runName: context.status.runName ?? "",
    })),
    deleteRun: emit(({ context }) => ({
      type: "deleteRun" as const,
      step: context.status.name,
      runName: context.status.runName ?? "",
    })),
  },
  guards: {
    /** The Run was not recorded as seen yet, waits for something else now, or is tried again. */
    tellsSomethingNew: ({ context }, seen: moves.Sight) => moves.isNews(context.status, seen),
    /** The Run was recorded as existing, so its absence means that somebody deleted it. */
    wasSeen: ({ context }) => moves.wasSeen(context.status),
    /** Not every name has been tried. */
    hasNamesLeft: ({ context }) => moves.hasNamesLeft(context.status),
  },
}).createMachine({
  id: "step",
  description: "A step of a job is one child Run: created once, followed to its end.",
  context: { status: { name: "" } },
  initial: "Waiting",
  states: {
    Waiting: {
      description: "The steps before it, or its job, are not that far.",
      on: {
        START: {
          target: "Running",
          actions: [
            assign(({ context, event }) => ({ status: moves.start(context.status, event) })),
            { type: "createRun", params: ({ event }) => event },
          ],
          description: "Its turn: the name of the child Run is recorded, then the Run is created.",
          meta: { writer: "controller" },
        },
        CANNOT_START: {
          target: "Failed",
          actions: assign(({ context, event }) => ({ status: moves.fail(context.status, event) })),
          description: "Its turn, but an expression or an artifact that it needs has no value.",
          meta: { writer: "controller", reason: moves.cannotStartReasons },
        },
        SKIP: {
          target: "Skipped",
          actions: assign(({ context, event }) => ({ status: moves.skip(context.status, event) })),
          description: "Its `if` does not hold, or its job ends before its turn comes.",
          meta: { writer: "controller", reason: moves.skipReasons },
        },
      },
    },
    Running: {
      description: "Its child Run was ordered; startTime appears once the Run was seen to exist.",
      on: {
        RUN_SEEN: {
          guard: { type: "tellsSomethingNew", params: ({ event }) => event },
          actions: assign(({ context, event }) => ({ status: moves.see(context.status, event) })),
          description: "The Run exists; what it waits for, if anything, is shown.",
          meta: { writer: "controller" },
        },
        RUN_SUCCEEDED: {
          target: "Succeeded",
          actions: assign(({ context, event }) => ({ status: moves.succeed(context.status, event) })),
          description: "The Run succeeded; its outputs are taken over.",
          meta: { writer: "controller" },
        },
        RUN_FAILED: {
          target: "Failed",
          actions: assign(({ context, event }) => ({ status: moves.fail(context.status, event) })),
          description: "The Run failed or ran out of time, or its results do not fit.",
          meta: { writer: "controller", reason: moves.runFailedReasons },
        },
        RUN_CANCELLED: {
          target: "Failed",
          actions: assign(({ context, event }) => ({
            status: moves.fail(context.status, { ...event, reason: "Cancelled" }),
          })),
          description: "Somebody cancelled the Run itself; the workflow had not asked for that.",
          meta: { writer: "controller", reason: "Cancelled" },
        },
        RUN_MISSING: [
          {
            guard: "wasSeen",
            target: "Failed",
            actions: assign(({ context, event }) => ({
              status: moves.fail(context.status, {
                reason: "ChildDeleted",
                message: `Run ${context.status.runName} was deleted before it ended`,
                now: event.now,
              }),
            })),
            description: "The Run existed and is gone: somebody deleted it before it ended.",
            meta: { writer: "controller", reason: "ChildDeleted" },
          },
          {
            actions: { type: "createRun", params: ({ context }) => ({ runName: context.status.runName ?? "" }) },
            description: "The Run was ordered and never created (a crash came between): created now.",
            meta: { writer: "controller" },
          },
        ],
        NAME_TAKEN: [
          {
            guard: "wasSeen",
            target: "Failed",
            actions: assign(({ context, event }) => ({
              status: moves.fail(context.status, { ...event, reason: "ChildDeleted" }),
            })),
            description: "The Run existed, and somebody else's has its name now: it was deleted before it ended.",
            meta: { writer: "controller", reason: "ChildDeleted" },
          },
          {
            guard: "hasNamesLeft",
            actions: [
              assign(({ context, event }) => ({ status: moves.rename(context.status, event) })),
              { type: "createRun", params: ({ event }) => event },
            ],
            description: "The name belongs to somebody else's object: the next name is tried.",
            meta: { writer: "controller" },
          },
          {
            target: "Failed",
            actions: assign(({ context, event }) => ({
              status: moves.fail(context.status, { ...event, reason: "NameCollision" }),
            })),
            description: "Every name belongs to somebody else.",
            meta: { writer: "controller", reason: "NameCollision" },
          },
        ],
        RUN_REFUSED: {
          target: "Failed",
          actions: assign(({ context, event }) => ({
            status: moves.fail(context.status, { ...event, reason: "ChildRefused" }),
          })),
          description: "The API server refused the Run.",
          meta: { writer: "controller", reason: "ChildRefused" },
        },
        REPLACE: [
          {
            guard: "hasNamesLeft",
            actions: [
              "deleteRun",
              assign(({ context, event }) => ({ status: moves.rename(context.status, event) })),
              { type: "createRun", params: ({ event }) => event },
            ],
            description: "Its workspace was lost before anything had run in it: a new Run in the new workspace.",
            meta: { writer: "controller" },
          },
          {
            target: "Failed",
            actions: assign(({ context, event }) => ({
              status: moves.fail(context.status, { ...event, reason: "WorkspaceLost" }),
            })),
            description: "Its workspace was lost again and again before anything could run in it.",
            meta: { writer: "controller", reason: "WorkspaceLost" },
          },
        ],
        CANCEL: {
          target: "Stopping",
          actions: "cancelRun",
          description: "The workflow must end: the Run is asked to.",
          meta: { writer: "controller" },
        },
      },
    },
    Stopping: {
      description: "Its child Run was asked to end and has not ended yet.",
      on: {
        RUN_SUCCEEDED: {
          target: "Succeeded",
          actions: assign(({ context, event }) => ({ status: moves.succeed(context.status, event) })),
          description: "The Run succeeded before it could be ended.",
          meta: { writer: "controller" },
        },
        RUN_FAILED: {
          target: "Failed",
          actions: assign(({ context, event }) => ({ status: moves.fail(context.status, event) })),
          description: "The Run failed before it could be ended.",
          meta: { writer: "controller", reason: moves.runFailedReasons },
        },
        RUN_CANCELLED: {
          target: "Cancelled",
          actions: assign(({ context, event }) => ({ status: moves.cancel(context.status, event) })),
          description: "The Run has ended as asked.",
          meta: { writer: "controller", reason: "Cancelled" },
        },
        RUN_MISSING: {
          target: "Cancelled",
          actions: assign(({ context, event }) => ({
            status: moves.cancel(context.status, {
              message: `Run ${context.status.runName} does not exist (any more)`,
              now: event.now,
            }),
          })),
          description: "There is no Run to end.",
          meta: { writer: "controller", reason: "Cancelled" },
        },
        CANCEL: {
          actions: "cancelRun",
          description: "The Run has not been asked yet (a crash came between): asked again.",
          meta: { writer: "controller" },
        },
      },
    },
    Succeeded: { tags: ["terminal"], description: "Its Run succeeded." },
    Failed: { tags: ["terminal"], description: "Its Run failed, was deleted, or could not be created." },
    Cancelled: { tags: ["terminal"], description: "Its Run was ended because the workflow had to end." },
    Skipped: { tags: ["terminal"], description: "It never ran." },
  },
});

export type StepSnapshot = SnapshotFrom<typeof stepMachine>;

/** A step that has not begun. */
export function newStep(name: string): StepStatus {
  return { name, phase: "Waiting" };
}

/**
 * The snapshot of a persisted status; a new step begins with {@link newStep}.
 * @throws UnknownPhaseError, MalformedStatusError
 */
export function restoreStep(status: StepStatus): StepSnapshot {
  checkStatus(stepMachine.id, status, Object.keys(stepMachine.states), {
    name: "name",
    attempt: "count",
    collision: "count",
    runName: "text",
    startTime: "time",
  });
  const { phase, ...fields } = status;
  return stepMachine.resolveState({ value: phase, context: { status: fields } });
}

/** The status to persist; the inverse of {@link restoreStep}. */
export function stepStatus(snapshot: StepSnapshot): StepStatus {
  return { ...snapshot.context.status, phase: snapshot.value };
}

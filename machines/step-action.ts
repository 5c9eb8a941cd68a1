import { assign, type SnapshotFrom, setup } from "xstate";
import { jsonEqual } from "#api/json.ts";
import type { StepStatus } from "#api/kinds/workflow-run.ts";
import { timestamp } from "#api/time.ts";
import { isActive, mustStartAnother, sumOfSteps } from "./derive.ts";
import { causeOf, type OutputsFailedReason, outputsFailedReasons, skipWaiting } from "./job-status.ts";
import type { TransitionMeta } from "./lib/meta.ts";
import { checkStatus } from "./lib/persist.ts";
import { clip } from "./lib/text.ts";
import { newStep } from "./step.ts";
import * as moves from "./step-status.ts";

/** A step of an Action, as its own machine leaves it. */
export type ActionStepStatus = NonNullable<StepStatus["steps"]>[number];

/** `now` is milliseconds since the epoch everywhere; the workflow-run controller fires every event. */
export type StepActionEvent =
  /** It is its turn; `steps` are the names of the steps of the Action in order. */
  | { type: "START"; steps: readonly string[]; now: number }
  /** It is its turn, and a value that it hands to the Action does not exist. */
  | { type: "CANNOT_START"; reason: moves.CannotStartReason; message: string; now: number }
  /** It will never be its turn. */
  | { type: "SKIP"; reason: moves.SkipReason; message: string; now: number }
  /** The steps of the Action as their machines left them. */
  | { type: "STEPS"; steps: readonly ActionStepStatus[] }
  /** Derived: every step of the Action ended well; `outputs` are those of the Action. */
  | { type: "STEPS_SUCCEEDED"; outputs?: Record<string, string>; now: number }
  /** Derived: every step of the Action ended, not all of them well; `outputs` are those of the Action that have a value. */
  | { type: "STEP_FAILED"; outputs?: Record<string, string>; continued?: boolean; now: number }
  /** Every step ended well, but an output of the Action has no value or does not fit. */
  | { type: "OUTPUTS_FAILED"; reason: OutputsFailedReason; message: string; continued?: boolean; now: number }
  /** The files of the job are gone, and another step of the Action would need them. */
  | { type: "WORKSPACE_LOST"; message: string; outputs?: Record<string, string>; now: number }
  /** It has taken longer than its timeout. */
  | { type: "TIME_OUT"; message: string; outputs?: Record<string, string>; continued?: boolean; now: number }
  /** Derived: it is stopping and no step of the Action is at work any more. */
  | { type: "STEPS_ENDED"; outputs?: Record<string, string>; continued?: boolean; now: number }
  /** It must end. */
  | { type: "CANCEL" };

export interface StepActionContext {
  /** Everything of the status but the phase, which is the state. */
  status: moves.StepFields;
}

const stepsOf = (fields: moves.StepFields): StepStatus[] => fields.steps ?? [];

/** The end; steps of the Action whose turn has not come never start. */
function end(
  fields: moves.StepFields,
  why: moves.RunEnd & { reason: moves.SkipReason | OutputsFailedReason; message: string; continued?: boolean },
): moves.StepFields {
  const reason = why.reason === "OutputsTooLarge" ? "StepFailed" : why.reason;
  return moves.fail({ ...fields, steps: skipWaiting(stepsOf(fields), { ...why, reason }) }, why);
}

/** The life of a step that uses an Action: the steps of the Action run one after the other. */
export const stepActionMachine = setup({
  types: {
    context: {} as StepActionContext,
    events: {} as StepActionEvent,
    tags: {} as "terminal",
    transitionMeta: {} as TransitionMeta,
  },
  guards: {
    stepsChanged: ({ context }, { steps }: { steps: readonly ActionStepStatus[] }) =>
      !jsonEqual(stepsOf(context.status), steps),
    everyStepSucceeded: ({ context }) => sumOfSteps(stepsOf(context.status)) === "Succeeded",
    aStepFailed: ({ context }) => sumOfSteps(stepsOf(context.status)) === "Failed",
    mustStartAnother: ({ context }) => mustStartAnother(stepsOf(context.status)),
    aStepIsActive: ({ context }) => stepsOf(context.status).some(isActive),
    /** No step is at work, and it was the time that ended it. */
    ranOut: ({ context }) => !stepsOf(context.status).some(isActive) && context.status.reason === "Timeout",
    noStepIsActive: ({ context }) => !stepsOf(context.status).some(isActive),
  },
}).createMachine({
  id: "step-action",
  description: "A step that uses an Action is a chain of steps; its phase follows from theirs.",
  context: { status: { name: "" } },
  initial: "Waiting",
  states: {
    Waiting: {
      description: "The steps before it, or its job, are not that far.",
      on: {
        START: {
          target: "Running",
          actions: assign(({ context, event }) => ({
            status: {
              ...context.status,
              attempt: 1,
              startTime: timestamp(event.now),
              steps: event.steps.map(newStep),
            },
          })),
          description: "Its turn: the steps of the Action are listed.",
          meta: { writer: "controller" },
        },
        CANNOT_START: {
          target: "Failed",
          actions: assign(({ context, event }) => ({ status: moves.fail(context.status, event) })),
          description: "Its turn, but a value that it hands to the Action does not exist.",
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
      description: "The steps of the Action run one after the other.",
      on: {
        STEPS: {
          guard: { type: "stepsChanged", params: ({ event }) => event },
          actions: assign(({ context, event }) => ({ status: { ...context.status, steps: [...event.steps] } })),
          description: "A step of the Action moved.",
          meta: { writer: "controller" },
        },
        STEPS_SUCCEEDED: {
          guard: "everyStepSucceeded",
          target: "Succeeded",
          actions: assign(({ context, event }) => ({ status: moves.succeed(context.status, event) })),
          description: "Every step of the Action ended well; its outputs are recorded.",
          meta: { writer: "controller" },
        },
        STEP_FAILED: {
          guard: "aStepFailed",
          target: "Failed",
          actions: assign(({ context, event }) => ({
            status: moves.fail(context.status, { ...causeOf(stepsOf(context.status)), ...event }),
          })),
          description: "Every step of the Action ended, not all of them well.",
          meta: { writer: "controller", reason: ["StepFailed", "WorkspaceLost", ...moves.cannotStartReasons] },
        },
        OUTPUTS_FAILED: {
          guard: "everyStepSucceeded",
          target: "Failed",
          actions: assign(({ context, event }) => ({ status: moves.fail(context.status, event) })),
          description: "Every step ended well, but an output of the Action has no value or does not fit.",
          meta: { writer: "controller", reason: outputsFailedReasons },
        },
        WORKSPACE_LOST: {
          guard: "mustStartAnother",
          target: "Failed",
          actions: assign(({ context, event }) => ({
            status: end(context.status, { ...event, reason: "WorkspaceLost" }),
          })),
          description: "The files of the job are gone and another step of the Action would need them.",
          meta: { writer: "controller", reason: "WorkspaceLost" },
        },
        TIME_OUT: [
          {
            guard: "aStepIsActive",
            target: "Stopping",
            actions: assign(({ context, event }) => ({
              status: { ...context.status, reason: "Timeout", message: clip(event.message) },
            })),
            description: "It took longer than its timeout: the step at work is asked to end.",
            meta: { writer: "controller", reason: "Timeout" },
          },
          {
            target: "Failed",
            actions: assign(({ context, event }) => ({ status: end(context.status, { ...event, reason: "Timeout" }) })),
            description: "It took longer than its timeout, and no step of the Action is at work.",
            meta: { writer: "controller", reason: "Timeout" },
          },
        ],
        CANCEL: {
          target: "Stopping",
          description: "The workflow must end: the step at work is asked to.",
          meta: { writer: "controller" },
        },
      },
    },
    Stopping: {
      description: "It must end: the step of the Action at work was asked to, and steps that clean up may still run.",
      on: {
        STEPS: {
          guard: { type: "stepsChanged", params: ({ event }) => event },
          actions: assign(({ context, event }) => ({ status: { ...context.status, steps: [...event.steps] } })),
          description: "A step of the Action moved.",
          meta: { writer: "controller" },
        },
        STEPS_ENDED: [
          {
            guard: "ranOut",
            target: "Failed",
            actions: assign(({ context, event }) => ({
              status: end(context.status, { ...event, reason: "Timeout", message: context.status.message ?? "" }),
            })),
            description: "No step is at work any more, and the time was over.",
            meta: { writer: "controller", reason: "Timeout" },
          },
          {
            guard: "noStepIsActive",
            target: "Cancelled",
            actions: assign(({ context, event }) => ({
              status: {
                ...moves.cancel(context.status, { ...event, message: "it was ended with its job" }),
                steps: skipWaiting(stepsOf(context.status), {
                  reason: "StepFailed",
                  message: "the step that it belongs to was ended",
                  now: event.now,
                }),
              },
            })),
            description: "No step is at work or is to clean up any more, as the workflow wanted.",
            meta: { writer: "controller", reason: "Cancelled" },
          },
        ],
      },
    },
    Succeeded: { tags: ["terminal"], description: "Every step of the Action ended well." },
    Failed: {
      tags: ["terminal"],
      description: "A step of the Action ended badly, or the Action could not be started.",
    },
    Cancelled: { tags: ["terminal"], description: "It was ended because the workflow had to end." },
    Skipped: { tags: ["terminal"], description: "It never ran." },
  },
});

export type StepActionSnapshot = SnapshotFrom<typeof stepActionMachine>;

/**
 * The snapshot of a persisted status; a new step begins with {@link newStep}.
 * @throws UnknownPhaseError, MalformedStatusError
 */
export function restoreStepAction(status: StepStatus): StepActionSnapshot {
  checkStatus(stepActionMachine.id, status, Object.keys(stepActionMachine.states), {
    name: "name",
    attempt: "count",
    startTime: "time",
    steps: "list",
  });
  const { phase, ...fields } = status;
  return stepActionMachine.resolveState({ value: phase, context: { status: fields } });
}

/** The status to persist; the inverse of {@link restoreStepAction}. */
export function stepActionStatus(snapshot: StepActionSnapshot): StepStatus {
  return { ...snapshot.context.status, phase: snapshot.value };
}

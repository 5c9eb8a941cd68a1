import { assign, type SnapshotFrom, setup } from "xstate";
import type { StepStatus } from "#api/kinds/workflow-run.ts";
import type { Reason } from "#api/reasons.ts";
import { timestamp } from "#api/time.ts";
import type { TransitionMeta } from "./lib/meta.ts";
import { checkStatus } from "./lib/persist.ts";
import { clip } from "./lib/text.ts";
import * as moves from "./step-status.ts";

/** Why a gate does not let anything through. */
export const gateFailureReasons = ["GateStopped", "InvalidOutputParameters"] as const satisfies readonly Reason[];
export type GateFailureReason = (typeof gateFailureReasons)[number];

/** `now` is milliseconds since the epoch everywhere; the workflow-run controller fires every event. */
export type StepGateEvent =
  /** It is its turn; `deadline` is when it opens by itself (RFC 3339), `message` what it waits for. */
  | { type: "START"; deadline?: string; message?: string; now: number }
  /** It is its turn, and a value in its message does not exist. */
  | { type: "CANNOT_START"; reason: moves.CannotStartReason; message: string; now: number }
  /** It will never be its turn. */
  | { type: "SKIP"; reason: moves.SkipReason; message: string; now: number }
  /** Somebody lets pass, or its time is over; `outputs` are those that it has from now on. */
  | { type: "RESUME"; outputs?: Record<string, string>; now: number }
  /** Somebody stops it, or its time is over and an output has no value. */
  | { type: "FAIL"; reason: GateFailureReason; message: string; now: number }
  /** Its job must end. */
  | { type: "CANCEL"; now: number };

export interface StepGateContext {
  /** Everything of the status but the phase, which is the state. */
  status: moves.StepFields;
}

/** The life of a gate: a step that waits for a Resume, or for its time. */
export const stepGateMachine = setup({
  types: {
    context: {} as StepGateContext,
    events: {} as StepGateEvent,
    tags: {} as "terminal",
    transitionMeta: {} as TransitionMeta,
  },
}).createMachine({
  id: "step-gate",
  description: "A gate is a step that waits until somebody resumes it, or its time is over.",
  context: { status: { name: "" } },
  initial: "Waiting",
  states: {
    Waiting: {
      description: "The steps before it, or its job, are not that far.",
      on: {
        START: {
          target: "Suspended",
          actions: assign(({ context, event: { deadline, message, now } }) => ({
            status: {
              ...context.status,
              attempt: 1,
              startTime: timestamp(now),
              reason: "WaitsForResume" satisfies Reason,
              message: clip(message ?? "it waits for a Resume"),
              ...(deadline !== undefined && { gate: { deadline } }),
            },
          })),
          description: "Its turn: from now on it can be resumed or stopped.",
          meta: { writer: "controller", reason: "WaitsForResume" },
        },
        CANNOT_START: {
          target: "Failed",
          actions: assign(({ context, event }) => ({ status: moves.fail(context.status, event) })),
          description: "Its turn, but a value in its message does not exist.",
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
    Suspended: {
      description: "It waits for a Resume, or for its deadline.",
      on: {
        RESUME: {
          target: "Succeeded",
          actions: assign(({ context, event }) => ({ status: moves.succeed(context.status, event) })),
          description: "Somebody lets pass, or its time is over; its outputs are recorded.",
          meta: { writer: "controller" },
        },
        FAIL: {
          target: "Failed",
          actions: assign(({ context, event }) => ({ status: moves.fail(context.status, event) })),
          description: "Somebody stops it, or its time is over and an output has no value.",
          meta: { writer: "controller", reason: gateFailureReasons },
        },
        CANCEL: {
          target: "Cancelled",
          actions: assign(({ context, event }) => ({
            status: moves.cancel(context.status, { message: "its job had to end", now: event.now }),
          })),
          description: "Its job must end; nothing of it is at work.",
          meta: { writer: "controller", reason: "Cancelled" },
        },
      },
    },
    Succeeded: { tags: ["terminal"], description: "It was resumed." },
    Failed: { tags: ["terminal"], description: "It was stopped, or could not wait." },
    Cancelled: { tags: ["terminal"], description: "Its job had to end." },
    Skipped: { tags: ["terminal"], description: "It never waited." },
  },
});

export type StepGateSnapshot = SnapshotFrom<typeof stepGateMachine>;

/**
 * The snapshot of a persisted status.
 * @throws UnknownPhaseError, MalformedStatusError
 */
export function restoreStepGate(status: StepStatus): StepGateSnapshot {
  checkStatus(stepGateMachine.id, status, Object.keys(stepGateMachine.states), { name: "name", startTime: "time" });
  const { phase, ...fields } = status;
  return stepGateMachine.resolveState({ value: phase, context: { status: fields } });
}

/** The status to persist; the inverse of {@link restoreStepGate}. */
export function stepGateStatus(snapshot: StepGateSnapshot): StepStatus {
  return { ...snapshot.context.status, phase: snapshot.value };
}

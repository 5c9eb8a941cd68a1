import type { AnyMachineSnapshot } from "xstate";
import type { ActionStepStatus, StepActionEvent, StepActionSnapshot } from "#machines/step-action.ts";
import { at, type Samples, type Walk } from "./samples.ts";

const message = "text for people";
const completionTime = "2025-07-06T12:00:08.000000Z";

function inner(name: string, phase: ActionStepStatus["phase"], more: Partial<ActionStepStatus> = {}): ActionStepStatus {
  const hasRun = phase !== "Waiting" && phase !== "Skipped";
  return {
    name,
    phase,
    ...(hasRun && { attempt: 1, runName: `ci-build-${name}-1a2b3c4d` }),
    ...(["Succeeded", "Failed", "Cancelled", "Skipped"].includes(phase) && { completionTime }),
    ...more,
  };
}

const stages: readonly ActionStepStatus[][] = [
  [inner("test", "Running"), inner("package", "Waiting")],
  [inner("test", "Succeeded"), inner("package", "Waiting")],
  [inner("test", "Succeeded"), inner("package", "Succeeded")],
  [inner("test", "Failed", { reason: "ExitNonZero", message }), inner("package", "Skipped")],
  [inner("test", "Cancelled", { reason: "Cancelled", message }), inner("package", "Waiting")],
];

const samples: Samples<StepActionEvent> = {
  START: [{ type: "START", steps: ["test", "package"], now: at(1) }],
  CANNOT_START: [{ type: "CANNOT_START", reason: "ExpressionFailed", message, now: at(1) }],
  SKIP: [{ type: "SKIP", reason: "ConditionNotMet", message, now: at(1) }],
  STEPS: stages.map((steps) => ({ type: "STEPS", steps })),
  STEPS_SUCCEEDED: [
    { type: "STEPS_SUCCEEDED", now: at(9) },
    { type: "STEPS_SUCCEEDED", outputs: { version: "1" }, now: at(9) },
  ],
  STEP_FAILED: [
    { type: "STEP_FAILED", outputs: { tests: "failed" }, now: at(9) },
    { type: "STEP_FAILED", continued: true, now: at(9) },
  ],
  OUTPUTS_FAILED: [{ type: "OUTPUTS_FAILED", reason: "OutputsTooLarge", message, now: at(9) }],
  WORKSPACE_LOST: [{ type: "WORKSPACE_LOST", outputs: { tests: "failed" }, message, now: at(7) }],
  TIME_OUT: [{ type: "TIME_OUT", outputs: { tests: "failed" }, message, now: at(7) }],
  STEPS_ENDED: [{ type: "STEPS_ENDED", outputs: { tests: "failed" }, now: at(12) }],
  CANCEL: [{ type: "CANCEL" }],
};

export const stepActionWalk: Walk = {
  samples,
  essence: (snapshot: AnyMachineSnapshot) => {
    const { value, context } = snapshot as StepActionSnapshot;
    const { steps, continued, reason } = context.status;
    return [value, steps?.map(({ phase }) => phase), continued, value === "Stopping" ? reason : undefined];
  },
};

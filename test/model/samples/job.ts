import type { AnyMachineSnapshot } from "xstate";
import type { StepStatus } from "#api/kinds/workflow-run.ts";
import { type JobEvent, type JobSnapshot, restoreJob } from "#machines/job.ts";
import { maxCollisions } from "#machines/step-status.ts";
import { artifact, at, bucket, type Samples, type Walk } from "./samples.ts";

const message = "text for people";
const completionTime = "2025-07-06T12:00:08.000000Z";

function step(name: string, phase: StepStatus["phase"], more: Partial<StepStatus> = {}): StepStatus {
  const hasRun = phase !== "Waiting" && phase !== "Skipped";
  const hasEnded = hasRun && phase !== "Running" && phase !== "Suspended" && phase !== "Stopping";
  return {
    name,
    phase,
    ...(hasRun && { attempt: 1, runName: `ci-build-${name}-1a2b3c4d` }),
    ...(hasEnded && { completionTime }),
    ...more,
  };
}

/** A job of two steps on its way: what the step machines can make of them. */
const stages: readonly StepStatus[][] = [
  [step("test", "Running"), step("package", "Waiting")],
  [step("test", "Running", { reason: "WorkspaceNotBound", message }), step("package", "Waiting")],
  [step("test", "Suspended", { reason: "WaitsForResume", message }), step("package", "Waiting")],
  [step("test", "Succeeded"), step("package", "Waiting")],
  [step("test", "Succeeded"), step("package", "Running")],
  [step("test", "Succeeded"), step("package", "Succeeded")],
  [step("test", "Failed", { reason: "ExitNonZero", message }), step("package", "Waiting")],
  [step("test", "Failed", { reason: "ExitNonZero", message }), step("package", "Skipped")],
  [step("test", "Failed", { reason: "ExitNonZero", message, continued: true }), step("package", "Succeeded")],
  [step("test", "Succeeded"), step("package", "Failed", { reason: "ArtifactMissing", message })],
  [step("test", "Stopping"), step("package", "Waiting")],
  [step("test", "Cancelled", { reason: "Cancelled", message }), step("package", "Waiting")],
  [step("test", "Succeeded"), step("package", "Stopping")],
  [step("test", "Cancelled", { reason: "Cancelled", message }), step("package", "Running")],
  [step("test", "Cancelled", { reason: "Cancelled", message }), step("package", "Succeeded")],
];

export const jobSamples: Samples<JobEvent> = {
  READY: [{ type: "READY", steps: ["test", "package"], now: at(1) }],
  CANNOT_START: [{ type: "CANNOT_START", reason: "ArtifactMissing", message, now: at(1) }],
  SKIP: [
    { type: "SKIP", reason: "NeedsNotSucceeded", message, now: at(1) },
    { type: "SKIP", reason: "TimedOut", message, now: at(1) },
  ],
  START: [{ type: "START", now: at(2) }],
  STEPS: [
    ...stages.map((steps) => ({ type: "STEPS" as const, steps })),
    { type: "STEPS", steps: stages[3] ?? [], artifacts: [artifact("dist.tgz", "u1")] },
    { type: "STEPS", steps: stages[5] ?? [], artifacts: [artifact("dist.tgz", "u2")] },
  ],
  STEPS_SUCCEEDED: [
    { type: "STEPS_SUCCEEDED", now: at(20) },
    { type: "STEPS_SUCCEEDED", outputs: { version: "1.2.3" }, now: at(20) },
  ],
  STEP_FAILED: [
    { type: "STEP_FAILED", outputs: { tests: "failed" }, now: at(20) },
    { type: "STEP_FAILED", continued: true, now: at(20) },
  ],
  STEPS_ENDED: [{ type: "STEPS_ENDED", outputs: { tests: "failed" }, now: at(30) }],
  OUTPUTS_FAILED: [{ type: "OUTPUTS_FAILED", reason: "ExpressionFailed", message, now: at(20) }],
  WORKSPACE_LOST: [{ type: "WORKSPACE_LOST", outputs: { tests: "failed" }, message, now: at(15) }],
  REPLACE_WORKSPACE: [{ type: "REPLACE_WORKSPACE", message, now: at(3) }],
  WORKSPACE_MISSING: [{ type: "WORKSPACE_MISSING" }],
  NAME_TAKEN: [{ type: "NAME_TAKEN", message, now: at(3) }],
  WORKSPACE_REFUSED: [{ type: "WORKSPACE_REFUSED", message, now: at(3) }],
  TIME_OUT: [{ type: "TIME_OUT", message, now: at(18) }],
  RETRY: [{ type: "RETRY", reason: "StepFailed", message, notBefore: at(22), now: at(21) }],
  CANCEL: [{ type: "CANCEL", reason: "TimedOut", message, now: at(25) }],
};

export const jobWalk: Walk = {
  samples: jobSamples,
  starts: [
    restoreJob({
      phase: "Queued",
      attempt: 1,
      collision: maxCollisions,
      steps: [step("test", "Waiting"), step("package", "Waiting")],
    }),
  ],
  essence: (snapshot: AnyMachineSnapshot) => {
    const { value, context } = snapshot as JobSnapshot;
    const { steps, reason, collision, artifacts, continued } = context.status;
    return [
      value,
      continued,
      steps?.map((each) => [each.phase, each.continued]),
      value === "Stopping" ? reason : undefined,
      bucket(collision, maxCollisions),
      Object.keys(artifacts ?? {}),
    ];
  },
};

import type { AnyMachineSnapshot } from "xstate";
import { restoreStep, type StepEvent, type StepSnapshot } from "#machines/step.ts";
import { maxCollisions } from "#machines/step-status.ts";
import { at, bucket, type Samples, type Walk } from "./samples.ts";

const message = "text for people";
const startTime = "2025-07-06T12:00:03.000000Z";
const completionTime = "2025-07-06T12:00:08.000000Z";

export const stepSamples: Samples<StepEvent> = {
  START: [{ type: "START", runName: "ci-build-test-1a2b3c4d", now: at(1) }],
  CANNOT_START: [{ type: "CANNOT_START", reason: "ExpressionFailed", message, now: at(1) }],
  SKIP: [{ type: "SKIP", reason: "StepFailed", message, now: at(1) }],
  RUN_SEEN: [
    { type: "RUN_SEEN", startTime },
    { type: "RUN_SEEN", startTime, reason: "InsufficientCapacity", message },
    { type: "RUN_SEEN", startTime, attempt: 2 },
  ],
  RUN_SUCCEEDED: [
    { type: "RUN_SUCCEEDED", exitCode: 0, outputs: { tests: "passed" }, startTime, completionTime, now: at(9) },
    { type: "RUN_SUCCEEDED", now: at(9) },
  ],
  RUN_FAILED: [
    {
      type: "RUN_FAILED",
      reason: "ExitNonZero",
      message,
      exitCode: 1,
      outputs: { tests: "failed" },
      startTime,
      completionTime,
      now: at(9),
    },
    { type: "RUN_FAILED", reason: "ExitNonZero", message, continued: true, now: at(9) },
  ],
  RUN_CANCELLED: [{ type: "RUN_CANCELLED", outputs: { tests: "failed" }, message, completionTime, now: at(9) }],
  RUN_MISSING: [{ type: "RUN_MISSING", now: at(9) }],
  NAME_TAKEN: [{ type: "NAME_TAKEN", runName: "ci-build-test-5e6f7a8b", message, now: at(2) }],
  RUN_REFUSED: [{ type: "RUN_REFUSED", message, now: at(2) }],
  REPLACE: [{ type: "REPLACE", runName: "ci-build-test-9c0d1e2f", message, now: at(4) }],
  CANCEL: [{ type: "CANCEL" }],
};

export const stepWalk: Walk = {
  samples: stepSamples,
  starts: [
    restoreStep({ name: "step", phase: "Running", attempt: 1, runName: "ci-build-test-0", collision: maxCollisions }),
  ],
  essence: (snapshot: AnyMachineSnapshot) => {
    const { value, context } = snapshot as StepSnapshot;
    const { startTime, reason, collision, runName, continued, attempt } = context.status;
    return [value, attempt, continued, startTime !== undefined, reason, bucket(collision, maxCollisions), runName];
  },
};

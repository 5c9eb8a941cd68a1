import type { AnyMachineSnapshot } from "xstate";
import type { JobMatrixEvent, JobMatrixSnapshot } from "#machines/job-matrix.ts";
import { at, type Samples, type Walk } from "./samples.ts";

const message = "text for people";

const samples: Samples<JobMatrixEvent> = {
  EXPAND: [
    { type: "EXPAND", instances: 2, now: at(1) },
    {
      type: "EXPAND",
      instances: 1,
      former: [{ id: "build.1", matrix: { n: 2 }, attempts: [{ number: 1, phase: "Failed" }] }],
      now: at(1),
    },
  ],
  CANNOT_START: [
    { type: "CANNOT_START", reason: "ExpressionFailed", message, now: at(1) },
    { type: "CANNOT_START", reason: "ExpressionFailed", message, continued: true, now: at(1) },
  ],
  SKIP: [{ type: "SKIP", reason: "ConditionNotMet", message, now: at(1) }],
  INSTANCES_SUCCEEDED: [
    { type: "INSTANCES_SUCCEEDED", now: at(9) },
    { type: "INSTANCES_SUCCEEDED", outputs: { version: "1" }, now: at(9) },
  ],
  INSTANCE_FAILED: [
    { type: "INSTANCE_FAILED", outputs: { tests: "failed" }, reason: "JobFailed", message, now: at(9) },
  ],
  INSTANCES_CANCELLED: [
    { type: "INSTANCES_CANCELLED", outputs: { tests: "failed" }, reason: "TimedOut", message, now: at(9) },
  ],
};

export const jobMatrixWalk: Walk = {
  samples,
  essence: (snapshot: AnyMachineSnapshot) => {
    const { value, context } = snapshot as JobMatrixSnapshot;
    return [value, context.status.continued, context.status.outputs];
  },
};

import type { AnyMachineSnapshot } from "xstate";
import { type JobWorkflowEvent, type JobWorkflowSnapshot, restoreJobWorkflow } from "#machines/job-workflow.ts";
import { maxCollisions } from "#machines/step-status.ts";
import { at, bucket, type Samples, type Walk } from "./samples.ts";

const message = "text for people";
const workflowRunName = "ci-build-1a2b3c4d";

const samples: Samples<JobWorkflowEvent> = {
  READY: [{ type: "READY", now: at(1) }],
  CANNOT_START: [{ type: "CANNOT_START", reason: "ExpressionFailed", message, now: at(1) }],
  SKIP: [{ type: "SKIP", reason: "NeedsNotSucceeded", message, now: at(1) }],
  START: [{ type: "START", workflowRunName, now: at(2) }],
  CHILD_SEEN: [{ type: "CHILD_SEEN", startTime: "2025-07-06T12:00:03.000000Z" }],
  CHILD_SUCCEEDED: [
    { type: "CHILD_SUCCEEDED", now: at(9) },
    { type: "CHILD_SUCCEEDED", outputs: { version: "1" }, now: at(9) },
  ],
  CHILD_FAILED: [
    { type: "CHILD_FAILED", outputs: { tests: "failed" }, reason: "JobFailed", message, now: at(9) },
    { type: "CHILD_FAILED", reason: "JobFailed", message, continued: true, now: at(9) },
  ],
  CHILD_ENDED: [{ type: "CHILD_ENDED", outputs: { tests: "failed" }, now: at(12) }],
  CHILD_MISSING: [{ type: "CHILD_MISSING", now: at(9) }],
  NAME_TAKEN: [{ type: "NAME_TAKEN", workflowRunName: "ci-build-5e6f7a8b", message, now: at(3) }],
  CHILD_REFUSED: [{ type: "CHILD_REFUSED", message, now: at(3) }],
  RETRY: [{ type: "RETRY", reason: "JobFailed", message, notBefore: at(11), now: at(10) }],
  CANCEL: [{ type: "CANCEL", reason: "TimedOut", message, now: at(11) }],
};

export const jobWorkflowWalk: Walk = {
  samples,
  starts: [restoreJobWorkflow({ phase: "Running", attempt: 1, collision: maxCollisions, workflowRunName })],
  essence: (snapshot: AnyMachineSnapshot) => {
    const { value, context } = snapshot as JobWorkflowSnapshot;
    const { startTime, collision, continued, workflowRunName: name } = context.status;
    return [value, startTime !== undefined, bucket(collision, maxCollisions), continued, name];
  },
};

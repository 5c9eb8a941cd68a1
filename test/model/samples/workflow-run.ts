import type { AnyMachineSnapshot } from "xstate";
import type { AppliedAction, JobStatus } from "#api/kinds/workflow-run.ts";
import { isActive, sumOfJobs } from "#machines/derive.ts";
import type { WorkflowRunEvent, WorkflowRunSnapshot } from "#machines/workflow-run.ts";
import { at, type Samples, type Walk } from "./samples.ts";

const message = "text for people";

function job(phase: JobStatus["phase"], more: Partial<JobStatus> = {}): JobStatus {
  const hasEnded = ["Succeeded", "Failed", "Cancelled", "Skipped"].includes(phase);
  return {
    phase,
    ...(phase !== "Waiting" && { attempt: 1 }),
    ...(hasEnded && { completionTime: "2025-07-06T12:00:08.000000Z" }),
    ...more,
  };
}

/** A run of two jobs on its way: what the job machines can make of them. */
const stages: readonly Record<string, JobStatus>[] = [
  { build: job("Running"), deploy: job("Waiting") },
  { build: job("Queued", { steps: [{ name: "test", phase: "Waiting" }] }), deploy: job("Waiting") },
  { build: job("Succeeded"), deploy: job("Running") },
  { build: job("Succeeded"), deploy: job("Succeeded") },
  { build: job("Failed", { reason: "StepFailed", message }), deploy: job("Skipped") },
  {
    build: job("Failed", { reason: "WorkspaceLost", message }),
    deploy: job("Failed", { reason: "StepFailed", completionTime: "2025-07-06T12:00:09.000000Z" }),
  },
  { build: job("Stopping"), deploy: job("Waiting") },
  { build: job("Cancelled", { reason: "TimedOut", message }), deploy: job("Waiting") },
];

function record(uid: string): AppliedAction {
  return {
    uid,
    name: `ci-stop-${uid}`,
    action: "Stop",
    at: "2025-07-06T12:00:32.000000Z",
    outcome: "Succeeded",
    message,
  };
}

export const workflowRunSamples: Samples<WorkflowRunEvent> = {
  FREEZE: [{ type: "FREEZE", name: "ci-snapshot-1a2b3c4d" }],
  START: [
    { type: "START", jobs: ["build", "deploy"], now: at(1) },
    { type: "START", jobs: ["build", "deploy"], snapshotRef: "ci-snapshot-1a2b3c4d", now: at(1) },
  ],
  INVALID: [
    { type: "INVALID", reason: "InvalidWorkflow", message, now: at(1) },
    { type: "INVALID", reason: "WorkflowNotFound", message, now: at(1) },
  ],
  JOBS: stages.map((jobs) => ({ type: "JOBS", jobs })),
  JOBS_SUCCEEDED: [
    { type: "JOBS_SUCCEEDED", now: at(20) },
    { type: "JOBS_SUCCEEDED", outputs: { version: "1.2.3" }, now: at(20) },
  ],
  OUTPUTS_FAILED: [{ type: "OUTPUTS_FAILED", reason: "ExpressionFailed", message, now: at(20) }],
  JOB_FAILED: [{ type: "JOB_FAILED", outputs: { tests: "failed" }, now: at(20) }],
  JOBS_ENDED: [{ type: "JOBS_ENDED", outputs: { tests: "failed" }, now: at(40) }],
  TIME_OUT: [{ type: "TIME_OUT", message, now: at(30) }],
  STOP: [{ type: "STOP", message, now: at(32) }],
  RETRY: [
    { type: "RETRY", jobs: { build: job("Waiting", { attempt: 2 }), deploy: job("Waiting") }, now: at(60) },
    {
      type: "RETRY",
      jobs: { build: job("Succeeded"), deploy: job("Waiting") },
      inputs: { region: "south" },
      suspend: true,
      shutdown: "Stop",
      now: at(61),
    },
  ],
  SUSPEND: [{ type: "SUSPEND", now: at(4) }],
  RESUME: [{ type: "RESUME", now: at(5) }],
  SPEC_SUSPEND: [{ type: "SPEC_SUSPEND", now: at(4) }],
  SPEC_RESUME: [{ type: "SPEC_RESUME", now: at(5) }],
  TERMINATE: [{ type: "TERMINATE", message, now: at(33) }],
  RECORD_ACTIONS: [{ type: "RECORD_ACTIONS", records: [record("one")] }],
  FORGET_ACTIONS: [{ type: "FORGET_ACTIONS", uids: ["one", "two"] }],
  WORKSPACE_WAITS: [
    { type: "WORKSPACE_WAITS", message, now: at(5) },
    { type: "WORKSPACE_WAITS", message: "another text", now: at(6) },
  ],
  WORKSPACE_READY: [{ type: "WORKSPACE_READY", now: at(7) }],
};

export const workflowRunWalk: Walk = {
  samples: workflowRunSamples,
  essence: (snapshot: AnyMachineSnapshot) => {
    const { value, context } = snapshot as WorkflowRunSnapshot;
    const { jobs, reason, conditions, shutdown, suspended, observedSpecSuspend, appliedActions = [] } = context.status;
    const list = Object.values(jobs ?? {});
    const waits = conditions?.find((each) => each.type === "WorkspaceReady");
    const asked = [shutdown, suspended === true, observedSpecSuspend === true, appliedActions.length > 0];
    return [value, sumOfJobs(list), list.some(isActive), reason, waits?.status, ...asked];
  },
};

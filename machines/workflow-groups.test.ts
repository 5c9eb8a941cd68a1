import { expect, test } from "vitest";
import type { JobStatus, StepStatus } from "#api/kinds/workflow-run.ts";
import { type JobMatrixEvent, jobMatrixMachine, jobMatrixStatus, restoreJobMatrix } from "./job-matrix.ts";
import { type JobWorkflowEvent, jobWorkflowMachine, jobWorkflowStatus, restoreJobWorkflow } from "./job-workflow.ts";
import { step } from "./lib/settle.ts";
import { newStep } from "./step.ts";
import { restoreStepAction, type StepActionEvent, stepActionMachine, stepActionStatus } from "./step-action.ts";

const now = Date.parse("2026-07-06T12:00:00Z");
const time = "2026-07-06T12:00:00.000000Z";
const message = "text for people";

const moveMatrix = (...events: JobMatrixEvent[]): JobStatus =>
  jobMatrixStatus(
    events.reduce((snapshot, event) => step(jobMatrixMachine, snapshot, event).snapshot, restoreJobMatrix(undefined)),
  );

const moveCall = (status: JobStatus | undefined, ...events: JobWorkflowEvent[]): JobStatus =>
  jobWorkflowStatus(
    events.reduce((snapshot, event) => step(jobWorkflowMachine, snapshot, event).snapshot, restoreJobWorkflow(status)),
  );

const moveAction = (...events: StepActionEvent[]): StepStatus =>
  stepActionStatus(
    events.reduce(
      (snapshot, event) => step(stepActionMachine, snapshot, event).snapshot,
      restoreStepAction(newStep("use")),
    ),
  );

test("a job with a matrix says how many instances it has and ends with the outputs of all", () => {
  expect(
    moveMatrix({ type: "EXPAND", instances: 3, now }, { type: "INSTANCES_SUCCEEDED", outputs: { v: "1" }, now }),
  ).toEqual({ phase: "Succeeded", instances: 3, startTime: time, completionTime: time, outputs: { v: "1" } });
});

const called = moveCall(undefined, { type: "READY", now }, { type: "START", workflowRunName: "w1", now });

test("a used Workflow that failed is tried again under another attempt, and the one before is remembered", () => {
  const again = moveCall(called, { type: "RETRY", reason: "JobFailed", message, notBefore: now, now });
  expect(again).toMatchObject({ phase: "Queued", attempt: 2, attempts: [{ number: 1, reason: "JobFailed" }] });
  expect(again).not.toHaveProperty("workflowRunName");
});

test("a used Workflow that was seen and is gone was deleted", () => {
  const seen = moveCall(called, { type: "CHILD_SEEN", startTime: time });
  expect(moveCall(seen, { type: "CHILD_MISSING", now })).toMatchObject({ phase: "Failed", reason: "ChildDeleted" });
  expect(moveCall(called, { type: "CHILD_MISSING", now })).toEqual(called);
});

test("an Action that is out of time ends its step at work first, and has failed then", () => {
  const start: StepActionEvent = { type: "START", steps: ["a", "b"], now };
  const atWork: StepActionEvent = { type: "STEPS", steps: [{ ...newStep("a"), phase: "Running" }, newStep("b")] };
  const timeOut: StepActionEvent = { type: "TIME_OUT", message, now };
  expect(moveAction(start, atWork, timeOut)).toMatchObject({ phase: "Stopping", reason: "Timeout" });
  const gone: StepActionEvent = {
    type: "STEPS",
    steps: [{ ...newStep("a"), phase: "Cancelled", reason: "Cancelled", completionTime: time }, newStep("b")],
  };
  const ended = moveAction(start, atWork, timeOut, gone, { type: "STEPS_ENDED", now });
  expect(ended).toMatchObject({ phase: "Failed", reason: "Timeout", message });
  expect(ended.steps?.map(({ phase }) => phase)).toEqual(["Cancelled", "Skipped"]);
});

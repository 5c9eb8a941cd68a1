import { expect, test } from "vitest";
import type { JobStatus, StepStatus, WorkflowRunStatus } from "#api/kinds/workflow-run.ts";
import { type JobEvent, jobMachine, jobStatus, newJob, restoreJob } from "./job.ts";
import { step } from "./lib/settle.ts";
import { newStep, restoreStep, type StepEvent, stepMachine, stepStatus } from "./step.ts";
import { maxCollisions } from "./step-status.ts";
import { restoreWorkflowRun, type WorkflowRunEvent, workflowRunMachine, workflowRunStatus } from "./workflow-run.ts";

const now = Date.parse("2026-07-06T12:00:00Z");
const time = "2026-07-06T12:00:00.000000Z";
const message = "text for people";

function moveStep(status: StepStatus, ...events: StepEvent[]) {
  let snapshot = restoreStep(status);
  const effects = events.flatMap((event) => {
    const moved = step(stepMachine, snapshot, event);
    snapshot = moved.snapshot;
    return moved.effects;
  });
  return { status: stepStatus(snapshot), effects };
}

function moveJob(status: JobStatus, ...events: JobEvent[]) {
  let snapshot = restoreJob(status);
  const effects = events.flatMap((event) => {
    const moved = step(jobMachine, snapshot, event);
    snapshot = moved.snapshot;
    return moved.effects;
  });
  return { status: jobStatus(snapshot), effects };
}

function moveRun(status: WorkflowRunStatus | undefined, ...events: WorkflowRunEvent[]) {
  let snapshot = restoreWorkflowRun(status);
  const effects = events.flatMap((event) => {
    const moved = step(workflowRunMachine, snapshot, event);
    snapshot = moved.snapshot;
    return moved.effects;
  });
  return { status: workflowRunStatus(snapshot), effects };
}

const ordered = moveStep(newStep("test"), { type: "START", runName: "r1", now }).status;
const seen = moveStep(ordered, { type: "RUN_SEEN", startTime: time }).status;

test("a step records the name of its Run and orders it", () => {
  const { status, effects } = moveStep(newStep("test"), { type: "START", runName: "r1", now });
  expect(status).toEqual({ name: "test", phase: "Running", attempt: 1, runName: "r1" });
  expect(effects).toEqual([{ type: "createRun", step: "test", runName: "r1" }]);
});

test("a Run that was ordered and never seen is ordered again; one that was seen was deleted", () => {
  expect(moveStep(ordered, { type: "RUN_MISSING", now })).toEqual({
    status: ordered,
    effects: [{ type: "createRun", step: "test", runName: "r1" }],
  });
  expect(moveStep(seen, { type: "RUN_MISSING", now }).status).toMatchObject({
    phase: "Failed",
    reason: "ChildDeleted",
  });
});

test("a namesake of another owner is never taken for the Run", () => {
  const taken: StepEvent = { type: "NAME_TAKEN", runName: "r2", message, now };
  expect(moveStep(ordered, taken)).toEqual({
    status: { ...ordered, runName: "r2", collision: 1 },
    effects: [{ type: "createRun", step: "test", runName: "r2" }],
  });
  expect(moveStep(seen, taken).status).toMatchObject({ phase: "Failed", reason: "ChildDeleted" });
  expect(moveStep({ ...ordered, collision: maxCollisions }, taken).status).toMatchObject({
    phase: "Failed",
    reason: "NameCollision",
  });
});

test("a Run that is replaced is deleted under its old name before the new one is ordered", () => {
  const { status, effects } = moveStep(seen, { type: "REPLACE", runName: "r2", message, now });
  expect(effects).toEqual([
    { type: "deleteRun", step: "test", runName: "r1" },
    { type: "createRun", step: "test", runName: "r2" },
  ]);
  expect(status).toEqual({ name: "test", phase: "Running", attempt: 1, runName: "r2", collision: 1 });
});

test("what the Run waits for is shown and goes when it runs", () => {
  const waits = moveStep(ordered, { type: "RUN_SEEN", startTime: time, reason: "WorkspaceNotBound", message }).status;
  expect(waits).toMatchObject({ reason: "WorkspaceNotBound", message, startTime: time });
  const runs = moveStep(waits, { type: "RUN_SEEN", startTime: "2026-07-06T12:00:09.000000Z" }).status;
  expect(runs).toEqual(seen);
});

test("the times of a step are those of its Run", () => {
  const [startTime, completionTime] = ["2026-07-06T12:00:01.000000Z", "2026-07-06T12:00:02.000000Z"];
  const { status } = moveStep(seen, { type: "RUN_SUCCEEDED", exitCode: 0, startTime, completionTime, now });
  expect(status).toMatchObject({ phase: "Succeeded", exitCode: 0, startTime, completionTime });
});

test("a Run that somebody cancelled fails its step, unless the workflow had asked for it", () => {
  const ended: StepEvent = { type: "RUN_CANCELLED", message, now };
  expect(moveStep(seen, ended).status).toMatchObject({ phase: "Failed", reason: "Cancelled" });
  expect(moveStep(seen, { type: "CANCEL" }, ended)).toMatchObject({
    status: { phase: "Cancelled", reason: "Cancelled" },
    effects: [{ type: "cancelRun", step: "test", runName: "r1" }],
  });
});

const queued = moveJob(newJob(), { type: "READY", steps: ["test", "package"], now }).status;
const working = moveJob(queued, { type: "START", now }).status;
const failedStep = moveStep(seen, { type: "RUN_FAILED", reason: "ExitNonZero", message: "exit code 3", now }).status;

test("a job lists its steps and orders its workspace when it becomes ready", () => {
  expect(moveJob(newJob(), { type: "READY", steps: ["test"], now })).toEqual({
    status: { phase: "Queued", attempt: 1, steps: [{ name: "test", phase: "Waiting" }] },
    effects: [{ type: "createWorkspace", attempt: 1, collision: 0 }],
  });
});

test("steps that never ran end with their job", () => {
  const { status } = moveJob(
    working,
    { type: "STEPS", steps: [failedStep, newStep("package")] },
    { type: "WORKSPACE_LOST", message, now },
  );
  expect(status).toMatchObject({
    phase: "Failed",
    reason: "WorkspaceLost",
    steps: [{ phase: "Failed" }, { name: "package", phase: "Skipped", reason: "WorkspaceLost" }],
  });
});

test("a job fails by its step once all have ended, and its own continue-on-error is noted", () => {
  const cleaned = { ...ordered, name: "clean", phase: "Succeeded", completionTime: time } as const;
  const { status } = moveJob(
    working,
    { type: "STEPS", steps: [failedStep, newStep("clean")] },
    { type: "STEP_FAILED", now },
    { type: "STEPS", steps: [failedStep, cleaned] },
    { type: "STEP_FAILED", continued: true, now },
  );
  expect(status).toMatchObject({
    phase: "Failed",
    reason: "StepFailed",
    message: "step test did not succeed (ExitNonZero: exit code 3)",
    continued: true,
  });
});

test("a job quotes the first line of what a step says: the step has the rest", () => {
  const said = "exit code 3: one\ntwo";
  const bad = moveStep(seen, { type: "RUN_FAILED", reason: "ExitNonZero", message: said, now }).status;
  const { status } = moveJob(working, { type: "STEPS", steps: [bad] }, { type: "STEP_FAILED", now });
  expect(status.message).toBe("step test did not succeed (ExitNonZero: exit code 3: one …)");
});

test("a job does not end by an event that its steps do not bear out", () => {
  const steps: JobEvent = { type: "STEPS", steps: [seen, newStep("package")] };
  for (const type of ["STEPS_SUCCEEDED", "STEP_FAILED"] as const) {
    expect(moveJob(working, steps, { type, now }).status.phase).toBe("Running");
  }
});

test("lost files fail a job only when another step would need them", () => {
  const lost: JobEvent = { type: "WORKSPACE_LOST", message, now };
  const done = moveStep(seen, { type: "RUN_SUCCEEDED", exitCode: 0, now }).status;
  const atWork: JobEvent = { type: "STEPS", steps: [seen, newStep("package")] };
  const between: JobEvent = { type: "STEPS", steps: [done, newStep("package")] };
  const all: JobEvent = { type: "STEPS", steps: [done, { ...done, name: "package" }] };
  expect(moveJob(working, atWork, lost).status.phase).toBe("Running");
  expect(moveJob(working, between, lost).status).toMatchObject({ phase: "Failed", reason: "WorkspaceLost" });
  expect(moveJob(working, all, lost, { type: "STEPS_SUCCEEDED", now }).status.phase).toBe("Succeeded");
});

test("a workspace that was lost unused is replaced under another name, one that was used is not", () => {
  const replace: JobEvent = { type: "REPLACE_WORKSPACE", message, now };
  expect(moveJob(queued, replace)).toMatchObject({
    status: { phase: "Queued", collision: 1 },
    effects: [{ type: "createWorkspace", attempt: 1, collision: 1 }],
  });
  const done = moveStep(seen, { type: "RUN_SUCCEEDED", exitCode: 0, now }).status;
  expect(moveJob(working, { type: "STEPS", steps: [done, newStep("package")] }, replace).effects).toEqual([]);
});

test("a job that cannot go on ends its step first and is Failed then, not Cancelled", () => {
  const { status } = moveJob(
    working,
    { type: "STEPS", steps: [ordered, newStep("package")] },
    { type: "WORKSPACE_REFUSED", message: "quota exceeded", now },
  );
  expect(status).toMatchObject({ phase: "Stopping", reason: "ChildRefused", message: "quota exceeded" });
  const gone = moveStep(ordered, { type: "CANCEL" }, { type: "RUN_MISSING", now }).status;
  const ended = moveJob(
    status,
    { type: "STEPS", steps: [gone, newStep("package")] },
    { type: "STEPS_ENDED", now },
  ).status;
  expect(ended).toMatchObject({ phase: "Failed", reason: "ChildRefused", message: "quota exceeded" });
  expect(ended.steps?.map((each) => each.phase)).toEqual(["Cancelled", "Skipped"]);
});

test("the latest successful step wins the name of an artifact", () => {
  const ref = (digit: string) => ({
    name: "dist.tgz",
    driver: "Filesystem" as const,
    type: "File" as const,
    location: { filesystem: { path: `runs/${digit}/artifacts/dist.tgz` } },
    sizeBytes: 1,
    digest: `sha256:${digit.repeat(64)}`,
  });
  const { status } = moveJob(
    working,
    { type: "STEPS", steps: [seen, newStep("package")], artifacts: [ref("1")] },
    { type: "STEPS", steps: [seen, ordered], artifacts: [ref("2")] },
  );
  expect(status.artifacts).toEqual({ "dist.tgz": ref("2") });
});

const started = moveRun(undefined, { type: "START", jobs: ["build", "deploy"], now }).status;
const good: JobStatus = { phase: "Succeeded", completionTime: time };
const bad = (reason: string, completionTime: string): JobStatus => ({
  phase: "Failed",
  reason,
  message,
  completionTime,
});

test("a run lists its jobs, begins to count and knows its copy of the templates", () => {
  const { status } = moveRun(undefined, { type: "START", jobs: ["build"], snapshotRef: "ci-snapshot", now });
  expect(status).toEqual({
    phase: "Running",
    attempt: 1,
    snapshotRef: { name: "ci-snapshot" },
    startTime: time,
    jobs: { build: { phase: "Waiting" } },
    progress: "0/1",
  });
});

test("templates are frozen before the run starts from them", () => {
  expect(moveRun(undefined, { type: "FREEZE", name: "ci-snapshot" })).toEqual({
    status: { phase: "Pending" },
    effects: [{ type: "createSnapshot", name: "ci-snapshot" }],
  });
});

test("a run fails for what happened first", () => {
  const jobs = {
    build: bad("StepFailed", "2026-07-06T12:00:02.000000Z"),
    deploy: bad("WorkspaceLost", "2026-07-06T12:00:01.000000Z"),
  };
  const { status } = moveRun(started, { type: "JOBS", jobs }, { type: "JOB_FAILED", now });
  expect(status).toMatchObject({
    phase: "Failed",
    reason: "WorkspaceLost",
    message: `job deploy did not succeed (WorkspaceLost: ${message})`,
    progress: "2/2",
  });
});

test("an unspecific failure of a job is JobFailed", () => {
  const jobs = { build: bad("StepFailed", time), deploy: { phase: "Skipped", completionTime: time } as const };
  expect(moveRun(started, { type: "JOBS", jobs }, { type: "JOB_FAILED", now }).status.reason).toBe("JobFailed");
});

test("a run out of time is over once its jobs are", () => {
  const out: WorkflowRunEvent = { type: "TIME_OUT", message: "longer than 1h", now };
  const atWork = { build: { phase: "Running" } as const, deploy: newJob() };
  const stopping = moveRun(started, { type: "JOBS", jobs: atWork }, out).status;
  expect(stopping).toMatchObject({ phase: "Stopping", reason: "TimedOut", message: "longer than 1h" });
  expect(moveRun(stopping, { type: "JOBS_ENDED", now }).status.phase).toBe("Stopping");
  const skipped = { phase: "Skipped", reason: "TimedOut", message, completionTime: time } as const;
  const ended = { build: { phase: "Cancelled", reason: "TimedOut", completionTime: time } as const, deploy: skipped };
  const { status } = moveRun(stopping, { type: "JOBS", jobs: ended }, { type: "JOBS_ENDED", now });
  expect(status).toMatchObject({ phase: "Failed", reason: "TimedOut", progress: "2/2" });
  expect(status.jobs?.deploy).toMatchObject({ phase: "Skipped", reason: "TimedOut" });
  expect(moveRun(started, out).status).toMatchObject({ phase: "Failed", reason: "TimedOut", progress: "2/2" });
});

test("what a run waits for is said while it waits and not at its end", () => {
  const waits = moveRun(started, { type: "WORKSPACE_WAITS", message, now }).status;
  expect(waits.conditions).toMatchObject([{ type: "WorkspaceReady", status: "False", reason: "WorkspaceCapacity" }]);
  const jobs = { build: good, deploy: good };
  const { status } = moveRun(waits, { type: "JOBS", jobs }, { type: "JOBS_SUCCEEDED", now });
  expect(status).toMatchObject({ phase: "Succeeded", progress: "2/2" });
  expect(status.conditions?.map(({ type, status: holds }) => [type, holds])).toEqual([
    ["Succeeded", "True"],
    ["Finished", "True"],
  ]);
});

import { expect, test } from "vitest";
import type { JobStatus, StepStatus, WorkflowRunStatus } from "#api/kinds/workflow-run.ts";
import { jobEvent, mustStartAnother, nextStep, progressOf, sumOfJobs, sumOfSteps, workflowRunEvent } from "./derive.ts";

const steps = (...phases: StepStatus["phase"][]): StepStatus[] =>
  phases.map((phase, index) => ({ name: `s${index + 1}`, phase }));
const jobs = (...phases: JobStatus["phase"][]): JobStatus[] => phases.map((phase) => ({ phase }));

const stepSums: Record<string, { of: StepStatus[]; want: ReturnType<typeof sumOfSteps> }> = {
  "a job whose steps all succeeded succeeds": { of: steps("Succeeded", "Succeeded"), want: "Succeeded" },
  "a skipped step is no failure": { of: steps("Succeeded", "Skipped"), want: "Succeeded" },
  "a bad step fails the job only when all have ended": { of: steps("Failed", "Waiting"), want: "Open" },
  "a bad step fails the job although one that cleaned up succeeded": {
    of: steps("Failed", "Succeeded"),
    want: "Failed",
  },
  "a failure that is passed over fails no job": {
    of: [{ name: "s1", phase: "Failed", continued: true }],
    want: "Succeeded",
  },
  "a job with a step at work is open": { of: steps("Succeeded", "Running"), want: "Open" },
  "a job with a step to come is open": { of: steps("Succeeded", "Waiting"), want: "Open" },
  "a cancelled step is a bad one": { of: steps("Cancelled"), want: "Failed" },
};

test.each(Object.entries(stepSums))("%s", (_, { of, want }) => {
  expect(sumOfSteps(of)).toBe(want);
});

const jobSums: Record<string, { of: JobStatus[]; want: ReturnType<typeof sumOfJobs> }> = {
  "a run whose jobs all ended well succeeds": { of: jobs("Succeeded", "Skipped"), want: "Succeeded" },
  "a bad job fails the run only when all have ended": { of: jobs("Failed", "Running"), want: "Open" },
  "a bad job fails the run although others succeeded": { of: jobs("Succeeded", "Failed"), want: "Failed" },
  "a run with a queued job is open": { of: jobs("Succeeded", "Queued"), want: "Open" },
};

test.each(Object.entries(jobSums))("%s", (_, { of, want }) => {
  expect(sumOfJobs(of)).toBe(want);
});

const turns: Record<string, { job: JobStatus; want: string | undefined }> = {
  "the first step that waits has its turn": {
    job: { phase: "Running", steps: steps("Succeeded", "Waiting", "Waiting") },
    want: "s2",
  },
  "no step has its turn while another is at work": {
    job: { phase: "Running", steps: steps("Running", "Waiting") },
    want: undefined,
  },
  "after a bad step the next one has its turn, be it to be skipped": {
    job: { phase: "Running", steps: steps("Failed", "Waiting") },
    want: "s2",
  },
  "no step has its turn in a job that waits for a place": {
    job: { phase: "Queued", steps: steps("Waiting") },
    want: undefined,
  },
  "no step has its turn in a job that must end": {
    job: { phase: "Stopping", steps: steps("Succeeded", "Waiting") },
    want: undefined,
  },
};

test.each(Object.entries(turns))("%s", (_, { job, want }) => {
  expect(nextStep(job)?.name).toBe(want);
});

test("the files are needed as long as another step must start", () => {
  expect(mustStartAnother(steps("Succeeded", "Waiting"))).toBe(true);
  expect(mustStartAnother(steps("Running", "Waiting"))).toBe(false);
  expect(mustStartAnother(steps("Succeeded", "Succeeded"))).toBe(false);
});

test("a stopping job is over as soon as nothing of it is at work, a stopping run when all jobs have ended: some clean up", () => {
  expect(jobEvent({ phase: "Stopping", steps: steps("Stopping", "Waiting") }, 1)).toBeUndefined();
  expect(jobEvent({ phase: "Stopping", steps: steps("Cancelled", "Waiting") }, 1)).toEqual({
    type: "STEPS_ENDED",
    now: 1,
  });
  const stopping = (phase: JobStatus["phase"]): WorkflowRunStatus => ({ phase: "Stopping", jobs: { a: { phase } } });
  expect(workflowRunEvent(stopping("Stopping"), 1)).toBeUndefined();
  expect(workflowRunEvent(stopping("Waiting"), 1)).toBeUndefined();
  expect(workflowRunEvent(stopping("Skipped"), 1)).toEqual({ type: "JOBS_ENDED", now: 1 });
});

test("a group that has ended, or has not begun, gives no event", () => {
  expect(jobEvent({ phase: "Succeeded", steps: steps("Succeeded") }, 1)).toBeUndefined();
  expect(jobEvent({ phase: "Queued", steps: steps("Waiting") }, 1)).toBeUndefined();
  expect(workflowRunEvent({ phase: "Pending" }, 1)).toBeUndefined();
});

test("of a job with a matrix its instances count as progress", () => {
  const jobs = {
    a: { phase: "Running", instances: 2 },
    "a.0": { phase: "Succeeded" },
    "a.1": { phase: "Queued" },
  } as const;
  expect(progressOf(jobs)).toBe("1/2");
});

test("progress counts the jobs that ended", () => {
  expect(progressOf({ a: { phase: "Skipped" }, b: { phase: "Running" }, c: { phase: "Failed" } })).toBe("2/3");
});

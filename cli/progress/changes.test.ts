import { expect, test } from "vitest";
import type { RunStatus } from "#api/kinds/run.ts";
import type { JobStatus, WorkflowRunStatus } from "#api/kinds/workflow-run.ts";
import { aRun, at, aWorkflowRun } from "../testing/objects.ts";
import { changeLines } from "./changes.ts";
import type { View } from "./view.ts";

const view = (part: Partial<View>): View => ({ workflowRuns: [], runs: [], waits: [], ...part });
const one = (jobs: Record<string, JobStatus>, phase?: WorkflowRunStatus["phase"]) =>
  view({ workflowRuns: [aWorkflowRun("ci-1", jobs, phase)] });
const run = (status: RunStatus | undefined) => view({ runs: [aRun("hello", status)] });

const waiting: JobStatus = { phase: "Queued", steps: [{ name: "a", phase: "Waiting" }] };
const running: JobStatus = { phase: "Running", steps: [{ name: "a", phase: "Running", runName: "r" }] };
const ended = { startTime: at(0), completionTime: at(0.204) };

const cases: Record<string, { before?: View; after: View; want: string[] }> = {
  "what waits is no news": { after: one({ build: waiting }), want: [] },
  "a step that starts": { before: one({ build: waiting }), after: one({ build: running }), want: ["build/a Running"] },
  "a step that starts is told without what it waits for": {
    after: one({
      build: { phase: "Running", steps: [{ name: "a", phase: "Running", reason: "WorkspaceNotBound", message: "m" }] },
    }),
    want: ["build/a Running"],
  },
  "the end of a step, and the start of the next one": {
    before: one({ build: running }),
    after: one({
      build: {
        phase: "Running",
        steps: [
          { name: "a", phase: "Succeeded", ...ended },
          { name: "b", phase: "Running" },
        ],
      },
    }),
    want: ["build/a Succeeded 200ms", "build/b Running"],
  },
  "the end of a job comes after those of its steps": {
    before: one({ build: running }),
    after: one({ build: { phase: "Succeeded", ...ended, steps: [{ name: "a", phase: "Succeeded", ...ended }] } }),
    want: ["build/a Succeeded 200ms", "build Succeeded 200ms"],
  },
  "a failure with its reason and the first line of its message": {
    before: one({ build: running }),
    after: one({
      build: {
        phase: "Failed",
        reason: "StepFailed",
        message: "step a did not succeed",
        steps: [
          { name: "a", phase: "Failed", reason: "ExitNonZero", message: "exit code 3: no\nsuch file", ...ended },
          { name: "b", phase: "Skipped", reason: "StepFailed" },
        ],
      },
    }),
    want: [
      "build/a Failed 200ms ExitNonZero: exit code 3: no",
      "build/b Skipped StepFailed",
      "build Failed StepFailed: step a did not succeed",
    ],
  },
  "nothing new is told twice": { before: one({ build: running }), after: one({ build: running }), want: [] },
  "a change that was never seen costs a line, not a wrong one": {
    before: one({ build: waiting }),
    after: one({ build: { phase: "Running", steps: [{ name: "a", phase: "Succeeded" }] } }),
    want: ["build/a Succeeded"],
  },
  "a step that is repeated": {
    before: one({ build: running }),
    after: one({ build: { phase: "Running", steps: [{ name: "a", phase: "Running", attempt: 2 }] } }),
    want: ["build/a Running (attempt 2)"],
  },
  "an attempt of a job that another one follows, which also stand between two views": {
    before: one({ build: running }),
    after: one({
      build: {
        phase: "Running",
        attempt: 3,
        attempts: [
          { number: 1, phase: "Failed", reason: "StepFailed", ...ended },
          { number: 2, phase: "Failed", reason: "StepFailed", ...ended },
        ],
        steps: [{ name: "a", phase: "Succeeded" }],
      },
    }),
    want: ["build Failed 200ms StepFailed", "build Failed (attempt 2) 200ms StepFailed", "build/a Succeeded"],
  },
  "an end that was told is not told again when another attempt follows": {
    before: one({ build: { phase: "Failed", reason: "StepFailed" } }),
    after: one({
      build: {
        phase: "Queued",
        attempt: 2,
        attempts: [{ number: 1, phase: "Failed", reason: "StepFailed", ...ended }],
      },
    }),
    want: [],
  },
  "labels have the WorkflowRun when there are several": {
    after: view({ workflowRuns: [aWorkflowRun("ci-1", { build: running }), aWorkflowRun("ci-2", { build: running })] }),
    want: ["ci-1 build/a Running", "ci-2 build/a Running"],
  },
  "a Run that is being placed is no news": {
    before: run({ phase: "Pending", reason: "NoReadyPods" }),
    after: run({ phase: "Scheduled" }),
    want: [],
  },
  "a Run without a status is no news": { after: run(undefined), want: [] },
  "a Run that starts": {
    before: run({ phase: "Scheduled" }),
    after: run({ phase: "Running", attempt: 1 }),
    want: ["hello Running"],
  },
  "a Run that waits for its next attempt": {
    before: run({ phase: "Running", attempt: 1 }),
    after: run({ phase: "Pending", attempt: 1, reason: "BackingOff", message: "attempt 1 of 2 failed" }),
    want: ["hello Pending BackingOff: attempt 1 of 2 failed"],
  },
  "its next attempt": {
    before: run({ phase: "Pending", attempt: 1, reason: "BackingOff" }),
    after: run({ phase: "Running", attempt: 2 }),
    want: ["hello Running (attempt 2)"],
  },
  "its end": {
    before: run({ phase: "Running", attempt: 2 }),
    after: run({ phase: "Timeout", attempt: 2, reason: "Timeout", message: "too long", ...ended }),
    want: ["hello Timeout (attempt 2) 200ms Timeout: too long"],
  },
  "what happens in a run that is a job, and in an Action, stands behind the jobs that lead there": {
    after: {
      ...one({ call: { phase: "Failed", workflowRunName: "ci-1-call", reason: "JobFailed", message: "m" } }),
      used: new Map([
        [
          "ci-1-call",
          aWorkflowRun("ci-1-call", {
            build: {
              phase: "Running",
              steps: [{ name: "use", phase: "Running", steps: [{ name: "check", phase: "Running" }] }],
            },
          }),
        ],
      ]),
    },
    want: ["call/build/use/check Running", "call/build/use Running", "call Failed JobFailed: m"],
  },
  "messages cannot steer the terminal": {
    after: run({ phase: "Failed", reason: "ExitNonZero", message: "\u001b[2Jx" }),
    want: ["hello Failed ExitNonZero: \\u001b[2Jx"],
  },
  "a wait is told once, whatever its text counts": {
    before: view({ waits: [{ label: "a", reason: "NoReadyPods", text: "1 Pod" }] }),
    after: view({
      waits: [
        { label: "a", reason: "NoReadyPods", text: "2 Pods" },
        { label: "b", reason: "NoReadyPods", text: "2 Pods. Look" },
      ],
    }),
    want: ["b waits: NoReadyPods: 2 Pods. Look"],
  },
};

test.each(Object.entries(cases))("%s", (_, { before, after, want }) => {
  expect(changeLines(before, after)).toEqual(want);
});

import { expect, test } from "vitest";
import type { Run } from "#api/kinds/run.ts";
import type { JobAttempt, JobStatus, WorkflowRun } from "#api/kinds/workflow-run.ts";
import { labels } from "#api/labels.ts";
import { aRun, at, aWorkflowRun } from "../testing/objects.ts";
import { type Family, stepRuns } from "./step-runs.ts";

interface Belonging {
  readonly job: string;
  readonly attempt: number;
  readonly step?: string;
}

function child<T extends Run | WorkflowRun>(object: T, owner: string, { job, attempt, step }: Belonging): T {
  const own = {
    [labels.job]: job,
    [labels.attempt]: String(attempt),
    ...(step !== undefined && { [labels.step]: step }),
  };
  const ownerReferences = [
    { apiVersion: "kruntimes.io/v1alpha1", kind: "WorkflowRun", name: owner, uid: `uid-${owner}`, controller: true },
  ];
  return { ...object, metadata: { ...object.metadata, labels: own, ownerReferences } };
}

const earlier = (name: string, job: string, attempt: number, step: string, startedAt = 0) =>
  child(aRun(name, { phase: "Failed", startTime: at(startedAt) }), "ci", { job, attempt, step });

const job = (attempt: number, runName?: string, rest: Partial<JobStatus> = {}): JobStatus => ({
  phase: "Running",
  attempt,
  steps: [{ name: "test", phase: "Running", ...(runName !== undefined && { runName }) }],
  ...rest,
});

const failed = (...numbers: number[]): JobAttempt[] =>
  numbers.map((number) => ({ number, phase: "Failed", startTime: at(number) }));

const cases: Record<
  string,
  { jobs: Record<string, JobStatus>; family?: Partial<Family>; order?: string[]; want: string[]; gone?: string[] }
> = {
  "the only attempt of a job needs no number": {
    jobs: { build: job(1, "r1") },
    want: ["build/test r1"],
  },
  "attempts come in their order, the steps of each in the order in which they started": {
    jobs: { build: job(3, "r3") },
    family: {
      runs: [
        earlier("r2", "build", 2, "test", 7),
        earlier("r1-test", "build", 1, "test", 5),
        earlier("r1-make", "build", 1, "make", 3),
      ],
    },
    want: [
      "build (attempt 1)/make r1-make *",
      "build (attempt 1)/test r1-test *",
      "build (attempt 2)/test r2 *",
      "build (attempt 3)/test r3",
    ],
  },
  "an attempt that has not begun leaves those before it": {
    jobs: { build: job(2) },
    family: { runs: [earlier("r1", "build", 1, "test")] },
    want: ["build (attempt 1)/test r1 *"],
  },
  "attempts that the status has forgotten are there as long as their Runs are": {
    jobs: { build: job(12, "r12", { attempts: failed(2) }) },
    family: { runs: [earlier("r1", "build", 1, "test"), earlier("r2", "build", 2, "test")] },
    want: ["build (attempt 1)/test r1 *", "build (attempt 2)/test r2 *", "build (attempt 12)/test r12"],
  },
  "attempts whose Runs are gone are named": {
    jobs: { build: job(3, "r3", { attempts: failed(1, 2) }) },
    family: { runs: [earlier("r2", "build", 2, "test")] },
    want: ["build (attempt 2)/test r2 *", "build (attempt 3)/test r3"],
    gone: ["build (attempt 1)"],
  },
  "an attempt that never ran has left nothing to miss": {
    jobs: {
      build: job(2, "r2", { attempts: [{ number: 1, phase: "Failed", reason: "ExpressionFailed" }] }),
      lint: job(2, "l2", { attempts: [{ number: 1, phase: "Skipped", startTime: at(1) }] }),
    },
    want: ["build (attempt 2)/test r2", "lint (attempt 2)/test l2"],
  },
  "instances that a matrix had once are missed like jobs": {
    jobs: {
      build: {
        phase: "Running",
        attempt: 2,
        instances: 1,
        former: [{ id: "build.1", matrix: {}, attempts: failed(1) }],
      },
      "build.0": job(2, "b0"),
    },
    want: ["build.0 (attempt 2)/test b0"],
    gone: ["build (attempt 1)"],
  },
  "jobs come in the order of the graph, instances in that of their numbers, also those that their matrix had once": {
    jobs: {
      "build.10": job(2, "b10"),
      "build.2": job(2, "b2"),
      build: { phase: "Running", attempt: 2, instances: 2, attempts: failed(1) },
      first: job(1, "f"),
    },
    family: { runs: [earlier("b11", "build.11", 1, "test"), earlier("b2-1", "build.2", 1, "test")] },
    order: ["first", "build"],
    want: [
      "first/test f",
      "build.2 (attempt 1)/test b2-1 *",
      "build.2 (attempt 2)/test b2",
      "build.10 (attempt 2)/test b10",
      "build.11 (attempt 1)/test b11 *",
    ],
  },
  "what an instance did under another number is not missed": {
    jobs: { "build.0": job(2, "b0", { matrix: { os: "a" }, attempts: failed(1) }) },
    family: { runs: [earlier("b1", "build.1", 1, "test")] },
    want: ["build.0 (attempt 2)/test b0", "build.1 (attempt 1)/test b1 *"],
  },
  "the WorkflowRuns that earlier attempts of a job were are looked into": {
    jobs: { call: { phase: "Running", attempt: 2, workflowRunName: "c2" } },
    family: {
      workflowRuns: [
        child(aWorkflowRun("c2", { mid: job(1, "m2") }), "ci", { job: "call", attempt: 2 }),
        child(aWorkflowRun("c1", { mid: job(2, "m1") }), "ci", { job: "call", attempt: 1 }),
      ],
      runs: [child(aRun("m0", undefined), "c1", { job: "mid", attempt: 1, step: "test" })],
    },
    want: [
      "call (attempt 1)/mid (attempt 1)/test m0 *",
      "call (attempt 1)/mid (attempt 2)/test m1 *",
      "call (attempt 2)/mid/test m2",
    ],
  },
  "what only looks like a child is none": {
    jobs: { build: job(2, "r2") },
    family: {
      runs: [
        child(aRun("stranger", undefined), "other", { job: "build", attempt: 1, step: "test" }),
        {
          metadata: { name: "alone", labels: { [labels.job]: "build", [labels.attempt]: "1" } },
          spec: { runtime: "bash" },
        },
      ],
    },
    want: ["build (attempt 2)/test r2"],
  },
  "the Runs of an Action stand for the step that uses it": {
    jobs: {
      build: {
        phase: "Running",
        steps: [{ name: "use", phase: "Running", steps: [{ name: "say", phase: "Running", runName: "s" }] }],
      },
    },
    want: ["build/use s"],
  },
};

test.each(Object.entries(cases))("%s", (_, { jobs, family = {}, order, want, gone = [] }) => {
  const found = stepRuns(aWorkflowRun("ci", jobs), { runs: [], workflowRuns: [], ...family }, order);
  expect(found.steps.map(({ runName, path, earlier }) => `${path.join("/")} ${runName}${earlier ? " *" : ""}`)).toEqual(
    want,
  );
  expect(found.gone).toEqual(gone);
});

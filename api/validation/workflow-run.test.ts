import { expect, test } from "vitest";
import type { WorkflowRun, WorkflowRunSpec } from "../kinds/workflow-run.ts";
import { validateCreate, validateUpdate } from "./index.ts";

const step = (name: string, run = "true") => ({ name, run });
const run = (spec: Partial<WorkflowRunSpec> = {}, name = "ci"): WorkflowRun => ({
  metadata: { name },
  spec: { jobs: { build: { "runs-on": "bash", steps: [step("a"), step("b")] } }, ...spec },
});

test("jobs never change, not even the order of their steps", () => {
  expect(validateUpdate("WorkflowRun", run(), run({ ttlSecondsAfterFinished: 5 }))).toEqual([]);
  const swapped = run({ jobs: { build: { "runs-on": "bash", steps: [step("b"), step("a")] } } });
  const renamed = run({ jobs: { test: { "runs-on": "bash", steps: [step("a"), step("b")] } } });
  const edited = run({ jobs: { build: { "runs-on": "bash", steps: [step("a"), step("b", "false")] } } });
  for (const changed of [swapped, renamed, edited]) {
    expect(validateUpdate("WorkflowRun", run(), changed)).toEqual([
      {
        path: "spec.jobs",
        message: "jobs cannot be changed",
        advice: "Create a new WorkflowRun instead.",
        type: "FieldValueForbidden",
      },
    ]);
  }
});

test("inputs never change, not even to others of the same number", () => {
  const withInputs = (inputs: Record<string, unknown>): WorkflowRun => ({
    metadata: { name: "ci" },
    spec: { workflowRef: { name: "w" }, inputs },
  });
  const errors = validateUpdate("WorkflowRun", withInputs({ a: 1 }), withInputs({ b: 1 }));
  expect(errors.map((error) => error.path)).toContain("spec.inputs");
});

test("its name becomes a label", () => {
  expect(validateCreate("WorkflowRun", run({}, "a".repeat(63)))).toEqual([]);
  expect(validateCreate("WorkflowRun", run({}, "a".repeat(64))).map((error) => error.path)).toEqual(["metadata.name"]);
  expect(validateCreate("WorkflowRun", { ...run(), metadata: { name: "", generateName: "ci-" } })).toEqual([]);
});

test("its timeout is honoured, so it must be one", () => {
  expect(validateCreate("WorkflowRun", run({ timeout: "2h" }))).toEqual([]);
  expect(validateCreate("WorkflowRun", run({ timeout: "0s" })).map((error) => error.path)).toEqual(["spec.timeout"]);
});

test("simple templates and workspaces are fine", () => {
  const steps = [step("a")];
  const of = (spec: object) => ({ metadata: { name: "a" }, spec });
  expect(validateCreate("Workflow", of({ jobs: { a: { "runs-on": "bash", steps } } }))).toEqual([]);
  expect(validateCreate("Action", of({ steps }))).toEqual([]);
  expect(validateCreate("PersistentWorkspace", of({ runtime: "bash" }))).toEqual([]);
  expect(validateUpdate("PersistentWorkspace", of({ runtime: "bash" }), of({ runtime: "bash", ttl: 1 }))).toEqual([]);
});

test("parameters of a Retry never change", () => {
  const retry = (nodeFieldSelector: string) => ({
    metadata: { name: "r" },
    spec: { workflowRef: { name: "ci" }, action: "Retry", retry: { nodeFieldSelector } },
  });
  const errors = validateUpdate("WorkflowAction", retry("job=a"), retry("job=b"));
  expect(errors.map((error) => error.path)).toEqual(["spec.retry"]);
});

import { expect, test } from "vitest";
import { parse } from "yaml";
import type { ActionSpec, WorkflowSpec } from "#api/kinds/workflow.ts";
import type { JobStatus } from "#api/kinds/workflow-run.ts";
import { compileWorkflow } from "./compile-workflow.ts";
import type { Templates } from "./plan.ts";
import { missingArtifact, retrySet } from "./retry-set.ts";

const inner: WorkflowSpec = { inputs: { text: {} }, jobs: { a: { "runs-on": "b", steps: [{ name: "s", run: "x" }] } } };
const say: ActionSpec = { inputs: { text: {} }, steps: [{ name: "s", run: "echo ${{ inputs.text }}" }] };
const templates: Templates = {
  action: (name) => (name === "say" ? say : undefined),
  workflow: (name) => (name === "inner" ? inner : undefined),
};

function plan(text: string) {
  const compiled = compileWorkflow(parse(text) as WorkflowSpec, { path: "spec", templates });
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.errors));
  return compiled.plan;
}

const inputs = "inputs: {x: {}, y: {default: b}}";
const job = (fields: string, step = "run: 'true'") => `{runs-on: b, ${fields} steps: [{name: s, ${step}}]}`;
const used: Record<string, string> = {
  "its if": job("if: inputs.x == '1',"),
  "its variables": job("env: {V: '${{ inputs.x }}'},"),
  "its outputs": job("outputs: {o: '${{ inputs.x }}'},"),
  "continue-on-error": job("continue-on-error: '${{ inputs.x }}',"),
  "runs-on": "{runs-on: '${{ inputs.x }}', steps: [{name: s, run: 'true'}]}",
  "a script": job("", "run: 'echo ${{ inputs.x }}'"),
  "a computed name": job("", "run: 'echo ${{ inputs[inputs.y] }}'"),
  "all inputs together": job("", "run: 'echo ${{ toJSON(inputs) }}'"),
  "another spelling": job("", "run: 'echo ${{ INPUTS.X }}'"),
  "the if of a step": job("", "if: inputs.x == '1', run: 'true'"),
  "the variables of a step": job("", "env: {V: '${{ inputs.x }}'}, run: 'true'"),
  "continue-on-error of a step": job("", "continue-on-error: '${{ inputs.x }}', run: 'true'"),
  "what a step hands to an Action": job("", "uses: say, with: {text: '${{ inputs.x }}'}"),
  "the message of a gate": job("", "suspend: {message: '${{ inputs.x }}'}"),
  "what it hands to a Workflow": "{uses: inner, with: {text: '${{ inputs.x }}'}}",
};
const unused: Record<string, string> = {
  "another input": job("", "run: 'echo ${{ inputs.y }}'"),
  "an input of that name of an Action": job("", "uses: say, with: {text: '${{ inputs.y }}'}"),
  "an output of that name": job("outputs: {x: '${{ inputs.y }}'},"),
};

const succeeded: JobStatus = { phase: "Succeeded", attempt: 1 };
const failed: JobStatus = { phase: "Failed", attempt: 1, reason: "StepFailed" };
const values = { inputs: { x: "2" }, run: {} };
const override = { changed: new Set(["x"]), values };

function again(text: string, jobs: Record<string, JobStatus>) {
  const chosen = retrySet(plan(text), jobs, { restartSuccessful: false, override });
  return chosen.ok ? Object.fromEntries(chosen.set) : chosen.message;
}

test.each(Object.entries(used))("a job that uses the input in %s runs again", (_, fields) => {
  const text = `{${inputs}, jobs: {j: ${fields}}}`;
  expect(again(text, { j: succeeded })).toEqual({ j: "all" });
});

test.each(Object.entries(unused))("a job that only uses %s does not", (_, fields) => {
  expect(again(`{${inputs}, jobs: {j: ${fields}}}`, { j: succeeded })).toEqual({});
});

test("variables of the workflow are part of every job with steps", () => {
  const text = `{${inputs}, env: {V: "\${{ inputs.x }}"}, jobs: {j: ${job("")}, k: {uses: inner}}}`;
  expect(again(text, { j: succeeded, k: succeeded })).toEqual({ j: "all" });
});

const fan = (more = "") =>
  `{inputs: {x: {}}, jobs: {a: ${job("")}, m: ${job(`needs: [a], ${more} strategy: {matrix: {n: ["\${{ inputs.x }}", 9]}},`)}}}`;
const instance = (n: unknown, status: JobStatus): JobStatus => ({ ...status, matrix: { n } });
const ended = { a: succeeded, m: { ...succeeded, instances: 2 } };

test("a matrix that uses the input keeps the instances whose values stay, as far as they succeeded", () => {
  const jobs = { ...ended, "m.0": instance("1", succeeded), "m.1": instance(9, succeeded) };
  const kept = { values: { n: 9 }, from: "m.1", runs: false };
  expect(again(fan(), jobs)).toEqual({ m: [{ values: { n: "2" }, runs: true }, kept] });
  const bad = { ...jobs, "m.1": instance(9, failed) };
  expect(again(fan(), bad)).toEqual({
    m: [
      { values: { n: "2" }, runs: true },
      { ...kept, runs: true },
    ],
  });
});

test("a matrix that comes out as it was is left alone; behind a job that runs again it is known later, and runs wholly", () => {
  const same = { ...ended, "m.0": instance("2", succeeded), "m.1": instance(9, succeeded) };
  expect(again(fan(), same)).toEqual({});
  expect(again(fan(), { ...same, a: failed })).toEqual({ a: "all", m: "all" });
});

test("values that two instances share are two instances", () => {
  const text = `{inputs: {x: {}}, jobs: {m: ${job(`strategy: {matrix: {n: ["\${{ inputs.x }}", "2"]}},`)}}}`;
  const jobs = { m: { ...succeeded, instances: 2 }, "m.0": instance("1", succeeded), "m.1": instance("2", succeeded) };
  expect(again(text, jobs)).toEqual({
    m: [
      { values: { n: "2" }, from: "m.1", runs: false },
      { values: { n: "2" }, runs: true },
    ],
  });
});

const artifact = (uid: string) => ({
  dist: { name: "dist", location: { filesystem: { path: `runs/${uid}/artifacts/dist` } } } as never,
});
const taking = plan(`{jobs: {
  m: ${job("strategy: {matrix: {n: [1, 2]}},")},
  t: ${job("needs: [m],", "artifacts: [{from: jobs.m.artifacts.dist, path: d}], run: 'true'")}}}`);
const m: JobStatus = { phase: "Failed", attempt: 1, instances: 2 };
const skipped: JobStatus = { phase: "Skipped", reason: "NeedsNotSucceeded" };

test.each([
  ["an instance that is kept has it, and its Run is there", succeeded, failed, "one", undefined],
  [
    "an instance that is kept has it, and its Run is gone",
    succeeded,
    failed,
    "gone",
    /and the Run that it is of is gone$/,
  ],
  ["the instance that has it runs again", failed, succeeded, "gone", undefined],
])("an artifact of a matrix that runs again in part: %s", (_, first, second, uid, want) => {
  const jobs = {
    m,
    t: skipped,
    "m.0": { ...instance(1, first), artifacts: artifact(uid) },
    "m.1": instance(2, second),
  };
  const chosen = retrySet(taking, jobs, { restartSuccessful: false });
  if (!chosen.ok) throw new Error(chosen.message);
  const missing = missingArtifact(taking, jobs, chosen.set, new Set(["one"]));
  if (want === undefined) expect(missing).toBeUndefined();
  else expect(missing).toMatch(want);
});

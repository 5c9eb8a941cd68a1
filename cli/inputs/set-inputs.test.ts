import { expect, test } from "vitest";
import { parse } from "yaml";
import { CliError, errorLines } from "../errors.ts";
import { planOf } from "../manifests/plan.ts";
import { joined, manifestsOf, runtime, workflow } from "../testing/manifests.ts";
import { typedInputs, withInputs } from "./set-inputs.ts";

const release = {
  metadata: { name: "release" },
  spec: parse(
    "{inputs: {version: {required: true}, count: {type: number}, dry: {type: boolean, default: false}, level: {type: choice, options: [low, high]}}, jobs: {}}",
  ),
};

const saidBy = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    return error instanceof CliError ? errorLines(error) : error;
  }
};

test("texts of the command line become what the Workflow declares, and defaults stay with the cluster", () => {
  expect(typedInputs(release, { version: "1.20", count: "3", dry: "true", level: "high" })).toEqual({
    version: "1.20",
    count: 3,
    dry: true,
    level: "high",
  });
  expect(typedInputs(release, { version: "1" })).toEqual({ version: "1" });
});

test("what does not fit is told at once", () => {
  expect(saidBy(() => typedInputs(release, { versoin: "1", count: "many", level: "middle" }))).toEqual([
    "krt: the inputs do not fit Workflow release",
    '     versoin: Workflow release has no input "versoin". Its inputs: version, count, dry and level.',
    '     version: Workflow release must get input "version". Give it a value.',
    '     count: "many" is no number. Write a number, e.g. 3 or 1.5.',
    '     level: "middle" is none of the options. Choose one of low and high.',
    "     Did you mean version?",
  ]);
});

const declared = workflow.replace("spec:", "spec:\n  inputs: {count: {type: number}, who: {}}");
const inFile = `apiVersion: kruntimes.io/v1alpha1
kind: WorkflowRun
metadata: {name: ci-1}
spec: {workflowRef: {name: ci}, inputs: {count: 1, who: x}}
`;

test("a Workflow of a file gets them, and a WorkflowRun of the file beside its own", () => {
  const inputsOf = (...documents: string[]) =>
    withInputs(planOf(manifestsOf(joined(runtime, declared, ...documents))), { count: "2" }).executions.map(
      ({ object }) => (object.spec as { inputs?: unknown }).inputs,
    );
  expect(inputsOf()).toEqual([{ count: 2 }]);
  expect(inputsOf(inFile)).toEqual([{ count: 2, who: "x" }]);
});

test("files without a Workflow have nobody to give them to", () => {
  const inline = `apiVersion: kruntimes.io/v1alpha1
kind: WorkflowRun
metadata: {name: one}
spec: {jobs: {a: {runs-on: bash, steps: [{name: s, run: x}]}}}
`;
  expect(saidBy(() => withInputs(planOf(manifestsOf(joined(runtime, inline))), { count: "2" }))).toEqual([
    "krt: --set is for Workflows, and the files run none",
    "     Name a file with the Workflow, or write the values into the file.",
  ]);
});

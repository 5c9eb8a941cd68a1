import { expect, test } from "vitest";
import {
  joined,
  manifestsOf,
  problemsOf,
  run,
  runtime,
  workflow,
  workflowRun,
  workspace,
} from "../testing/manifests.ts";
import { nameOf } from "./manifest.ts";
import { planOf } from "./plan.ts";

const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n";
const claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: c}\n";
const action =
  "apiVersion: kruntimes.io/v1alpha1\nkind: Action\nmetadata: {name: act}\nspec: {steps: [{name: a, run: b}]}\n";

function plan(...documents: string[]) {
  const { definitions, executions } = planOf(manifestsOf(joined(...documents)));
  return {
    definitions: definitions.map(nameOf),
    executions: executions.map(({ kind, object }) => `${kind} ${object.metadata.name ?? object.metadata.generateName}`),
  };
}

test("a WorkflowAction is nothing to run", async () => {
  const asks =
    "apiVersion: kruntimes.io/v1alpha1\nkind: WorkflowAction\nmetadata: {name: a}\nspec: {workflowRef: {name: ci-1}, action: Stop}\n";
  expect(await problemsOf(() => planOf(manifestsOf(joined(runtime, workflow, asks))))).toEqual([
    "f.yaml:18:1: a WorkflowAction is nothing to run: it asks something of a WorkflowRun that is there. Create it with kubectl, or use krt workflow stop, resume and so on.",
  ]);
});

test("what others refer to is created first, and otherwise the order of the files is kept", () => {
  const other = run.replace("hello", "bye");
  expect(plan(workflowRun, run, other, workflow, action, workspace, runtime, claim, secret)).toEqual({
    definitions: [
      "Secret s",
      "PersistentVolumeClaim c",
      "Runtime bash",
      "PersistentWorkspace files",
      "Action act",
      "Workflow ci",
    ],
    executions: ["Run hello", "Run bye", "WorkflowRun ci-1"],
  });
});

test("every Workflow is executed once when nothing else asks for an execution", () => {
  const other = workflow.replace("name: ci", "name: nightly, namespace: default");
  const { executions } = planOf(manifestsOf(joined(runtime, workflow, other)));
  expect(executions.map(({ object }) => object)).toEqual([
    { metadata: { generateName: "ci-", namespace: "default" }, spec: { workflowRef: { name: "ci" } } },
    { metadata: { generateName: "nightly-", namespace: "default" }, spec: { workflowRef: { name: "nightly" } } },
  ]);
});

test("a Run beside a Workflow is what is executed", () => {
  expect(plan(runtime, workflow, run).executions).toEqual(["Run hello"]);
});

const nothing: Record<string, { documents: string[]; want: string }> = {
  "only definitions": {
    documents: [runtime, secret],
    want: "there is nothing to run: the files hold only Runtime bash, Secret s",
  },
  "no document at all": { documents: [], want: "there is nothing to run: the files are empty" },
};

test.each(Object.entries(nothing))("nothing to run: %s", (_, { documents, want }) => {
  expect(() => plan(...documents)).toThrow(want);
});

test("references that lead nowhere are refused before anything is started", async () => {
  expect(await problemsOf(() => plan(workflow))).toEqual([
    "f.yaml:7:7: Runtime bash is in none of the files. They hold no Runtime at all; name the file that has it, too.",
  ]);
});

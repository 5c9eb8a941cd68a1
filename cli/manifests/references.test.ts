import { expect, test } from "vitest";
import { joined, manifestsOf, run, runtime, workflow, workflowRun, workspace } from "../testing/manifests.ts";
import { formatProblem } from "./problem.ts";
import { missingReferences } from "./references.ts";

const claim =
  "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: artifacts}\nspec: {accessModes: [ReadWriteMany]}\n";
const store = `${runtime}  artifactStore: {driver: Filesystem, filesystem: {volumeClaimName: artifacts}}\n`;
const none = (kind: string) => `They hold no ${kind} at all; name the file that has it, too.`;

const cases: Record<string, { text: string; want: string[] }> = {
  "all that is referred to is there": { text: joined(workflow, run, workspace, workflowRun, claim, store), want: [] },
  "a Runtime of a Run": {
    text: run,
    want: [`f.yaml:4:8: Runtime bash is in none of the files. ${none("Runtime")}`],
  },
  "a Runtime of a job that is misspelt": {
    text: joined(runtime, workflow.replace("bash", "bsh")),
    want: ["f.yaml:13:7: Runtime bsh is in none of the files. Did you mean bash?"],
  },
  "a Runtime of a job of a WorkflowRun": {
    text: workflow.replace("kind: Workflow", "kind: WorkflowRun"),
    want: [`f.yaml:7:7: Runtime bash is in none of the files. ${none("Runtime")}`],
  },
  "a Workflow": {
    text: workflowRun,
    want: [`f.yaml:4:22: Workflow ci is in none of the files. ${none("Workflow")}`],
  },
  "a workspace of a Run and the Runtime of a workspace": {
    text: joined(
      workspace.replaceAll("bash", "zsh"),
      runtime,
      run.replace("runtime: bash", "runtime: bash, workspace: {name: cache}"),
    ),
    want: [
      "f.yaml:4:8: Runtime zsh is in none of the files. They hold bash; name the file that has it, too.",
      "f.yaml:15:35: PersistentWorkspace cache is in none of the files. They hold files; name the file that has it, too.",
    ],
  },
  "the claim of an artifact store": {
    text: store,
    want: [`f.yaml:6:52: PersistentVolumeClaim artifacts is in none of the files. ${none("PersistentVolumeClaim")}`],
  },
  "the claim of a workspace volume": {
    text: `${runtime}  workspace: {persistentVolumeClaim: {claimName: disk}}\n`,
    want: [`f.yaml:6:39: PersistentVolumeClaim disk is in none of the files. ${none("PersistentVolumeClaim")}`],
  },
  "a Secret and a ConfigMap of variables, but not an optional one": {
    text: joined(
      runtime,
      run.replace(
        "runtime: bash",
        "runtime: bash, env: [{name: A, valueFrom: {secretKeyRef: {name: db, key: k}}}, {name: B, valueFrom: {configMapKeyRef: {name: c, key: k}}}, {name: C, valueFrom: {secretKeyRef: {name: o, key: k, optional: true}}}]",
      ),
    ),
    want: [
      `f.yaml:10:66: Secret db is in none of the files. ${none("Secret")}`,
      `f.yaml:10:127: ConfigMap c is in none of the files. ${none("ConfigMap")}`,
    ],
  },
  "the credentials of a repository": {
    text: joined(runtime, run.replace(/source: \{.*?\}/, "source: {repoURL: x, credentialsSecretName: git}")),
    want: [`f.yaml:10:44: Secret git is in none of the files. ${none("Secret")}`],
  },
  "an object of another namespace is another one": {
    text: joined(runtime, run.replace("name: hello", "name: hello, namespace: ci")),
    want: [`f.yaml:10:8: Runtime bash is in none of the files in namespace ci. ${none("Runtime")}`],
  },
  "what has no form is the API server's to judge": {
    text: joined(run.replace("runtime: bash", "runtime: [bash]"), workflow.replace(/jobs:[\s\S]*/, "jobs: [1, 2]\n")),
    want: [],
  },
};

test.each(Object.entries(cases))("%s", (_, { text, want }) => {
  expect(missingReferences(manifestsOf(text)).map(formatProblem)).toEqual(want);
});

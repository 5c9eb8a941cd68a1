import { expect, test } from "vitest";
import { duplicates, type Manifest, nameOf, toManifest } from "./manifest.ts";
import { parseManifests } from "./parse.ts";
import { formatProblem } from "./problem.ts";

const read = (text: string, namespace?: string) =>
  parseManifests("f.yaml", text).documents.map((document) => toManifest(document, namespace));

const head = "apiVersion: kruntimes.io/v1alpha1\nkind: Run\n";

const refused: Record<string, { text: string; namespace?: string; want: string }> = {
  "a list": {
    text: "- a\n",
    want: "f.yaml:1:1: this document is no object. Write apiVersion, kind, metadata and spec.",
  },
  "a text": {
    text: "hello\n",
    want: "f.yaml:1:1: this document is no object. Write apiVersion, kind, metadata and spec.",
  },
  "no kind": {
    text: "apiVersion: v1\nmetadata: {name: a}\n",
    want: "f.yaml:1:1: kind is missing. Write what the object is, e.g. kind: Workflow.",
  },
  "no apiVersion": {
    text: "kind: Run\nmetadata: {name: a}\n",
    want: "f.yaml:1:1: apiVersion is missing. Write e.g. apiVersion: kruntimes.io/v1alpha1.",
  },
  "a kind that is misspelt": {
    text: "apiVersion: kruntimes.io/v1alpha1\nkind: Workflw\nmetadata: {name: a}\n",
    want: "f.yaml:2:1: there is no kind Workflw. Did you mean Workflow?",
  },
  "a kind that nobody knows": {
    text: "apiVersion: v1\nkind: Gizmo\nmetadata: {name: a}\n",
    want:
      "f.yaml:2:1: there is no kind Gizmo. krt takes Namespace, Secret, ConfigMap, ServiceAccount, RoleBinding, Service, " +
      "NetworkPolicy, PersistentVolumeClaim, Runtime, PersistentWorkspace, Action, Workflow, Run, WorkflowRun, WorkflowAction.",
  },
  "a kind that has another form here": {
    text: "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\n",
    want: "f.yaml:2:1: krt takes no Job. Write a Run.",
  },
  "a wrong version": {
    text: "kind: Run\napiVersion: kruntimes.io/v1\nmetadata: {name: a}\n",
    want: "f.yaml:2:1: there is no Run in apiVersion kruntimes.io/v1. Write apiVersion: kruntimes.io/v1alpha1.",
  },
  "no name": {
    text: `${head}metadata: {labels: {a: b}}\n`,
    want: "f.yaml:3:1: Run: metadata.name is missing. Give the object a name.",
  },
  "no metadata": { text: head, want: "f.yaml:1:1: Run: metadata.name is missing. Give the object a name." },
  "a name that is a number": {
    text: `${head}metadata: {name: 12}\n`,
    want: 'f.yaml:3:12: Run: metadata.name must be a text, and is the number 12. Put quotes around it: "12".',
  },
  "a name that is a truth value to YAML": {
    text: `${head}metadata:\n  name: on\n`,
    want: 'f.yaml:4:3: Run: metadata.name must be a text, and without quotes YAML reads on as true. Put quotes around it: "on".',
  },
  "a name that is a number to YAML": {
    text: `${head}metadata: {generateName: 010}\n`,
    want: 'f.yaml:3:12: Run: metadata.generateName must be a text, and without quotes YAML reads 010 as 8. Put quotes around it: "010".',
  },
  "a name that is a list": {
    text: `${head}metadata: {name: [a]}\n`,
    want: "f.yaml:3:12: Run: metadata.name must be a text, and is a list",
  },
  "metadata that are a text": {
    text: `${head}metadata: hello\n`,
    want: "f.yaml:3:1: Run: metadata must be a map, and is a text. Write name below it.",
  },
  "a kind that is a truth value": {
    text: "apiVersion: v1\nkind: true\nmetadata: {name: a}\n",
    want: "f.yaml:2:1: kind must be a text, and is true. Write what the object is, e.g. kind: Workflow.",
  },
  "an apiVersion that is a number": {
    text: "apiVersion: 1\nkind: Run\nmetadata: {name: a}\n",
    want: "f.yaml:1:1: apiVersion must be a text, and is the number 1. Write e.g. apiVersion: kruntimes.io/v1alpha1.",
  },
  "a label that is a truth value": {
    text: `${head}metadata:\n  name: a\n  labels: {a: b, c: yes}\n`,
    want: 'f.yaml:5:18: Run: metadata.labels[c] must be a text, and without quotes YAML reads yes as true. Put quotes around it: "yes".',
  },
  "an annotation that is a number": {
    text: `${head}metadata:\n  name: a\n  annotations:\n    build: 7\n`,
    want: 'f.yaml:6:5: Run: metadata.annotations[build] must be a text, and is the number 7. Put quotes around it: "7".',
  },
  "labels that are a list": {
    text: `${head}metadata: {name: a, labels: [b]}\n`,
    want: "f.yaml:3:21: Run: metadata.labels must be a map, and is a list",
  },
  "a namespace that is not the one of the command line": {
    text: `${head}metadata:\n  name: a\n  namespace: one\n`,
    namespace: "two",
    want: "f.yaml:5:3: namespace one is not two, which --namespace says. Leave out one of the two.",
  },
  "a namespace that is a list": {
    text: `${head}metadata:\n  name: a\n  namespace: [one]\n`,
    want: "f.yaml:5:3: Run: metadata.namespace must be a text, and is a list",
  },
};

test.each(Object.entries(refused))("refused: %s", (_, { text, namespace, want }) => {
  const [problem] = read(text, namespace);
  expect(problem && "message" in problem ? formatProblem(problem) : problem).toBe(want);
});

const places: Record<string, { metadata: string; namespace?: string; want: string | undefined }> = {
  "default where nobody says anything": { metadata: "{name: a}", want: "default" },
  "the one of the command line": { metadata: "{name: a}", namespace: "ci", want: "ci" },
  "the one of the object": { metadata: "{name: a, namespace: ci}", want: "ci" },
  "one that is empty is none": { metadata: "{name: a, namespace: ''}", want: "default" },
  "and one that is null": { metadata: "{name: a, namespace: }", namespace: "ci", want: "ci" },
  "a name that the server makes up": { metadata: "{generateName: a-}", want: "default" },
};

test.each(Object.entries(places))("namespace: %s", (_, { metadata, namespace, want }) => {
  const [manifest] = read(`${head}metadata: ${metadata}\n`, namespace);
  expect((manifest as Manifest).object.metadata.namespace).toBe(want);
});

test("an object without a namespace gets none", () => {
  const [manifest] = read("apiVersion: v1\nkind: Namespace\nmetadata: {name: ci}\n", "other");
  expect((manifest as Manifest).object.metadata).toEqual({ name: "ci" });
});

test("objects are called by kind and name", () => {
  const manifests = read(`${head}metadata: {name: a}\n---\n${head}metadata: {generateName: b-}\n`) as Manifest[];
  expect(manifests.map(nameOf)).toEqual(["Run a", "Run b-*"]);
});

test("what stands twice is told with the place where it stands first", () => {
  const one = `${head}metadata:\n  name: a\n`;
  const other = `${head}metadata:\n  name: a\n  namespace: other\n`;
  const made = `${head}metadata:\n  generateName: a-\n`;
  const manifests = read([one, other, made, one, made].join("---\n")) as Manifest[];
  expect(duplicates(manifests).map(formatProblem)).toEqual([
    "f.yaml:20:3: Run a was defined before, at f.yaml:4. Rename or remove one of them.",
  ]);
});

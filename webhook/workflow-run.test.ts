import { expect, test } from "vitest";
import { parse } from "yaml";
import type { Action, Workflow } from "#api/kinds/workflow.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { finish, type Work } from "#api/work.ts";
import { usageWarnings } from "./live-templates.ts";
import { workflowRunErrors } from "./workflow-run.ts";

const release: Workflow["spec"] = parse(`
inputs: {version: {required: true}, count: {type: number, default: 1}, dry: {type: boolean}, level: {type: choice, options: [low, high]}}
jobs: {a: {runs-on: b, steps: [{name: s, run: x}]}}`);
const workflows: Readonly<Record<string, Workflow["spec"]>> = {
  release,
  broken: parse("{jobs: {a: {runs-on: b, needs: [b], steps: [{name: s, run: x}]}}}"),
  unready: parse("{jobs: {a: {runs-on: b, steps: [{name: s, uses: later}]}}}"),
  circle: parse("{jobs: {a: {uses: circle}}}"),
};
const lint: Action["spec"] = parse("{inputs: {level: {required: true}}, steps: [{name: s, run: x}]}");

const asked: string[] = [];
const lookups = {
  async workflow(namespace: string, name: string): Promise<Workflow | undefined> {
    asked.push(`${namespace}/${name}`);
    const spec = workflows[name];
    return spec && { metadata: { name }, spec };
  },
  async action(_: string, name: string): Promise<Action | undefined> {
    return name === "lint" ? { metadata: { name }, spec: lint } : undefined;
  },
  inSlices: async <T>(work: Work<T>): Promise<T> => finish(work),
};

const run = (spec: string, metadata: object = {}): WorkflowRun => ({
  metadata: { name: "r", ...metadata },
  spec: parse(spec),
});

const errorsOf = async (object: WorkflowRun) =>
  (await workflowRunErrors(object, "n", lookups)).map(({ path, message }) => `${path}: ${message}`);

const cases: Record<string, { spec: string; want: RegExp[] }> = {
  "inputs of every type": {
    spec: "{workflowRef: {name: release}, inputs: {version: v1, count: 3, dry: true, level: high}}",
    want: [],
  },
  "inputs as texts, as a command line has them": {
    spec: "{workflowRef: {name: release}, inputs: {version: 1, count: '3', dry: 'true'}}",
    want: [],
  },
  "an input that is missing": {
    spec: "{workflowRef: {name: release}}",
    want: [/^spec\.inputs\.version: Workflow "release" must get input "version"$/],
  },
  "inputs that are wrong": {
    spec: "{workflowRef: {name: release}, inputs: {version: [1], count: many, dry: 2, level: middle, more: x}}",
    want: [
      /^spec\.inputs\.more: Workflow "release" has no input "more"$/,
      /^spec\.inputs\.version: \[1\] is no single value$/,
      /^spec\.inputs\.count: "many" is no number$/,
      /^spec\.inputs\.dry: 2 is neither true nor false$/,
      /^spec\.inputs\.level: "middle" is none of the options$/,
    ],
  },
  "a Workflow that is not there": {
    spec: "{workflowRef: {name: later}, inputs: {any: thing}}",
    want: [/^spec\.workflowRef\.name: there is no Workflow later in namespace n$/],
  },
  "a Workflow that does not compile": {
    spec: "{workflowRef: {name: broken}}",
    want: [
      /^spec\.workflowRef\.name: Workflow broken does not compile: spec\.jobs\.a\.needs\[0\]: there is no job "b"/,
    ],
  },
  "a Workflow that uses an Action that is not there": {
    spec: "{workflowRef: {name: unready}}",
    want: [
      /^spec\.workflowRef\.name: Workflow unready does not compile: spec\.jobs\.a\.steps\[0\]\.uses: there is no Action "later"/,
    ],
  },
  "an artifact of a job that is no need": {
    spec: "{jobs: {a: {runs-on: b, steps: [{name: s, run: x}]}, b: {runs-on: b, steps: [{name: s, run: x, artifacts: [{from: jobs.a.artifacts.x, path: x}]}]}}}",
    want: [/^spec\.jobs\.b\.steps\[0\]\.artifacts\[0\]\.from: job "a" is not a direct need of "b"$/],
  },
  "jobs of its own with an Action that wants an input": {
    spec: "{jobs: {a: {runs-on: b, steps: [{name: s, uses: lint}]}}}",
    want: [/^spec\.jobs\.a\.steps\[0\]\.with\.level: Action "lint" must get input "level"$/],
  },
  "jobs of its own with an Action and a Workflow that are not there": {
    spec: "{jobs: {a: {runs-on: b, steps: [{name: s, uses: later, with: {any: thing}}]}, b: {uses: gone}}}",
    want: [
      /^spec\.jobs\.a\.steps\[0\]\.uses: there is no Action "later"$/,
      /^spec\.jobs\.b\.uses: there is no Workflow "gone"$/,
    ],
  },
  "a Workflow that uses itself": {
    spec: "{jobs: {a: {uses: circle}}}",
    want: [/^spec\.jobs\.a\.uses: .*circle -> circle/],
  },
  "jobs of its own that do not compile": {
    spec: "{jobs: {a: {runs-on: b, needs: [x], steps: [{name: s, run: x}]}}}",
    want: [/^spec\.jobs\.a\.needs\[0\]: there is no job "x"$/],
  },
};

test.each(Object.entries(cases))("%s", async (_, { spec, want }) => {
  expect(await errorsOf(run(spec))).toEqual(want.map((message) => expect.stringMatching(message)));
});

test("the run of a job that is a Workflow is not compared with the live one", async () => {
  asked.length = 0;
  const ownerReferences = [
    { apiVersion: "kruntimes.io/v1alpha1", kind: "WorkflowRun", name: "p", uid: "u", controller: true },
  ];
  expect(await errorsOf(run("{workflowRef: {name: release}, inputs: {old: x}}", { ownerReferences }))).toEqual([]);
  expect(asked).toEqual([]);
});

test("what a Workflow uses may come after it: what is missing is a warning", async () => {
  const spec = parse(
    "{jobs: {a: {runs-on: b, steps: [{name: s, uses: later}]}, b: {uses: gone}, c: {uses: release, with: {version: v1}}}}",
  );
  expect(await usageWarnings(spec, "n", lookups)).toEqual([
    'spec.jobs.a.steps[0].uses: there is no Action "later"',
    'spec.jobs.b.uses: there is no Workflow "gone"',
  ]);
  expect(await usageWarnings(release, "n", lookups)).toEqual([]);
});

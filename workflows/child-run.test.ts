import { expect, test } from "vitest";
import type { JobStatus, WorkflowRun } from "#api/kinds/workflow-run.ts";
import { validateCreate } from "#api/validation/index.ts";
import { isChildOf } from "./child-meta.ts";
import { type ChildRunInput, childRun, childRunNameOf } from "./child-run.ts";
import { childWorkspace, childWorkspaceName } from "./child-workspace.ts";
import { compileWorkflow, type JobPlan } from "./compile-workflow.ts";
import { runsOnOf, type StepPlan, stepsOf } from "./plan.ts";
import { headValues, stepsValues } from "./values.ts";

const owner: WorkflowRun = {
  metadata: { name: "nightly-1", namespace: "ci", uid: "0b7a6f3e-7b0e-4b43-9d1c-0d7d0a2f6c11" },
  spec: { workflowRef: { name: "nightly" } },
};

function planOf(run: string, outputs: Record<string, string> = {}): JobPlan {
  const result = compileWorkflow({
    jobs: {
      build: { "runs-on": "bash", outputs: { tag: "x" }, steps: [{ name: "s", run: "true" }] },
      Job_A: {
        "runs-on": "bash",
        needs: ["build"],
        outputs,
        steps: [
          { name: "first", run: "true" },
          { name: "Step_B", run },
        ],
      },
    },
  });
  if (!result.ok) throw new Error(JSON.stringify(result.errors));
  const job = result.plan.jobs.get("Job_A");
  if (job === undefined) throw new Error("no job");
  return job;
}

const jobs = (outputs: Record<string, string>): Record<string, JobStatus> => ({
  build: { phase: "Succeeded", outputs: { tag: "v1" } },
  Job_A: {
    phase: "Running",
    steps: [
      { name: "first", phase: "Succeeded", outputs },
      { name: "Step_B", phase: "Waiting" },
    ],
  },
});

function inputOf(run: string, outputs: Record<string, string> = {}, more: Partial<ChildRunInput> = {}): ChildRunInput {
  const job = planOf(run);
  const step = stepsOf(job)[1];
  if (step === undefined) throw new Error("no step");
  const status = jobs(outputs);
  const values = {
    ...headValues(job, status, { inputs: {}, run: {} }),
    steps: stepsValues(status.Job_A?.steps ?? []),
  };
  const input = {
    owner,
    job: job.id,
    runtime: "bash",
    step,
    jobAttempt: 1,
    workspace: "ws",
    language: "bash" as const,
  };
  return { ...input, env: {}, values, ...more };
}

function built(input: ChildRunInput) {
  const result = childRun(input);
  if (!result.ok) throw new Error(`${result.reason}: ${result.message}`);
  return result.run;
}

test("a child Run belongs to its WorkflowRun, has its labels, its workspace and no TTL", () => {
  const artifact = {
    ref: {
      name: "f",
      driver: "Filesystem" as const,
      type: "File" as const,
      location: { filesystem: { path: "runs/u/artifacts/f" } },
      sizeBytes: 1,
      digest: `sha256:${"0".repeat(64)}`,
    },
    path: "in/f",
  };
  const run = built(inputOf("echo hi", {}, { jobAttempt: 2, artifactInputs: [artifact] }));
  expect(run).toEqual({
    apiVersion: "kruntimes.io/v1alpha1",
    kind: "Run",
    metadata: {
      name: expect.stringMatching(/^nightly-1-job-a-step-b-[0-9a-f]{8}$/),
      namespace: "ci",
      labels: {
        "kruntimes.io/runtime": "bash",
        "workflows.kruntimes.io/workflow": "nightly",
        "workflows.kruntimes.io/workflow-run": "nightly-1",
        "workflows.kruntimes.io/workflow-run-uid": owner.metadata.uid,
        "workflows.kruntimes.io/job": "Job_A",
        "workflows.kruntimes.io/step": "Step_B",
        "workflows.kruntimes.io/attempt": "2",
        "app.kubernetes.io/name": "kruntimes",
        "app.kubernetes.io/component": "workflow-step",
        "app.kubernetes.io/instance": "nightly-1",
        "app.kubernetes.io/part-of": "kruntimes",
        "app.kubernetes.io/managed-by": "kruntimes",
      },
      ownerReferences: [
        {
          apiVersion: "kruntimes.io/v1alpha1",
          kind: "WorkflowRun",
          name: "nightly-1",
          uid: owner.metadata.uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: {
      runtime: "bash",
      source: { inline: "set -e; echo hi" },
      mode: { task: {} },
      workspace: { name: "ws", kind: "PersistentWorkspace", apiGroup: "kruntimes.io/v1alpha1" },
      artifactInputs: [artifact],
    },
  });
  expect(validateCreate("Run", run)).toEqual([]);
  expect(isChildOf(run, owner)).toBe(true);
});

test("values are handed over in variables, so the script is the same whatever they are", () => {
  const text = `echo "\${{ steps.first.outputs.x }}" \${{ needs.build.outputs.tag }} '\${{ jobs.build.outputs.tag }}'`;
  const run = built(inputOf(text, { x: `"; rm -rf / #` }));
  expect(run.spec.source?.inline).toBe(built(inputOf(text, { x: "harmless" })).spec.source?.inline);
  expect(run.spec.env).toEqual([
    { name: "KRT_EXPR_1", value: `"; rm -rf / #` },
    { name: "KRT_EXPR_2", value: "v1" },
    { name: "KRT_EXPR_3", value: "v1" },
  ]);
  expect(validateCreate("Run", run)).toEqual([]);
});

test("an inline WorkflowRun has no Workflow to be labelled with", () => {
  const run = built(inputOf("x", {}, { owner: { ...owner, spec: { jobs: {} } } }));
  expect(run.metadata.labels).not.toHaveProperty("workflows.kruntimes.io/workflow");
});

const failures: Record<
  string,
  { run: string; outputs?: Record<string, string>; more?: Partial<ChildRunInput>; reason: string; want: RegExp }
> = {
  "an output that is missing": {
    run: `echo \${{ steps.first.outputs.nope }}`,
    outputs: { x: "1", y: "2" },
    reason: "ExpressionFailed",
    want: /^step "Step_B": \$\{\{ steps\.first\.outputs\.nope \}\} at 1:6: steps\.first\.outputs has no "nope"; it has x and y$/,
  },
  "a value with a NUL": {
    run: `echo \${{ steps.first.outputs.x }}`,
    outputs: { x: "a\0b" },
    reason: "ExpressionFailed",
    want: /steps\.first\.outputs\.x` has a NUL character/,
  },
  "a value over the limit of a variable": {
    run: `echo \${{ format('{0}{0}{0}{0}{0}', steps.first.outputs.x) }}`,
    outputs: { x: "x".repeat(8192) },
    reason: "ExpressionFailed",
    want: /has 40960 characters; a script takes at most 32768, use an artifact/,
  },
  "values over the limit together": {
    run: Array.from({ length: 40 }, (_, n) => `echo \${{ format('${n}{0}', steps.first.outputs.x) }}`).join("\n"),
    outputs: { x: "x".repeat(8192) },
    reason: "ExpressionFailed",
    want: /the values of all variables and expressions have more than 262144 characters/,
  },
  "a place that the Runtime turns out not to allow": {
    run: `print("\${{ steps.first.outputs.x }}")`,
    outputs: { x: "" },
    more: { language: "python" },
    reason: "ExpressionFailed",
    want: /^spec\.jobs\.Job_A\.steps\[1\]\.run: 1:8: an expression cannot stand inside a Python string/,
  },
  "a Runtime that is not there yet": {
    run: "echo",
    more: { language: undefined },
    reason: "RuntimeNotFound",
    want: /there is no Runtime "bash"/,
  },
};

test.each(Object.entries(failures))("no Run is made of %s", (_, { run, outputs, more, reason, want }) => {
  expect(childRun(inputOf(run, outputs, more))).toEqual({ ok: false, reason, message: expect.stringMatching(want) });
});

test("a script that names its program needs no Runtime to be built", () => {
  expect(built(inputOf("#!/usr/bin/env python3\nx", {}, { language: undefined })).spec.source?.inline).toBe(
    "#!/usr/bin/env python3\nx",
  );
});

test("each attempt and each collision has a name of its own, the same in every pass", () => {
  const input = inputOf("x");
  const names = [
    childRunNameOf(input),
    childRunNameOf({ ...input, jobAttempt: 2 }),
    childRunNameOf({ ...input, parent: "outer" }),
    childRunNameOf({ ...input, collision: 1 }),
    childRunNameOf({ ...input, owner: { ...owner, metadata: { ...owner.metadata, uid: "other" } } }),
  ];
  expect(new Set(names).size).toBe(names.length);
  expect(childRunNameOf(inputOf("y"))).toBe(names[0]);
  expect(built(input).metadata.name).toBe(names[0]);
});

test("the workspace of a job belongs to the WorkflowRun and has no TTL", () => {
  const job = planOf("x");
  const workspace = childWorkspace({ owner, job: { id: job.id, runsOn: runsOnOf(job) }, jobAttempt: 3 });
  expect(workspace.spec).toEqual({ runtime: "bash", mode: "RuntimePodLocal", cleanupPolicy: "DeleteAfterTTL" });
  expect(workspace.metadata).toMatchObject({
    name: childWorkspaceName({ owner, job, jobAttempt: 3 }),
    namespace: "ci",
    labels: {
      "workflows.kruntimes.io/workflow-run-uid": owner.metadata.uid,
      "workflows.kruntimes.io/job": "Job_A",
      "workflows.kruntimes.io/attempt": "3",
      "workflows.kruntimes.io/workflow": "nightly",
      "workflows.kruntimes.io/workflow-run": "nightly-1",
      "app.kubernetes.io/managed-by": "kruntimes",
    },
    finalizers: ["kruntimes.io/persistent-workspace-cleanup"],
  });
  expect(workspace.metadata.labels).not.toHaveProperty("workflows.kruntimes.io/step");
  expect(isChildOf(workspace, owner)).toBe(true);
  expect(validateCreate("PersistentWorkspace", workspace)).toEqual([]);
});

test("a workspace and a Run have the labels by which admission knows that they belong together", () => {
  const job = planOf("x");
  const run = built(inputOf("x")).metadata.labels ?? {};
  const workspace =
    childWorkspace({ owner, job: { id: job.id, runsOn: runsOnOf(job) }, jobAttempt: 1 }).metadata.labels ?? {};
  for (const label of [
    "workflows.kruntimes.io/workflow-run-uid",
    "workflows.kruntimes.io/job",
    "kruntimes.io/runtime",
  ]) {
    expect(run[label]).toBe(workspace[label]);
  }
});

test("what somebody else owns under our name is not ours", () => {
  const run = built(inputOf("x"));
  const [reference] = run.metadata.ownerReferences ?? [];
  if (reference === undefined) throw new Error("no owner");
  const owned = (ownerReferences: typeof run.metadata.ownerReferences) => ({
    metadata: { name: run.metadata.name, ...(ownerReferences === undefined ? {} : { ownerReferences }) },
  });
  expect(isChildOf(owned(undefined), owner)).toBe(false);
  expect(isChildOf(owned([{ ...reference, uid: "other" }]), owner)).toBe(false);
  expect(isChildOf(owned([{ ...reference, controller: false }]), owner)).toBe(false);
  expect(isChildOf(owned([{ ...reference, kind: "Runtime" }]), owner)).toBe(false);
});

function stepWith(more: Partial<StepPlan>, input: ChildRunInput): ChildRunInput {
  return { ...input, step: { ...input.step, ...more } };
}

test("a step's timeout and retry are those of its Run", () => {
  const run = built(stepWith({ timeoutMs: 90_000, retry: { attempts: 3, backoffMs: 500 } }, inputOf("x")));
  expect(run.spec).toMatchObject({ timeout: "1m30s", retryPolicy: { maxAttempts: 3, backoff: "500ms" } });
  expect(validateCreate("Run", run)).toEqual([]);
});

test("a shell that is not the Runtime's is named in the first line", () => {
  const work = { kind: "run", run: { text: "print(1)", expressions: [] }, shell: "python" } as const;
  const source = (language: ChildRunInput["language"]) =>
    built({ ...stepWith({ work }, inputOf("x")), language }).spec.source?.inline;
  expect(source("bash")).toBe("#!/usr/bin/env python3\nprint(1)");
  expect(source("python")).toBe("print(1)");
  expect(source(undefined)).toBe("#!/usr/bin/env python3\nprint(1)");
});

test("variables stand beside those of expressions, which take other names", () => {
  const env = { KRT_EXPR_1: "mine", GREETING: "hi" };
  const run = built(inputOf("echo ${{ needs.build.outputs.tag }}", {}, { env }));
  expect(run.spec.env?.map(({ name }) => name)).toEqual([
    "KRT_EXPR_1",
    "GREETING",
    expect.not.stringMatching(/^KRT_EXPR_1$/),
  ]);
  expect(validateCreate("Run", run)).toEqual([]);
});

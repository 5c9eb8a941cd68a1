import { expect, test } from "vitest";
import type { Run } from "#api/kinds/run.ts";
import type { Action, Workflow } from "#api/kinds/workflow.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import type { KubeObject } from "#api/meta.ts";
import { type Review, review } from "./review.ts";
import { controller, lookups } from "./testing/objects.ts";

const deps = { lookups: lookups({}), controller };

const steps = [{ name: "s", run: "true" }];
type Jobs = Workflow["spec"]["jobs"];

const job = (needs: string[] = []): Jobs[string] => ({ "runs-on": "bash", needs, steps });

const workflow = (jobs: Jobs, more: object = {}): Workflow => ({
  metadata: { name: "w", namespace: "n", ...more },
  spec: { jobs },
});

async function paths(change: Omit<Review, "namespace">): Promise<readonly string[]> {
  const verdict = await review({ namespace: "n", ...change }, deps);
  return verdict.kind === "invalid" ? verdict.errors.map(({ path }) => path) : [];
}

const update = (kind: "Workflow" | "Action", oldObject: KubeObject, object: KubeObject) =>
  paths({ operation: "UPDATE", kind, oldObject, object });

const good = workflow({ a: job() });
const bad = workflow({ a: job(["missing"]) });

test("a Workflow that does not compile cannot be created", async () => {
  expect(await paths({ operation: "CREATE", kind: "Workflow", object: bad })).toEqual(["spec.jobs.a.needs[0]"]);
  expect(await paths({ operation: "CREATE", kind: "Workflow", object: good })).toEqual([]);
});

test("a Workflow cannot be changed into one that does not compile", async () => {
  expect(await update("Workflow", good, bad)).toEqual(["spec.jobs.a.needs[0]"]);
  expect(await update("Workflow", good, workflow({ a: job(), b: job(["a"]) }))).toEqual([]);
});

test("one from before a rule existed can lose a label and be repaired step by step, and gets no new faults", async () => {
  expect(await update("Workflow", bad, workflow({ a: job(["missing"]) }, { labels: { seen: "yes" } }))).toEqual([]);
  expect(await update("Workflow", bad, workflow({ a: job(["missing"]), b: job() }))).toEqual([]);
  expect(await update("Workflow", bad, workflow({ a: job(["missing"]), b: job(["none"]) }))).toEqual([
    "spec.jobs.b.needs[0]",
  ]);
});

test("the same holds for an Action", async () => {
  const action = (run: string): Action => ({ metadata: { name: "a" }, spec: { steps: [{ name: "s", run }] } });
  expect(await update("Action", action("true"), action("echo ${{ nonsense( }}"))).toHaveLength(1);
  expect(await update("Action", action("true"), action("echo"))).toEqual([]);
});

test("what a WorkflowRun refers to is looked up once its own text is right", async () => {
  const run = (spec: WorkflowRun["spec"]): WorkflowRun => ({ metadata: { name: "r", namespace: "n" }, spec });
  const missing = { ...deps, lookups: lookups({ workflow: async () => undefined }) };
  const create = (spec: WorkflowRun["spec"]) =>
    review({ operation: "CREATE", kind: "WorkflowRun", namespace: "n", object: run(spec) }, missing);
  expect(await create({ workflowRef: { name: "ci" } })).toMatchObject({
    kind: "invalid",
    errors: [{ path: "spec.workflowRef.name" }],
  });
  expect(await create({ jobs: { a: job(["missing"]) } })).toMatchObject({
    kind: "invalid",
    errors: [{ path: "spec.jobs.a.needs[0]" }],
  });
  expect(await create({ jobs: { a: job() } })).toEqual({ kind: "admitted", warnings: [] });
});

test("a change of a WorkflowRun looks nothing up: what it refers to is frozen", async () => {
  const run = (spec: object): WorkflowRun => ({
    metadata: { name: "r", namespace: "n" },
    spec: { workflowRef: { name: "gone" }, ...spec },
  });
  expect(
    await paths({
      operation: "UPDATE",
      kind: "WorkflowRun",
      oldObject: run({}),
      object: run({ ttlSecondsAfterFinished: 5 }),
    }),
  ).toEqual([]);
});

test("only the creation of a Run in a workspace is a matter of permission", async () => {
  const run = (change: Partial<Run> = {}): Run => ({
    metadata: { name: "r", namespace: "n" },
    spec: { runtime: "bash", source: { inline: "true" } },
    ...change,
  });
  const inWorkspace = run({ spec: { ...run().spec, workspace: { name: "w" } } });
  // Nothing may be looked up, or these would throw.
  const ask = (change: Omit<Review, "namespace" | "kind">) => review({ namespace: "n", kind: "Run", ...change }, deps);
  expect(await ask({ operation: "CREATE", object: run() })).toMatchObject({ kind: "admitted" });
  const touched = { ...inWorkspace, metadata: { ...inWorkspace.metadata, labels: { a: "b" }, ownerReferences: [] } };
  expect(await ask({ operation: "UPDATE", oldObject: inWorkspace, object: touched })).toMatchObject({
    kind: "admitted",
  });
  expect(await ask({ operation: "CREATE", object: inWorkspace })).toMatchObject({ kind: "undecided" });
});

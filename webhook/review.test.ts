import { expect, test } from "vitest";
import type { Action, Workflow } from "#api/kinds/workflow.ts";
import type { KubeObject } from "#api/meta.ts";
import { type Lookups, type Review, review } from "./review.ts";

const nothing: Lookups = { workspace: async () => undefined };

const steps = [{ name: "s", run: "true" }];
type Jobs = Workflow["spec"]["jobs"];

const job = (needs: string[] = []): Jobs[string] => ({ "runs-on": "bash", needs, steps });

const workflow = (jobs: Jobs, more: object = {}): Workflow => ({
  metadata: { name: "w", namespace: "n", ...more },
  spec: { jobs },
});

const paths = async (change: Omit<Review, "namespace">) =>
  (await review({ namespace: "n", ...change }, nothing)).map(({ path }) => path);

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

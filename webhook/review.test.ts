import { expect, test } from "vitest";
import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import type { Run, RunSpec } from "#api/kinds/run.ts";
import type { Runtime } from "#api/kinds/runtime.ts";
import type { Action, Workflow } from "#api/kinds/workflow.ts";
import type { KubeObject } from "#api/meta.ts";
import { type Lookups, type Review, review } from "./review.ts";

const nothing: Lookups = {
  workspace: async () => undefined,
  runtime: async () => undefined,
  workflow: async () => undefined,
  action: async () => undefined,
};

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

const lists = (spec: Partial<Runtime["spec"]>): Lookups => ({
  ...nothing,
  runtime: async (namespace, name) => ({
    metadata: { name, namespace },
    spec: { template: { spec: { containers: [{ name: "runtime", image: "debian" }] } }, ...spec },
  }),
});
const fromSecret: RunSpec["env"] = [
  { name: "A", value: "1" },
  { name: "B", valueFrom: { secretKeyRef: { name: "db", key: "password", optional: true } } },
];

const artifact: ArtifactRef = {
  name: "a",
  driver: "Filesystem",
  type: "File",
  location: { filesystem: { path: "runs/u/artifacts/a", volumeClaimName: "one" } },
  sizeBytes: 1,
  digest: `sha256:${"0".repeat(64)}`,
};

const references: Record<string, { spec: Partial<RunSpec>; lookups: Lookups; refused: string[] }> = {
  "a Secret that the Runtime lists": { spec: { env: fromSecret }, lookups: lists({ secrets: ["db"] }), refused: [] },
  "a Secret that it does not list, even an optional one": {
    spec: { env: fromSecret },
    lookups: lists({ secrets: ["other"], configMaps: ["db"] }),
    refused: ["spec.env[1].valueFrom.secretKeyRef.name"],
  },
  "a ConfigMap that it does not list": {
    spec: { env: [{ name: "A", valueFrom: { configMapKeyRef: { name: "c", key: "k" } } }] },
    lookups: lists({ secrets: ["c"] }),
    refused: ["spec.env[0].valueFrom.configMapKeyRef.name"],
  },
  "credentials that it does not list": {
    spec: { source: { repoURL: "https://example.com/a", credentialsSecretName: "git" } },
    lookups: lists({}),
    refused: ["spec.source.credentialsSecretName"],
  },
  "an artifact of another store": {
    spec: { artifactInputs: [{ ref: artifact, path: "a" }] },
    lookups: lists({ artifactStore: { driver: "Filesystem", filesystem: { volumeClaimName: "two" } } }),
    refused: ["spec.artifactInputs[0].ref"],
  },
  "an artifact of its store": {
    spec: { artifactInputs: [{ ref: artifact, path: "a" }] },
    lookups: lists({ artifactStore: { driver: "Filesystem", filesystem: { volumeClaimName: "one" } } }),
    refused: [],
  },
  "a Runtime that is not there yet": { spec: { env: fromSecret }, lookups: nothing, refused: [] },
};

test.each(Object.entries(references))("a Run may refer to what its Runtime has: %s", async (_, one) => {
  const spec = { runtime: "bash", source: { inline: "true" }, ...one.spec };
  const object: Run = { metadata: { name: "r", namespace: "n" }, spec };
  const errors = await review({ operation: "CREATE", kind: "Run", namespace: "n", object }, one.lookups);
  expect(errors.map(({ path }) => path)).toEqual(one.refused);
});

/** Every example, applied as it is, comes to the end that it states. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import type { Run } from "#api/kinds/run.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import type { KubeObject } from "#api/meta.ts";
import { recordsOf } from "#api/record-line.ts";
import { workflowActions, workflowRuns } from "#api/resources.ts";
import { exampleRepository, startGitServer, withRepository } from "#test/integration/support/git-server.ts";
import { patientExample, playWishes } from "#test/support/actions-example.ts";
import { finished, installPlatform } from "./platform.ts";
import { adminClient, apply, kubectl, nodeAddress, testNamespace, until } from "./support.ts";
import { ownCluster, volumeFor } from "./volumes.ts";

beforeAll(() => installPlatform());

interface Ending {
  /** Lines that its programs print. */
  readonly prints: readonly string[];
  /** Parts of the status, by name of the Run, or of the Workflow that was started. */
  readonly status?: Readonly<Record<string, object>>;
}

/** Every Run and workflow of an example succeeds; these show more than that. */
const endings: Record<string, Ending> = {
  "run-bash": { prints: ["Hello, world, from Run hello"] },
  "run-python": { prints: ["25 primes below 100"], status: { primes: { outputs: { largest: "97" } } } },
  retry: {
    prints: ["the service does not answer", "attempt 3 reached the service"],
    status: { flaky: { attempt: 3, attempts: [{ reason: "ExitNonZero" }, { reason: "ExitNonZero" }] } },
  },
  timeout: {
    prints: ["attempt 2 was quick"],
    status: { patient: { attempt: 2, attempts: [{ reason: "Timeout" }] } },
  },
  affinity: { prints: ["done with the noise", "now it is calm"] },
  outputs: { prints: ["Released v1.4.2"], status: { outputs: { jobs: { version: { outputs: { tag: "v1.4.2" } } } } } },
  secrets: {
    prints: ["Good morning, a password of 28 characters", "this line would show it: ***", "proxy: none"],
  },
  "private-repository": { prints: ["built from a private repository"] },
  "fan-out": { prints: ["The sums are 20 and 25"] },
  "retry-inputs": { prints: ["deployed to north", "deployed to south", "the regions are north and south"] },
  priority: { prints: ["first", "second", "third"] },
  "workspace-shared": { prints: ["written by writer"] },
  "workspace-volume": { prints: ["fetched once"] },
  "workspace-permissions": { prints: ["1"] },
  artifacts: {
    prints: ["<h1>Hello</h1>", "links is fine", "spelling is fine"],
    status: { site: { jobs: { "check.0": { artifacts: { "links.txt": {} } } } } },
  },
  actions: { prints: ["deployed to staging", "tidied up"] },
  "data-sharing": {
    prints: ["artifact verified"],
    status: { "ci-data-sharing-demo": { jobs: { build: { artifacts: { "dist.tgz": {} } } } } },
  },
};

const folder = join(import.meta.dirname, "../../examples");

/** The files of an example, in the order in which `kubectl apply -f` of the folder takes them. */
async function textsOf(name: string): Promise<string[]> {
  const files = (await readdir(join(folder, name))).filter((file) => file.endsWith(".yaml")).sort();
  return Promise.all(files.map((file) => readFile(join(folder, name, file), "utf8")));
}

const objectsOf = (texts: readonly string[]) =>
  texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as KubeObject));

/** What the programs of all Pods of the namespace have printed. */
async function printed(namespace: string): Promise<string> {
  // A Pod that is not ready yet has printed nothing.
  const args = [
    "logs",
    "-n",
    namespace,
    "-l",
    "kruntimes.io/runtime",
    "-c",
    "runtimed",
    "--tail=-1",
    "--ignore-errors",
  ];
  const lines = (await kubectl([...args, "--prefix=false"])).split("\n");
  return lines.flatMap((line) => recordsOf(line).map(({ message }) => message)).join("\n");
}

const entries = await readdir(folder, { withFileTypes: true });
// The repository of the one is on this machine, which Pods of another cluster need not reach.
const names = entries
  .filter((entry) => entry.isDirectory() && (ownCluster || entry.name !== "private-repository"))
  .map(({ name }) => name);

test.concurrent.each(names)("example %s", { timeout: 180_000 }, async (name) => {
  const ending = endings[name] ?? { prints: [] };
  const client = adminClient();
  await using namespace = await testNamespace("example");
  await using server =
    name === "private-repository"
      ? await startGitServer({ ...exampleRepository, host: await nodeAddress() })
      : undefined;
  const written = await textsOf(name);
  const texts = server === undefined ? written : written.map((text) => withRepository(text, server));
  const objects = objectsOf(texts);
  const claims = objects.filter(({ kind }) => kind === "PersistentVolumeClaim");
  // The class that nobody names.
  await using _ = claims[0] && (await volumeFor(namespace.name, claims[0].metadata.name, ""));
  await apply(texts.join("\n---\n"), namespace.name);

  const named = (wanted: string) => objects.filter(({ kind }) => kind === wanted).map(({ metadata }) => metadata.name);
  const given = named("WorkflowRun");
  // What an example does not start itself is started as `krt workflow run` does.
  const started = given.length > 0 ? [] : named("Workflow");
  for (const workflow of started) {
    await client.of(workflowRuns).create({
      metadata: { name: workflow, namespace: namespace.name },
      spec: { workflowRef: { name: workflow } },
    });
  }
  const ref = (one: string) => ({ metadata: { name: one, namespace: namespace.name } });
  const ends: Promise<Run | WorkflowRun>[] = [
    ...named("Run").map((name) => finished(client, ref(name) as Run, 150_000)),
    ...[...given, ...started].map((one) =>
      until(client, workflowRuns, ref(one).metadata, ({ status }) => status?.completionTime !== undefined, 150_000),
    ),
  ];
  expect(ends.length).toBeGreaterThan(0);
  for (const { metadata, status } of await Promise.all(ends)) {
    expect(status, JSON.stringify(status)).toMatchObject({ phase: "Succeeded", ...ending.status?.[metadata.name] });
  }
  const text = await printed(namespace.name);
  for (const line of ending.prints) expect(text.split("\n")).toContain(line);
});

test("the example of actions: every wish is fulfilled, and the run is what was asked for", async () => {
  const client = adminClient();
  await using namespace = await testNamespace("wishes");
  await apply(await patientExample(), namespace.name);
  const ref = (name: string) => ({ namespace: namespace.name, name });
  await playWishes({
    client,
    namespace: namespace.name,
    run: (holds) =>
      until(client, workflowRuns, ref("rollout"), (run) => run.status !== undefined && holds(run.status, run)),
    action: (name, holds) => until(client, workflowActions, ref(name), holds),
  });
});

test("the endings are those of examples that exist", () => {
  const all = entries.map(({ name }) => name);
  expect(all).toEqual(expect.arrayContaining(Object.keys(endings)));
});

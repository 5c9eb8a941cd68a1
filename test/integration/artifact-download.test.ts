import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { podPorts } from "#api/pod-layout.ts";
import { runs, runtimes, workflowRuns } from "#api/resources.ts";
import { type Artifacts, createArtifacts } from "#extension-api/client/artifacts.ts";
import { systemDownloadFiles } from "#extension-api/client/download-files.ts";
import { getOver } from "#extension-api/client/http-over.ts";
import { forwardPort } from "#extension-api/client/port-forward.ts";
import { persistentVolumeClaims } from "#kube/builtin.ts";
import { createClient } from "#kube/client.ts";
import { systemClock, systemRandom } from "#kube/system.ts";
import { bashRun, bashRuntime, claim, namespace, TestCluster, workflowRun } from "./support/cluster.ts";

let cluster: TestCluster;
let artifacts: Artifacts;
let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "krt-get-"));
  cluster = await TestCluster.start();
  const deps = { client: createClient(cluster.transport), clock: systemClock, random: systemRandom };
  artifacts = createArtifacts({ ...deps, files: systemDownloadFiles });
  await cluster.create(persistentVolumeClaims, claim);
  await cluster.create(runtimes, bashRuntime());
  await cluster.ready("bash", 1);
});
afterAll(async () => {
  await cluster.stop();
  await rm(directory, { recursive: true, force: true });
});

const sha256 = (bytes: Buffer) => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

test("a file and a directory of a Run are listed and downloaded as they were stored", async () => {
  const script = [
    "seq 1 200000 > $KRUNTIME_ARTIFACTS_DIR/numbers.txt",
    "mkdir $KRUNTIME_ARTIFACTS_DIR/site && echo hello > $KRUNTIME_ARTIFACTS_DIR/site/index.html",
  ].join("\n");
  await cluster.create(runs, bashRun("build", script));
  const run = await cluster.finished("build");
  const entries = artifacts.ofRun(run);
  expect(entries.map(({ name, ref }) => `${name} ${ref.type}`)).toEqual(["numbers.txt File", "site Directory"]);
  for (const entry of entries) {
    const path = join(directory, entry.name);
    await artifacts.download(entry, path);
    const bytes = await readFile(path);
    expect({ size: bytes.length, digest: sha256(bytes) }).toEqual({
      size: entry.ref.sizeBytes,
      digest: entry.ref.digest,
    });
  }
  const numbers = execFileSync("seq", ["1", "200000"], { maxBuffer: 1e7 });
  expect((await readFile(join(directory, "numbers.txt"))).equals(numbers)).toBe(true);
  expect(execFileSync("tar", ["-xzOf", join(directory, "site")]).toString()).toBe("hello\n");
  expect((await readdir(directory)).filter((name) => name.endsWith(".part"))).toEqual([]);
});

test("the artifacts of a workflow are downloaded also when their Runs are gone", async () => {
  const steps = [{ name: "make", run: "echo made > $KRUNTIME_ARTIFACTS_DIR/made.txt" }];
  await cluster.create(workflowRuns, workflowRun("flow", { build: { "runs-on": "bash", steps } }));
  const done = await cluster.workflowFinished("flow");
  const [entry] = artifacts.ofWorkflowRun(done);
  if (entry === undefined) throw new Error(`no artifact in ${JSON.stringify(done.status)}`);
  expect({ job: entry.job, name: entry.name }).toEqual({ job: "build", name: "made.txt" });
  const child = done.status?.jobs?.build?.steps?.[0]?.runName ?? "";
  await cluster.client.of(runs).delete({ name: child, namespace });
  await artifacts.download(entry, join(directory, "made.txt"));
  expect(await readFile(join(directory, "made.txt"), "utf8")).toBe("made\n");
});

test("an agent that is killed serves again after its restart", async () => {
  await cluster.create(runs, bashRun("again", "echo again > $KRUNTIME_ARTIFACTS_DIR/again.txt"));
  const [entry] = artifacts.ofRun(await cluster.finished("again"));
  if (entry === undefined) throw new Error("no artifact");
  const [pod] = await cluster.pods("bash");
  expect(cluster.cluster.node.crash({ name: pod?.metadata.name ?? "", namespace }, "runtimed")).toBe(true);
  await cluster.until(runtimes, "bash", ({ status }) => status?.readyReplicas !== 1);
  await cluster.ready("bash", 1);
  await artifacts.download(entry, join(directory, "again.txt"));
  expect(await readFile(join(directory, "again.txt"), "utf8")).toBe("again\n");
});

test("who may forward to a Pod still reads only what a Run or WorkflowRun records", async () => {
  await cluster.create(runs, bashRun("owner", "echo x > $KRUNTIME_ARTIFACTS_DIR/x.txt"));
  await cluster.create(runs, bashRun("stranger", "true"));
  const owner = await cluster.finished("owner");
  await cluster.finished("stranger");
  const [pod] = await cluster.pods("bash");
  const ask = async (query: string) => {
    const connection = await forwardPort(
      cluster.transport,
      { namespace, name: pod?.metadata.name ?? "" },
      podPorts.artifacts,
    );
    const { code, body } = await getOver(connection, `/runs/${owner.metadata.uid}/artifacts/x.txt${query}`, {});
    for await (const _ of body);
    return code;
  };
  expect(await ask("?run=owner")).toBe(200);
  expect(await ask("?run=stranger")).toBe(404);
  expect(await ask("")).toBe(400);
});

test("other ports of a Pod, and Pods that do not run, are refused with a word", async () => {
  const [pod] = await cluster.pods("bash");
  const name = pod?.metadata.name ?? "";
  await expect(forwardPort(cluster.transport, { namespace, name }, 8080)).rejects.toMatchObject({
    code: 400,
    message: expect.stringContaining(`forwards port ${podPorts.artifacts} only`),
  });
  await expect(forwardPort(cluster.transport, { namespace, name: "nobody" }, podPorts.artifacts)).rejects.toMatchObject(
    {
      code: 404,
    },
  );
});

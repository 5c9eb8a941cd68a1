/** Artifact inputs of Runs that belong to no workflow, with real agents, programs and files. */
import { createHash } from "node:crypto";
import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import type { Run, RunStatus } from "#api/kinds/run.ts";
import { persistentWorkspaces, runs, runtimes } from "#api/resources.ts";
import { namespaces, persistentVolumeClaims } from "#kube/builtin.ts";
import { tarGz } from "#runtime/artifacts/testing/archives.ts";
import { bashRun, bashRuntime, claim, namespace, TestCluster } from "./support/cluster.ts";
import { until } from "./support/until.ts";

let cluster: TestCluster;
const refs = new Map<string, ArtifactRef>();

beforeAll(async () => {
  cluster = await TestCluster.start();
  await cluster.create(persistentVolumeClaims, claim);
  await cluster.create(persistentVolumeClaims, { ...claim, metadata: { name: "other", namespace } });
  await cluster.create(runtimes, bashRuntime());
  await cluster.create(
    runtimes,
    bashRuntime({ artifactStore: { driver: "Filesystem", filesystem: { volumeClaimName: "other" } } }, "elsewhere"),
  );
  const { artifactStore: _, ...storeless } = bashRuntime().spec;
  await cluster.create(runtimes, { metadata: { name: "storeless", namespace }, spec: { ...storeless, replicas: 0 } });
  await cluster.ready("bash", 1);
  const made = await cluster.create(
    runs,
    bashRun(
      "producer",
      `cd "$KRUNTIME_ARTIFACTS_DIR" && echo one > file && mkdir -p tree/deep && echo two > tree/deep/leaf &&
       echo '#!/bin/sh' > tree/tool && chmod +x tree/tool && echo gone > vanished && echo plain > damaged`,
    ),
  );
  expect(made.metadata.uid).toBeDefined();
  const { status } = await cluster.finished("producer");
  for (const ref of status?.artifactRefs ?? []) refs.set(ref.name, ref);
  expect([...refs.keys()].sort()).toEqual(["damaged", "file", "tree", "vanished"]);
});
afterAll(() => cluster?.stop());

const ref = (name: string): ArtifactRef => {
  const found = refs.get(name);
  if (found === undefined) throw new Error(`there is no artifact ${name}`);
  return found;
};

/** Where the bytes are on this machine. */
const stored = ({ location }: ArtifactRef) =>
  `${cluster.directory}/claims/${namespace}/artifacts/${location.filesystem?.path}`;

const input = (name: string, path: string, change: Partial<ArtifactRef> = {}) => ({
  ref: { ...ref(name), ...change },
  path,
});

async function outcome(name: string, script: string, spec: Partial<Run["spec"]>): Promise<RunStatus | undefined> {
  await cluster.create(runs, bashRun(name, script, spec));
  return (await cluster.finished(name)).status;
}

test("files and directories are in place before the program begins, executables among them", async () => {
  const script = `test "$(cat in/one.txt)" = one && test "$(cat src/deep/leaf)" = two && test -x src/tool && test ! -x in/one.txt`;
  const status = await outcome("consumer", script, {
    artifactInputs: [input("file", "in/one.txt"), input("tree", "src")],
  });
  expect(status).toMatchObject({ phase: "Succeeded" });
});

const digest = (bytes: Uint8Array) => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

const refused: Record<string, { inputs: () => Promise<Run["spec"]["artifactInputs"]>; says: RegExp }> = {
  "a wrong digest": {
    inputs: async () => [input("file", "x", { digest: `sha256:${"0".repeat(64)}` })],
    says: /spec\.artifactInputs\[0\] \("file" to "x"\): the bytes have digest sha256:[0-9a-f]{64}, the reference says/,
  },
  "bytes that were changed since": {
    inputs: async () => {
      await writeFile(stored(ref("damaged")), "PLAIN\n");
      return [input("file", "ok"), input("damaged", "x")];
    },
    says: /spec\.artifactInputs\[1\] \("damaged" to "x"\): the bytes have digest/,
  },
  "an object that has vanished": {
    inputs: async () => {
      await rm(stored(ref("vanished")));
      return [input("vanished", "x")];
    },
    says: /nothing is stored at runs\/.*\/artifacts\/vanished; the producing Run may have been cleaned up/,
  },
  "an archive with a way out": {
    inputs: async () => {
      const bytes = tarGz({ path: "../escaped", content: "x" });
      await writeFile(stored(ref("tree")), bytes);
      return [input("tree", "x", { digest: digest(bytes), sizeBytes: bytes.length })];
    },
    says: /segment "\.\."/,
  },
  "an archive with a link": {
    inputs: async () => {
      const bytes = tarGz({ path: "link", type: "SymbolicLink", linkpath: "/etc/passwd" });
      await writeFile(stored(ref("tree")), bytes);
      return [input("tree", "x", { digest: digest(bytes), sizeBytes: bytes.length })];
    },
    says: /link/,
  },
};

test.each(Object.entries(refused))("%s fails the Run before its program begins, for good", async (what, one) => {
  const name = `no-${what.replaceAll(" ", "-")}`.slice(0, 60);
  const artifactInputs = (await one.inputs()) ?? [];
  const status = await outcome(name, "true", { artifactInputs, retryPolicy: { maxAttempts: 3 } });
  expect(status).toMatchObject({ phase: "Failed", reason: "ArtifactInputFailed", attempt: 1 });
  expect(status).not.toHaveProperty("exitCode");
  expect(status?.message).toMatch(one.says);
});

test("coordinates that lead out of the store are refused at creation", async () => {
  const location = { filesystem: { path: "runs/../../../token", volumeClaimName: "artifacts" } };
  const creating = cluster.create(runs, bashRun("out", "true", { artifactInputs: [input("file", "x", { location })] }));
  await expect(creating).rejects.toThrow("spec.artifactInputs[0].ref.location.filesystem.path: Invalid value");
});

test("what is at the destination stays, unless it is the same or an earlier attempt of the step put it there", async () => {
  await cluster.create(persistentWorkspaces, { metadata: { name: "shared", namespace }, spec: { runtime: "bash" } });
  const workspace = { name: "shared" };
  const first = await outcome("writes", "echo mine > taken; echo one > same; mkdir dir; echo two > dir/x", {
    workspace,
  });
  expect(first).toMatchObject({ phase: "Succeeded" });
  const taken = await outcome("taken", "true", { workspace, artifactInputs: [input("file", "taken")] });
  expect(taken).toMatchObject({ phase: "Failed", reason: "ArtifactInputFailed" });
  expect(taken?.message).toContain("a file with other content is there already; choose another path");
  const dir = await outcome("dir", "true", { workspace, artifactInputs: [input("file", "dir")] });
  expect(dir?.message).toContain("a directory with other content is there already");
  const same = await outcome("same", "test $(cat taken) = mine", {
    workspace,
    artifactInputs: [input("file", "same")],
  });
  expect(same).toMatchObject({ phase: "Succeeded" });
  // The first attempt changes what was staged for it; the second one gets it anew.
  const script = 'test $(cat staged) = one || exit 1; echo changed > staged; test "$KRUNTIME_ATTEMPT" = 2';
  const retried = await outcome("retried", script, {
    workspace,
    artifactInputs: [input("file", "staged")],
    retryPolicy: { maxAttempts: 2, backoff: "0s" },
  });
  expect(retried).toMatchObject({ phase: "Succeeded", attempt: 2 });
});

test("a store that the Runtime does not have is found before the Run is created", async () => {
  const of = (runtime: string) =>
    cluster.create(runs, bashRun(`on-${runtime}`, "true", { runtime, artifactInputs: [input("file", "x")] }));
  await expect(of("elsewhere")).rejects.toThrow(
    'spec.artifactInputs[0].ref: Forbidden: artifact file cannot be read: it is in claim artifacts, Runtime "elsewhere" has claim other.',
  );
  await expect(of("storeless")).rejects.toThrow('Runtime "storeless" has no artifactStore');
});

test("an artifact of another namespace is refused, also when both have their stores on one volume", async () => {
  const theirs = "theirs";
  await cluster.create(namespaces, { metadata: { name: theirs } });
  const inTheirs = <T extends { metadata: object }>(object: T): T => ({
    ...object,
    metadata: { ...object.metadata, namespace: theirs },
  });
  await cluster.create(persistentVolumeClaims, inTheirs(claim));
  // The same volume under their claim: the bytes of this namespace are there, with the marker of their owner.
  const { location } = ref("file");
  const path = location.filesystem?.path ?? "";
  const [, uid] = path.split("/");
  const from = `${cluster.directory}/claims/${namespace}/artifacts/runs/${uid}`;
  await mkdir(`${cluster.directory}/claims/${theirs}/artifacts/runs`, { recursive: true });
  await cp(from, `${cluster.directory}/claims/${theirs}/artifacts/runs/${uid}`, { recursive: true });
  await cluster.create(runtimes, inTheirs(bashRuntime()));
  await cluster.create(runs, inTheirs(bashRun("thief", "true", { artifactInputs: [input("file", "x")] })));
  const at = { name: "thief", namespace: theirs };
  const { status } = await until(cluster.client, runs, at, (run) => run.status?.completionTime !== undefined, 20_000);
  expect(status).toMatchObject({ phase: "Failed", reason: "ArtifactInputFailed" });
  expect(status?.message).toContain(
    "belong to another cluster or namespace; only artifacts of the own one can be read",
  );
});

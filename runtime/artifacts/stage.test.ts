import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { collectArtifacts } from "#runtime/artifacts/collect.ts";
import { createFilesystemStore } from "#runtime/artifacts/filesystem-store.ts";
import { defaultArtifactLimits } from "#runtime/artifacts/limits.ts";
import { memoryVolume } from "#runtime/artifacts/memory-store.ts";
import { ArtifactInputError, type StageRequest, stageInputs } from "#runtime/artifacts/stage.ts";
import { type ArtifactStore, StoreUnavailableError } from "#runtime/artifacts/store.ts";
import { tarGz } from "#runtime/artifacts/testing/archives.ts";
import { type Faults, faultyFiles } from "#runtime/artifacts/testing/faulty-files.ts";
import { stream } from "#runtime/artifacts/testing/streams.ts";
import { type RunLayout, runLayout } from "#runtime/files/layout.ts";
import { MemoryFiles } from "#runtime/files/memory-files.ts";
import { prepareRun } from "#runtime/files/runs.ts";

const work = "/workspace/persistent/w";
const limits = defaultArtifactLimits.tree;
const owner = { clusterUid: "c", namespace: "n" };
const bytes = (text: string) => Buffer.from(text);

interface Setup {
  readonly files: MemoryFiles;
  readonly store: ArtifactStore;
  readonly faults: Faults;
  readonly file: ArtifactRef;
  readonly directory: ArtifactRef;
}

/** A producer that left a file and a directory in the store, and a prepared consumer. */
async function setup(): Promise<Setup> {
  const volume = memoryVolume({ now: () => 0 });
  const faults: Faults = {};
  const store = createFilesystemStore({ files: faultyFiles(volume, faults), owner, random: seededRandom(1) });
  const producer = new MemoryFiles({ root: "/p", now: () => 0 });
  await producer.makeDirectory("/p/a/dir/sub");
  await producer.writeFile("/p/a/dist.tgz", bytes("the file"));
  await producer.writeFile("/p/a/dir/run", bytes("#!"), 0o755);
  await producer.writeFile("/p/a/dir/sub/data", bytes("data"));
  const [directory, file] = await collectArtifacts(producer, store, {
    directory: "/p/a",
    runUid: "producer",
    runtime: "bash",
    limits: defaultArtifactLimits,
    now: () => 0,
  });
  if (file === undefined || directory === undefined) throw new Error("the producer left nothing");
  const files = new MemoryFiles({ root: "/workspace", now: () => 0 });
  await files.makeDirectory(work);
  return { files, store, faults, file, directory };
}

async function stage(
  { files, store }: Pick<Setup, "files" | "store">,
  inputs: StageRequest["inputs"],
  options: { runUid?: string; attempt?: number; owner?: string; signal?: AbortSignal; layout?: RunLayout } = {},
): Promise<void> {
  const { runUid = "consumer", attempt = 1, owner: who = "step", signal } = options;
  const layout = options.layout ?? runLayout("/workspace", { runUid, attempt, workspace: "w" });
  await prepareRun(files, layout);
  try {
    await stageInputs(files, store, { inputs, layout, owner: who, limits, ...(signal && { signal }) });
  } finally {
    expect(await files.list(layout.inputs, 10)).toEqual([]); // nothing half-received stays
  }
}

const read = async (files: MemoryFiles, path: string) =>
  Buffer.from(await files.readFile(`${work}/${path}`, 1000)).toString();

test("a file is copied to its path, a directory is extracted into its path", async () => {
  const s = await setup();
  await stage(s, [
    { ref: s.file, path: "in/deep/dist.tgz" },
    { ref: s.directory, path: "tools" },
  ]);
  expect(await read(s.files, "in/deep/dist.tgz")).toBe("the file");
  expect(await s.files.stat(`${work}/in/deep/dist.tgz`)).toMatchObject({ mode: 0o640 });
  expect(await read(s.files, "tools/sub/data")).toBe("data");
  expect(await s.files.stat(`${work}/tools/run`)).toMatchObject({ mode: 0o750 });
  expect(await s.files.stat(`${work}/tools/sub/data`)).toMatchObject({ mode: 0o640 });
});

test("a Run without a workspace gets its inputs in its own directory", async () => {
  const s = await setup();
  await stage(s, [{ ref: s.file, path: "x" }], { layout: runLayout("/workspace", { runUid: "u", attempt: 1 }) });
  expect(Buffer.from(await s.files.readFile("/workspace/runs/u/x", 100)).toString()).toBe("the file");
});

test("one input may lie inside another", async () => {
  const s = await setup();
  await stage(s, [
    { ref: s.directory, path: "tools" },
    { ref: s.file, path: "tools/sub/dist.tgz" },
  ]);
  expect(await read(s.files, "tools/sub/dist.tgz")).toBe("the file");
});

test("no inputs need no store; inputs without a store are refused", async () => {
  const s = await setup();
  const layout = runLayout("/workspace", { runUid: "u", attempt: 1 });
  await prepareRun(s.files, layout);
  await stageInputs(s.files, undefined, { inputs: [], layout, owner: "o", limits });
  const staging = stageInputs(s.files, undefined, { inputs: [{ ref: s.file, path: "x" }], layout, owner: "o", limits });
  await expect(staging).rejects.toThrow(
    /spec\.artifactInputs\[0\] \("dist\.tgz" to "x"\): the Runtime has no artifactStore/,
  );
});

test("what an earlier attempt of the same step staged is replaced, even when it was changed since", async () => {
  const s = await setup();
  const inputs = [
    { ref: s.file, path: "x" },
    { ref: s.directory, path: "tools" },
  ];
  await stage(s, inputs);
  await s.files.writeFile(`${work}/x`, bytes("scribbled over"));
  await s.files.writeFile(`${work}/tools/left`, bytes("left"));
  await stage(s, inputs, { attempt: 2 });
  await stage(s, inputs, { runUid: "another-run-of-the-step" });
  expect(await read(s.files, "x")).toBe("the file");
  expect(await s.files.stat(`${work}/tools/left`)).toBeUndefined();
});

test("what was staged as a file may be replaced by a directory, and the reverse", async () => {
  const s = await setup();
  await stage(s, [{ ref: s.file, path: "x" }]);
  await stage(s, [{ ref: s.directory, path: "x" }], { attempt: 2 });
  expect(await read(s.files, "x/sub/data")).toBe("data");
  await stage(s, [{ ref: s.file, path: "x" }], { attempt: 3 });
  expect(await read(s.files, "x")).toBe("the file");
});

test("what another step staged is not replaced, unless it is the same", async () => {
  const s = await setup();
  await stage(s, [
    { ref: s.file, path: "x" },
    { ref: s.directory, path: "tools" },
  ]);
  await stage(
    s,
    [
      { ref: s.file, path: "x" },
      { ref: s.directory, path: "tools" },
    ],
    { owner: "other" },
  );
  await s.files.writeFile(`${work}/x`, bytes("changed!"));
  await expect(stage(s, [{ ref: s.file, path: "x" }], { owner: "other" })).rejects.toThrow(
    /a file with other content is there already/,
  );
  await s.files.writeFile(`${work}/tools/sub/data`, bytes("DATA"));
  await expect(stage(s, [{ ref: s.directory, path: "tools" }], { owner: "other" })).rejects.toThrow(
    /a directory with other content/,
  );
  expect(await read(s.files, "x")).toBe("changed!");
  expect(await read(s.files, "tools/sub/data")).toBe("DATA");
});

test("a user's file of the same content is left as it is and does not become ours", async () => {
  const s = await setup();
  await s.files.writeFile(`${work}/x`, bytes("the file"), 0o600);
  await stage(s, [{ ref: s.file, path: "x" }]);
  expect(await s.files.stat(`${work}/x`)).toMatchObject({ mode: 0o600 });
  await s.files.writeFile(`${work}/x`, bytes("edited"));
  await expect(stage(s, [{ ref: s.file, path: "x" }], { attempt: 2 })).rejects.toThrow(/other content/);
  expect(await read(s.files, "x")).toBe("edited");
});

type Plant = (s: Setup) => Promise<unknown>;
const occupied: Record<string, { path?: string; directory?: boolean; plant: Plant; message: RegExp }> = {
  "a file of the user": {
    plant: ({ files }) => files.writeFile(`${work}/x`, bytes("mine")),
    message: /a file with other content is there/,
  },
  "a file of the same size": {
    plant: ({ files }) => files.writeFile(`${work}/x`, bytes("THE FILE")),
    message: /other content/,
  },
  "an empty directory": {
    plant: ({ files }) => files.makeDirectory(`${work}/x`),
    message: /a directory with other content/,
  },
  "a directory for a directory": {
    directory: true,
    plant: ({ files }) => files.makeDirectory(`${work}/x/sub`),
    message: /a directory with other content/,
  },
  "a file for a directory": {
    directory: true,
    plant: ({ files }) => files.writeFile(`${work}/x`, bytes("mine")),
    message: /a file with other content/,
  },
  "a link": { plant: async ({ files }) => files.plant(`${work}/x`, "Symlink"), message: /a link with other content/ },
  "a pipe": { plant: async ({ files }) => files.plant(`${work}/x`, "Other"), message: /something that is no file/ },
  "a link as a parent": {
    path: "l/x",
    plant: async ({ files }) => files.plant(`${work}/l`, "Symlink"),
    message: /symbolic link; links are not followed/,
  },
  "a link as a distant parent": {
    path: "a/l/b/x",
    plant: async ({ files }) => {
      await files.makeDirectory(`${work}/a`);
      files.plant(`${work}/a/l`, "Symlink");
    },
    message: /symbolic link/,
  },
  "a file as a parent": {
    path: "f/x",
    plant: ({ files }) => files.writeFile(`${work}/f`, bytes("mine")),
    message: /not a directory/,
  },
};

test.each(Object.entries(occupied))(
  "refused: %s at the destination",
  async (_, { path = "x", directory, plant, message }) => {
    const s = await setup();
    await plant(s);
    const before = JSON.stringify(await s.files.list(work, 100));
    const staging = () => stage(s, [{ ref: directory ? s.directory : s.file, path }]);
    await expect(staging()).rejects.toThrow(message);
    await expect(staging()).rejects.toBeInstanceOf(ArtifactInputError);
    const after = (await s.files.list(work, 100)).filter(({ name }) => name !== ".kruntimes");
    expect(JSON.stringify(after)).toBe(before);
  },
);

test.each([
  ["/etc/x", /is absolute/],
  ["../x", /segment "\.\."/],
  ["a/../../x", /segment "\.\."/],
  ["", /path is empty/],
  ["a//x", /empty segment/],
  [".kruntimes/workspace-uid", /reserved name/],
  [".Kruntimes/x", /reserved name/],
  ["x\0y", /U\+0000/],
  ["n".repeat(256), /longer than 255/],
])("refused as a destination: %j", async (path, message) => {
  const s = await setup();
  await expect(stage(s, [{ ref: s.file, path }])).rejects.toThrow(message);
});

test("two inputs cannot have one path", async () => {
  const s = await setup();
  const staging = stage(s, [
    { ref: s.file, path: "x" },
    { ref: s.directory, path: "x" },
  ]);
  await expect(staging).rejects.toThrow(/spec\.artifactInputs\[1\].*another input has the same path/);
});

const wrongRefs: Record<string, { change: (ref: ArtifactRef) => ArtifactRef; message: RegExp }> = {
  "a wrong digest": {
    change: (ref) => ({ ...ref, digest: `sha256:${"0".repeat(64)}` }),
    message: /the bytes have digest sha256:/,
  },
  "a smaller size": {
    change: (ref) => ({ ...ref, sizeBytes: ref.sizeBytes - 1 }),
    message: /has 8 bytes, the reference says 7/,
  },
  "a larger size": {
    change: (ref) => ({ ...ref, sizeBytes: ref.sizeBytes + 1 }),
    message: /has 8 bytes, the reference says 9/,
  },
  "an artifact that is gone": {
    change: (ref) => ({ ...ref, location: { filesystem: { path: "runs/producer/artifacts/gone" } } }),
    message: /nothing is stored at runs\/producer\/artifacts\/gone/,
  },
  "another driver": {
    change: (ref) => ({ ...ref, driver: "S3", location: { s3: { bucket: "b", key: "k" } } }),
    message: /driver S3/,
  },
  "another claim": {
    change: (ref) => ({
      ...ref,
      location: { filesystem: { path: "runs/producer/artifacts/dist.tgz", volumeClaimName: "x" } },
    }),
    message: /on claim x/,
  },
  "a file said to be a directory": { change: (ref) => ({ ...ref, type: "Directory" }), message: /archive is damaged/ },
};

test.each(Object.entries(wrongRefs))("refused: %s", async (_, { change, message }) => {
  const s = await setup();
  const staging = () => stage(s, [{ ref: change(s.file), path: "x" }]);
  await expect(staging()).rejects.toThrow(message);
  await expect(staging()).rejects.toBeInstanceOf(ArtifactInputError);
  expect(await s.files.stat(`${work}/x`)).toBeUndefined();
});

test("artifacts of another namespace are refused", async () => {
  const s = await setup();
  const volume = memoryVolume({ now: () => 0 });
  const theirs = createFilesystemStore({
    files: volume,
    owner: { ...owner, namespace: "other" },
    random: seededRandom(3),
  });
  const stored = await theirs.put({ runUid: "theirs", name: "a" }, stream("secret"), { maxBytes: 100 });
  const mine = createFilesystemStore({ files: volume, owner, random: seededRandom(4) });
  const ref: ArtifactRef = { ...s.file, ...stored, name: "a" };
  await expect(stage({ files: s.files, store: mine }, [{ ref, path: "x" }])).rejects.toThrow(
    /another cluster or namespace/,
  );
});

test("an unsafe archive leaves nothing behind", async () => {
  const s = await setup();
  const archive = tarGz({ path: "good", content: "x" }, { path: "../evil", content: "x" });
  const stored = await s.store.put({ runUid: "hostile", name: "d" }, stream(archive), { maxBytes: 10_000 });
  const ref: ArtifactRef = { ...s.directory, ...stored, name: "d" };
  await expect(stage(s, [{ ref, path: "x" }])).rejects.toThrow(/unsafe entry/);
  expect(await s.files.stat(`${work}/x`)).toBeUndefined();
  expect(await s.files.stat(`${work}/evil`)).toBeUndefined();
});

test("bytes that were changed in the store are found out", async () => {
  const s = await setup();
  s.faults.read = (chunk, path) => (path.includes("/artifacts/dist") ? Buffer.from(chunk).fill(0x78) : chunk);
  await expect(stage(s, [{ ref: s.file, path: "x" }])).rejects.toThrow(/the bytes have digest/);
});

test("a store that sends too little is asked again, and the Run never sees the half", async () => {
  const s = await setup();
  s.faults.read = (chunk, path) => (path.includes("/artifacts/dist") ? chunk.subarray(0, 3) : chunk);
  const staging = () => stage(s, [{ ref: s.file, path: "x" }]);
  await expect(staging()).rejects.toThrow(/sent 3 of 8 bytes/);
  await expect(staging()).rejects.toBeInstanceOf(StoreUnavailableError);
  expect(await s.files.stat(`${work}/x`)).toBeUndefined();
  delete s.faults.read;
  await staging();
  expect(await read(s.files, "x")).toBe("the file");
});

test("a store that is down is asked again", async () => {
  const s = await setup();
  s.faults.fail = (call, path) => (call === "read" && path.includes("/artifacts/dir") ? "Failed" : undefined);
  const inputs = [
    { ref: s.file, path: "x" },
    { ref: s.directory, path: "tools" },
  ];
  await expect(stage(s, inputs)).rejects.toBeInstanceOf(StoreUnavailableError);
  delete s.faults.fail;
  await stage(s, inputs);
  expect(await read(s.files, "tools/sub/data")).toBe("data");
});

test("a full workspace is an error that names the input", async () => {
  const s = await setup();
  const full = faultyFiles(s.files, { fail: (call) => (call === "write" ? "NoSpace" : undefined) });
  const layout = runLayout("/workspace", { runUid: "consumer", attempt: 1, workspace: "w" });
  await prepareRun(s.files, layout);
  const staging = stageInputs(full, s.store, { inputs: [{ ref: s.file, path: "x" }], layout, owner: "o", limits });
  await expect(staging).rejects.toThrow(/spec\.artifactInputs\[0\].*injected NoSpace/);
});

test("an archive that unfolds too far is refused", async () => {
  const s = await setup();
  const layout = runLayout("/workspace", { runUid: "consumer", attempt: 1, workspace: "w" });
  await prepareRun(s.files, layout);
  const request = { inputs: [{ ref: s.directory, path: "x" }], layout, owner: "o", limits: { ...limits, entries: 2 } };
  await expect(stageInputs(s.files, s.store, request)).rejects.toThrow(/more than 2 entries/);
});

test("an abort ends the staging with its reason", async () => {
  const s = await setup();
  await expect(
    stage(s, [{ ref: s.file, path: "x" }], { signal: AbortSignal.abort(new Error("cancelled")) }),
  ).rejects.toThrow("cancelled");
});

test("gzip of anything else than tar is refused", async () => {
  const s = await setup();
  const stored = await s.store.put({ runUid: "odd", name: "d" }, stream(gzipSync("just text")), { maxBytes: 10_000 });
  await expect(stage(s, [{ ref: { ...s.directory, ...stored, name: "d" }, path: "x" }])).rejects.toThrow(
    /archive is damaged/,
  );
});

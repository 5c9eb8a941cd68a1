import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { seededRandom } from "#kube/seeded-random.ts";
import { type CollectRequest, collectArtifacts } from "#runtime/artifacts/collect.ts";
import { contentTypeOf } from "#runtime/artifacts/content-type.ts";
import { createFilesystemStore } from "#runtime/artifacts/filesystem-store.ts";
import { type ArtifactLimits, defaultArtifactLimits } from "#runtime/artifacts/limits.ts";
import { createMemoryStore, memoryVolume } from "#runtime/artifacts/memory-store.ts";
import { ArtifactInvalidError, StoreUnavailableError } from "#runtime/artifacts/store.ts";
import { faultyFiles } from "#runtime/artifacts/testing/faulty-files.ts";
import { runLayout } from "#runtime/files/layout.ts";
import { MemoryFiles } from "#runtime/files/memory-files.ts";
import { prepareRun } from "#runtime/files/runs.ts";

const layout = runLayout("/workspace", { runUid: "u1", attempt: 1 });
const dir = layout.artifacts;
const bytes = (text: string) => Buffer.from(text);
const tight: ArtifactLimits = {
  artifacts: 3,
  artifactBytes: 1000,
  totalBytes: 1500,
  tree: { entries: 5, bytes: 2000, depth: 3 },
};

async function setup(limits: ArtifactLimits = defaultArtifactLimits) {
  const files = new MemoryFiles({ root: "/workspace", now: () => 0 });
  await prepareRun(files, layout);
  const volume = memoryVolume({ now: () => 0 });
  const store = createMemoryStore(
    { owner: { clusterUid: "c", namespace: "n" }, random: seededRandom(1), now: () => 0, volumeClaimName: "claim" },
    volume,
  );
  const request: CollectRequest = {
    directory: dir,
    runUid: "u1",
    runtime: "bash",
    limits,
    now: () => 1_700_000_000_123.5,
  };
  return { files, store, volume, request, collect: () => collectArtifacts(files, store, request) };
}

test("files and directories become references, ordered by name", async () => {
  const { files, store, collect } = await setup();
  await files.writeFile(`${dir}/report.json`, bytes("{}"));
  await files.makeDirectory(`${dir}/dist/bin`);
  await files.writeFile(`${dir}/dist/bin/app`, bytes("app"), 0o755);
  await files.writeFile(`${dir}/Z`, bytes("z"));
  const refs = await collect();
  expect(refs.map(({ name, type, contentType }) => [name, type, contentType])).toEqual([
    ["Z", "File", "application/octet-stream"],
    ["dist", "Directory", "application/gzip"],
    ["report.json", "File", "application/json"],
  ]);
  expect(refs[2]).toEqual({
    name: "report.json",
    driver: "Filesystem",
    type: "File",
    location: { filesystem: { path: "runs/u1/artifacts/report.json", volumeClaimName: "claim" } },
    sizeBytes: 2,
    digest: `sha256:${createHash("sha256").update("{}").digest("hex")}`,
    contentType: "application/json",
    createdAt: "2023-11-14T22:13:20.123500Z",
  });
  for (const ref of refs) expect(await store.stat(ref)).toEqual({ sizeBytes: ref.sizeBytes });
});

test("an empty directory, or none, has no artifacts, with and without a store", async () => {
  const { files, collect, request } = await setup();
  expect(await collect()).toEqual([]);
  expect(await collectArtifacts(files, undefined, request)).toEqual([]);
  await files.remove(dir);
  expect(await collect()).toEqual([]);
});

test("an empty file and an empty directory are artifacts", async () => {
  const { files, collect } = await setup();
  await files.writeFile(`${dir}/empty`, bytes(""));
  await files.makeDirectory(`${dir}/nothing`);
  expect((await collect()).map(({ name, type }) => `${name} ${type}`)).toEqual(["empty File", "nothing Directory"]);
});

test("without a store an artifact is invalid, and the message names the Runtime", async () => {
  const { files, request } = await setup();
  await files.writeFile(`${dir}/a`, bytes("x"));
  await expect(collectArtifacts(files, undefined, request)).rejects.toThrow(/^Runtime bash has no artifactStore/);
  await expect(collectArtifacts(files, undefined, request)).rejects.toBeInstanceOf(ArtifactInvalidError);
});

type Plant = (files: MemoryFiles) => Promise<unknown> | undefined;
const invalid: Record<string, { plant: Plant; message: RegExp }> = {
  "a link": { plant: async (f) => f.plant(`${dir}/l`, "Symlink"), message: /artifact "l" is a symbolic link; .*cp -L/ },
  "a pipe": { plant: async (f) => f.plant(`${dir}/p`, "Other"), message: /artifact "p" is a device, pipe or socket/ },
  "a hard link": {
    plant: async (f) => {
      await f.writeFile(`${dir}/h`, bytes("x"));
      f.plantHardLink(`${dir}/h`, "/workspace/other");
    },
    message: /artifact "h" has hard links \(2 names\)/,
  },
  "a link deep inside": {
    plant: async (f) => {
      await f.makeDirectory(`${dir}/d/e`);
      f.plant(`${dir}/d/e/l`, "Symlink");
    },
    message: /artifact "d": "e\/l" is a symbolic link/,
  },
  "a device deep inside": {
    plant: async (f) => {
      await f.makeDirectory(`${dir}/d`);
      f.plant(`${dir}/d/dev`, "Other");
    },
    message: /artifact "d": "dev" is a device/,
  },
  "a hard link deep inside": {
    plant: async (f) => {
      await f.makeDirectory(`${dir}/d`);
      await f.writeFile(`${dir}/d/h`, bytes("x"));
      f.plantHardLink(`${dir}/d/h`, `${dir}/d/i`);
    },
    message: /artifact "d": "h" has hard links/,
  },
  "a name that is not UTF-8": {
    plant: async (f) => f.plant(`${dir}/x`, "File", bytes("x"), Uint8Array.from([0x61, 0xff])),
    message: /name is not valid UTF-8/,
  },
  "a name that is not UTF-8 deep inside": {
    plant: async (f) => {
      await f.makeDirectory(`${dir}/d`);
      f.plant(`${dir}/d/x`, "File", bytes("x"), Uint8Array.from([0xff]));
    },
    message: /artifact "d": .*not valid UTF-8/,
  },
  "a backslash in the name": {
    plant: (f) => f.writeFile(`${dir}/a\\b`, bytes("x")),
    message: /contains a slash or backslash/,
  },
  "a newline in the name": { plant: (f) => f.writeFile(`${dir}/a\nb`, bytes("x")), message: /U\+000A/ },
  "a control character deep inside": {
    plant: async (f) => {
      await f.makeDirectory(`${dir}/d`);
      await f.writeFile(`${dir}/d/a\u001bb`, bytes("x"));
    },
    message: /U\+001B/,
  },
  "the reserved name": { plant: (f) => f.makeDirectory(`${dir}/.kruntimes`), message: /reserved name/ },
  "a copy of the workspace with the reserved directory": {
    plant: (f) => f.makeDirectory(`${dir}/copy/.kruntimes/runs`),
    message: /reserved name .kruntimes/,
  },
  "a link in place of the directory": {
    plant: async (f) => {
      await f.remove(dir);
      f.plant(dir, "Symlink");
    },
    message: /KRUNTIME_ARTIFACTS_DIR: .*link/,
  },
  "a file in place of the directory": {
    plant: async (f) => {
      await f.remove(dir);
      await f.writeFile(dir, bytes("x"));
    },
    message: /KRUNTIME_ARTIFACTS_DIR: /,
  },
  "one artifact too many": {
    plant: async (f) => {
      for (const name of ["a", "b", "c", "d"]) await f.writeFile(`${dir}/${name}`, bytes("x"));
    },
    message: /more than 3 artifacts; put them into one directory/,
  },
  "a file over the limit": {
    plant: (f) => f.writeFile(`${dir}/a`, Buffer.alloc(1001)),
    message: /artifact "a" is larger than 1000 bytes/,
  },
  "files over the limit together": {
    plant: async (f) => {
      for (const name of ["a", "b"]) await f.writeFile(`${dir}/${name}`, Buffer.alloc(900));
    },
    message: /together larger than 1500 bytes/,
  },
  "a directory that is over the limit when packed": {
    plant: async (f) => {
      await f.makeDirectory(`${dir}/d`);
      const noise = Array.from({ length: 25 }, (_, i) => createHash("sha512").update(String(i)).digest());
      await f.writeFile(`${dir}/d/noise`, Buffer.concat(noise));
    },
    message: /artifact "d" is larger than 1000 bytes/,
  },
  "a directory with too much in it, however well it packs": {
    plant: async (f) => {
      await f.makeDirectory(`${dir}/d`);
      await f.writeFile(`${dir}/d/zeros`, Buffer.alloc(2001));
    },
    message: /artifact "d" holds more than 2000 bytes/,
  },
  "a directory with too many entries": {
    plant: async (f) => {
      await f.makeDirectory(`${dir}/d/e`);
      for (const name of ["a", "b", "c", "d", "e"]) await f.writeFile(`${dir}/d/e/${name}`, bytes(""));
    },
    message: /artifact "d" has more than 5 files and directories/,
  },
  "a directory with too many entries in one place": {
    plant: async (f) => {
      await f.makeDirectory(`${dir}/d`);
      for (const name of "abcdef") await f.writeFile(`${dir}/d/${name}`, bytes(""));
    },
    message: /artifact "d": .*more than 5 entries/,
  },
  "a directory that is too deep": {
    plant: (f) => f.makeDirectory(`${dir}/d/1/2/3`),
    message: /artifact "d" has more than 3 levels/,
  },
};

test.each(Object.entries(invalid))("refused before anything is stored: %s", async (_, { plant, message }) => {
  const { files, volume, collect } = await setup(tight);
  await files.writeFile(`${dir}/0-good`, bytes("x")).catch(() => {});
  await plant(files);
  await expect(collect()).rejects.toThrow(message);
  await expect(collect()).rejects.toBeInstanceOf(ArtifactInvalidError);
  const packed = message.source.startsWith('artifact "d" is larger');
  expect(await volume.list(volume.root, 10)).toHaveLength(packed ? 1 : 0);
});

test("everything at its limit is stored", async () => {
  const { files, collect } = await setup({ ...tight, totalBytes: 3000 });
  for (const name of ["a", "b", "c"]) await files.writeFile(`${dir}/${name}`, Buffer.alloc(1000));
  expect((await collect()).map(({ sizeBytes }) => sizeBytes)).toEqual([1000, 1000, 1000]);
});

test("a file that grows while it is stored is cut off at the limit", async () => {
  const { files, store, request } = await setup(tight);
  await files.writeFile(`${dir}/a`, Buffer.alloc(900));
  const growing = faultyFiles(files, { read: (chunk) => Buffer.concat([chunk, chunk]) });
  await expect(collectArtifacts(growing, store, request)).rejects.toThrow(/artifact "a" is larger than 1000 bytes/);
});

test("a file that vanishes or cannot be read is the artifact's fault", async () => {
  const { files, store, request } = await setup();
  await files.writeFile(`${dir}/a`, bytes("x"));
  for (const code of ["Missing", "Denied", "Unsafe"] as const) {
    const failing = faultyFiles(files, { fail: (call) => (call === "openFile" ? code : undefined) });
    await expect(collectArtifacts(failing, store, request)).rejects.toBeInstanceOf(ArtifactInvalidError);
  }
});

test("a store that fails can be asked again, and then has everything", async () => {
  const { files, request, volume } = await setup();
  await files.writeFile(`${dir}/a`, bytes("1"));
  await files.writeFile(`${dir}/b`, bytes("2"));
  let down = true;
  const flaky = faultyFiles(volume, {
    fail: (call, path) => (down && call === "rename" && path.endsWith("/b") ? "Failed" : undefined),
  });
  const store = createFilesystemStore({
    files: flaky,
    owner: { clusterUid: "c", namespace: "n" },
    random: seededRandom(2),
  });
  await expect(collectArtifacts(files, store, request)).rejects.toBeInstanceOf(StoreUnavailableError);
  down = false;
  expect((await collectArtifacts(files, store, request)).map(({ name }) => name)).toEqual(["a", "b"]);
});

test("an abort ends the collection", async () => {
  const { files, store, request } = await setup();
  await files.writeFile(`${dir}/a`, bytes("1"));
  const signal = AbortSignal.abort(new Error("timed out"));
  await expect(collectArtifacts(files, store, { ...request, signal })).rejects.toThrow("timed out");
});

test.each([
  ["a.tar.gz", "File", "application/gzip"],
  ["A.JSON", "File", "application/json"],
  ["json", "File", "application/octet-stream"],
  ["a.", "File", "application/octet-stream"],
  ["a.constructor", "File", "application/octet-stream"],
  ["a.txt", "Directory", "application/gzip"],
] as const)("the media type of %s (%s) is %s", (name, type, want) => {
  expect(contentTypeOf(name, type)).toBe(want);
});

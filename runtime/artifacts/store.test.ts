import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { systemRandom } from "#kube/system.ts";
import { createFilesystemStore } from "#runtime/artifacts/filesystem-store.ts";
import { createMemoryStore, memoryVolume } from "#runtime/artifacts/memory-store.ts";
import {
  ArtifactInvalidError,
  type ArtifactLocator,
  ArtifactMissingError,
  type ArtifactStore,
  type StoredRun,
  type StoreOwner,
  StoreUnavailableError,
} from "#runtime/artifacts/store.ts";
import { type Faults, faultyFiles } from "#runtime/artifacts/testing/faulty-files.ts";
import { stream } from "#runtime/artifacts/testing/streams.ts";
import { readAll } from "#runtime/files/bytes.ts";
import type { Files } from "#runtime/files/port.ts";
import { openSystemFiles } from "#runtime/files/system-files.ts";

/**
 * One contract for every driver. `open` gives stores on the same volume for different owners and claims; `files` reaches below
 * the store to look and to break things.
 */
interface Subject {
  readonly files: Files;
  open(options?: { owner?: Partial<StoreOwner>; claim?: string; faults?: Faults }): ArtifactStore;
}

const owner: StoreOwner = { clusterUid: "c1", namespace: "default" };
const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

async function filesystem(): Promise<Subject> {
  const root = await mkdtemp(join(tmpdir(), "store-"));
  cleanups.push(() => rm(root, { recursive: true, force: true }));
  const files = await openSystemFiles(root);
  return {
    files,
    open: ({ owner: other = {}, claim = "claim", faults } = {}) =>
      createFilesystemStore({
        files: faults ? faultyFiles(files, faults) : files,
        owner: { ...owner, ...other },
        volumeClaimName: claim,
        random: systemRandom,
      }),
  };
}

async function memory(): Promise<Subject> {
  const files = memoryVolume({ now: () => 5 });
  return {
    files,
    open: ({ owner: other = {}, claim = "claim", faults } = {}) => {
      if (!faults) {
        return createMemoryStore(
          { owner: { ...owner, ...other }, volumeClaimName: claim, random: systemRandom, now: () => 5 },
          files,
        );
      }
      return createFilesystemStore({
        files: faultyFiles(files, faults),
        owner: { ...owner, ...other },
        volumeClaimName: claim,
        random: systemRandom,
      });
    },
  };
}

const target = { runUid: "11111111-2222-3333-4444-555555555555", name: "dist.tgz" };
const maxBytes = 1_000_000;
const digestOf = (content: string | Uint8Array) => `sha256:${createHash("sha256").update(content).digest("hex")}`;
const ref = (path: string, claim?: string): ArtifactLocator => ({
  driver: "Filesystem",
  location: { filesystem: { path, ...(claim !== undefined && { volumeClaimName: claim }) } },
});

async function contentOf(store: ArtifactStore, locator: ArtifactLocator): Promise<string> {
  const artifact = await store.open(locator);
  try {
    return (await readAll(artifact.read())).toString();
  } finally {
    await artifact.close();
  }
}

async function listed(store: ArtifactStore): Promise<StoredRun[]> {
  const runs: StoredRun[] = [];
  for await (const run of store.list()) runs.push(run);
  return runs;
}

/** All files below the root of the volume. */
async function filesBelow(files: Files, path = files.root): Promise<string[]> {
  const found: string[] = [];
  for (const { name, kind } of await files.list(path, 1000)) {
    if (kind === "Directory") found.push(...(await filesBelow(files, `${path}/${name}`)));
    else found.push(`${path}/${name}`.slice(files.root.length + 1));
  }
  return found;
}

describe.each([
  ["filesystem", filesystem],
  ["memory", memory],
] as const)("%s store", (_, make) => {
  test("what is put can be opened, with its size and digest", async () => {
    const store = (await make()).open();
    const stored = await store.put(target, stream("hello world", 4), { maxBytes });
    expect(stored).toEqual({
      location: { filesystem: { path: `runs/${target.runUid}/artifacts/dist.tgz`, volumeClaimName: "claim" } },
      sizeBytes: 11,
      digest: digestOf("hello world"),
    });
    const locator = { driver: store.driver, location: stored.location };
    expect(await contentOf(store, locator)).toBe("hello world");
    expect(await store.stat(locator)).toEqual({ sizeBytes: 11 });
    const artifact = await store.open(locator);
    expect(artifact.sizeBytes).toBe(11);
    expect((await readAll(artifact.read(6, 9))).toString()).toBe("wor");
    await artifact.close();
  });

  test("an empty artifact is an artifact", async () => {
    const store = (await make()).open();
    const stored = await store.put(target, stream(""), { maxBytes: 0 });
    expect(stored).toMatchObject({ sizeBytes: 0, digest: digestOf("") });
    expect(await contentOf(store, { driver: store.driver, location: stored.location })).toBe("");
  });

  test("large content survives", async () => {
    const store = (await make()).open();
    const content = Buffer.alloc(900_000, "0123456789abcdef!");
    const stored = await store.put(target, stream(content, 10_007), { maxBytes });
    expect(stored).toMatchObject({ sizeBytes: 900_000, digest: digestOf(content) });
    expect(await contentOf(store, { driver: store.driver, location: stored.location })).toBe(content.toString());
  });

  test("a second put replaces the first", async () => {
    const { open, files } = await make();
    const store = open();
    const { location } = await store.put(target, stream("one"), { maxBytes });
    await store.put(target, stream("second"), { maxBytes });
    expect(await contentOf(store, { driver: store.driver, location })).toBe("second");
    expect(await filesBelow(files)).toEqual([
      `runs/${target.runUid}/artifacts/dist.tgz`,
      `runs/${target.runUid}/owner.json`,
    ]);
  });

  test("a byte over the limit is refused, and nothing is left of it", async () => {
    const { open, files } = await make();
    const store = open();
    await expect(store.put(target, stream("12345"), { maxBytes: 4 })).rejects.toThrow(ArtifactInvalidError);
    expect(await filesBelow(files)).toEqual([`runs/${target.runUid}/owner.json`]);
    await store.put(target, stream("1234"), { maxBytes: 4 });
  });

  test("an error of the source passes through, keeps the old artifact and leaves nothing new", async () => {
    const { open, files } = await make();
    const store = open();
    const { location } = await store.put(target, stream("old"), { maxBytes });
    const error = new Error("source broke");
    const broken = (async function* () {
      yield Buffer.from("half");
      throw error;
    })();
    await expect(store.put(target, broken, { maxBytes })).rejects.toBe(error);
    expect(await contentOf(store, { driver: store.driver, location })).toBe("old");
    expect(await filesBelow(files)).toHaveLength(2);
  });

  test("an abort ends a put that waits for its source", async () => {
    const { open, files } = await make();
    const abort = new AbortController();
    const started = Promise.withResolvers<void>();
    const hanging = (async function* () {
      yield Buffer.from("x");
      started.resolve();
      await new Promise(() => {});
    })();
    const put = open().put(target, hanging, { maxBytes, signal: abort.signal });
    await started.promise;
    abort.abort(new Error("timed out"));
    await expect(put).rejects.toThrow("timed out");
    expect(await filesBelow(files)).toEqual([`runs/${target.runUid}/owner.json`]);
    await expect(open().put(target, stream("x"), { maxBytes, signal: abort.signal })).rejects.toThrow("timed out");
  });

  test("two puts of one artifact at once leave one of them whole", async () => {
    const { open, files } = await make();
    const [a, b] = [open(), open()];
    const contents = ["a".repeat(50_000), "b".repeat(50_000)];
    const [stored] = await Promise.all([
      a.put(target, stream(contents[0] ?? "", 1000), { maxBytes }),
      b.put(target, stream(contents[1] ?? "", 1000), { maxBytes }),
    ]);
    expect(contents).toContain(await contentOf(a, { driver: a.driver, location: stored.location }));
    expect(await filesBelow(files)).toHaveLength(2);
  });

  test("what is not there is missing", async () => {
    const store = (await make()).open();
    const nothing = ref(`runs/${target.runUid}/artifacts/dist.tgz`, "claim");
    await expect(store.open(nothing)).rejects.toThrow(ArtifactMissingError);
    expect(await store.stat(nothing)).toBeUndefined();
    await store.put({ ...target, name: "other" }, stream("x"), { maxBytes });
    await expect(store.open(nothing)).rejects.toThrow(ArtifactMissingError);
    expect(await store.stat(nothing)).toBeUndefined();
  });

  test.each(["", ".", "..", "a/b", "a\\b", "a\0", "\ud800", ".kruntimes", "n".repeat(256)])(
    "%j cannot be the name of an artifact",
    async (name) => {
      const { open, files } = await make();
      await expect(open().put({ ...target, name }, stream("x"), { maxBytes })).rejects.toThrow(ArtifactInvalidError);
      expect(await filesBelow(files)).toEqual([]);
    },
  );

  test.each(["", "..", "a/b", ".", "a\0", "x".repeat(64)])("%j cannot be the UID of a Run", async (runUid) => {
    const { open, files } = await make();
    await expect(open().put({ ...target, runUid }, stream("x"), { maxBytes })).rejects.toThrow(ArtifactInvalidError);
    await expect(open().delete(runUid)).rejects.toThrow(ArtifactInvalidError);
    expect(await filesBelow(files)).toEqual([]);
  });

  const uid = target.runUid;
  const foreign: Record<string, ArtifactLocator> = {
    "another driver": { driver: "S3", location: { s3: { bucket: "b", key: "k" } } },
    "a location that does not match the driver": { driver: "Filesystem", location: { s3: { bucket: "b", key: "k" } } },
    "another claim": ref(`runs/${uid}/artifacts/dist.tgz`, "other"),
    "no claim": ref(`runs/${uid}/artifacts/dist.tgz`),
    "an absolute path": ref(`/runs/${uid}/artifacts/dist.tgz`, "claim"),
    "a path that climbs": ref(`runs/${uid}/artifacts/../owner.json`, "claim"),
    "a path that climbs out": ref(`runs/../artifacts/dist.tgz`, "claim"),
    "the marker": ref(`runs/${uid}/owner.json`, "claim"),
    "a deeper path": ref(`runs/${uid}/artifacts/a/b`, "claim"),
    "the directory": ref(`runs/${uid}/artifacts`, "claim"),
    "an empty name": ref(`runs/${uid}/artifacts/`, "claim"),
    "a NUL": ref(`runs/${uid}/artifacts/a\0b`, "claim"),
  };

  test.each(Object.entries(foreign))("a reference is refused: %s", async (_name, locator) => {
    const store = (await make()).open();
    await store.put(target, stream("x"), { maxBytes });
    await expect(store.open(locator)).rejects.toThrow(ArtifactInvalidError);
    await expect(store.stat(locator)).rejects.toThrow(ArtifactInvalidError);
  });

  test.each([{ clusterUid: "c2" }, { namespace: "other" }])(
    "owner %j can neither read, replace, list nor remove",
    async (other) => {
      const { open, files } = await make();
      const { location } = await open().put(target, stream("mine"), { maxBytes });
      const theirs = open({ owner: other });
      const locator = { driver: theirs.driver, location };
      await expect(theirs.open(locator)).rejects.toThrow(/another cluster or namespace/);
      await expect(theirs.stat(locator)).rejects.toThrow(ArtifactInvalidError);
      await expect(theirs.put(target, stream("evil"), { maxBytes })).rejects.toThrow(ArtifactInvalidError);
      await expect(theirs.delete(uid)).rejects.toThrow(ArtifactInvalidError);
      expect(await listed(theirs)).toEqual([]);
      expect(await contentOf(open(), locator)).toBe("mine");
      expect(await filesBelow(files)).toHaveLength(2);
    },
  );

  test("bytes without a marker belong to nobody", async () => {
    const { open, files } = await make();
    await files.makeDirectory(`${files.root}/runs/${uid}/artifacts`);
    await files.writeFile(`${files.root}/runs/${uid}/artifacts/dist.tgz`, Buffer.from("x"));
    const store = open();
    await expect(store.open(ref(`runs/${uid}/artifacts/dist.tgz`, "claim"))).rejects.toThrow(ArtifactMissingError);
    expect(await listed(store)).toEqual([]);
    await store.delete(uid);
    expect(await filesBelow(files)).toHaveLength(1);
  });

  test("list names the Runs that have anything, with the time of the last change", async () => {
    const store = (await make()).open();
    expect(await listed(store)).toEqual([]);
    await store.put(target, stream("x"), { maxBytes });
    await store.put({ runUid: "run-2", name: "b" }, stream("y"), { maxBytes });
    const runs = await listed(store);
    expect(runs.map(({ runUid }) => runUid)).toEqual([uid, "run-2"]);
    expect(runs.every(({ modifiedAt }) => modifiedAt > 0)).toBe(true);
  });

  test("delete removes everything of one Run and nothing of another, and may be repeated", async () => {
    const { open, files } = await make();
    const store = open();
    const { location } = await store.put(target, stream("x"), { maxBytes });
    await store.put({ runUid: "run-2", name: "b" }, stream("y"), { maxBytes });
    await store.delete(uid);
    await store.delete(uid);
    await store.delete("never-there");
    await expect(store.open({ driver: store.driver, location })).rejects.toThrow(ArtifactMissingError);
    expect(await filesBelow(files)).toEqual(["runs/run-2/artifacts/b", "runs/run-2/owner.json"]);
  });

  test("a place where nothing is stored is nobody's: it is listed and removed; with anything in it it stays", async () => {
    const { open, files } = await make();
    const runs = `${files.root}/runs`;
    for (const path of ["empty", "begun/artifacts", "full/artifacts"]) await files.makeDirectory(`${runs}/${path}`);
    await files.writeFile(`${runs}/full/artifacts/a`, Buffer.from("whose?"));
    const store = open();
    expect((await listed(store)).map(({ runUid }) => runUid).sort()).toEqual(["begun", "empty"]);
    for (const runUid of ["empty", "begun", "full"]) await store.delete(runUid);
    expect((await files.list(runs, 10)).map(({ name }) => name)).toEqual(["full"]);
    expect(await filesBelow(files)).toEqual(["runs/full/artifacts/a"]);
  });

  test("a delete that was interrupted can be finished", async () => {
    const { open, files } = await make();
    await open().put(target, stream("x"), { maxBytes });
    const broken = open({
      faults: { fail: (call, path) => (call === "remove" && path.endsWith(uid) ? "Failed" : undefined) },
    });
    await expect(broken.delete(uid)).rejects.toThrow(StoreUnavailableError);
    expect(await listed(open())).toHaveLength(1);
    await open().delete(uid);
    expect(await filesBelow(files)).toEqual([]);
  });

  test.each([
    ["write", "NoSpace"],
    ["createFile", "NoSpace"],
    ["makeDirectory", "NoSpace"],
    ["writeFile", "Denied"],
    ["sync", "Failed"],
    ["rename", "Failed"],
    ["syncDirectory", "Failed"],
  ] as const)("%s failing with %s is the store's fault, and a later try succeeds", async (failing, code) => {
    const { open, files } = await make();
    const faults: Faults = { fail: (call) => (call === failing ? code : undefined) };
    const store = open({ faults });
    await expect(store.put(target, stream("content"), { maxBytes })).rejects.toThrow(StoreUnavailableError);
    expect((await filesBelow(files)).filter((path) => path.includes("incoming"))).toEqual([]);
    faults.fail = () => undefined;
    const { location } = await store.put(target, stream("content"), { maxBytes });
    expect(await contentOf(store, { driver: store.driver, location })).toBe("content");
  });

  test("content, name and directory are made durable, in this order, before a put ends", async () => {
    const { open, files } = await make();
    await open().put(target, stream("first, so that the directories exist"), { maxBytes });
    const calls: string[] = [];
    const record = (call: string, path: string) => {
      calls.push(`${call} ${path.slice(files.root.length + 1).replace(/incoming-.*/, "incoming")}`);
      return undefined;
    };
    await open({ faults: { fail: record } }).put(target, stream("x"), { maxBytes });
    const run = `runs/${target.runUid}`;
    const wanted = [
      `write ${run}/incoming`,
      `sync ${run}/incoming`,
      `rename ${run}/artifacts/dist.tgz`,
      `syncDirectory ${run}/artifacts`,
    ];
    expect(calls.filter((call) => wanted.includes(call))).toEqual(wanted);
  });

  test("a volume that fails while reading is the store's fault", async () => {
    const { open } = await make();
    const faults: Faults = {};
    const store = open({ faults });
    const { location } = await store.put(target, stream("content"), { maxBytes });
    faults.fail = (call) => (call === "read" ? "Failed" : undefined);
    await expect(contentOf(store, { driver: store.driver, location })).rejects.toThrow(StoreUnavailableError);
    faults.fail = (call) => (call === "openFile" ? "Denied" : undefined);
    await expect(store.open({ driver: store.driver, location })).rejects.toThrow(StoreUnavailableError);
  });
});

test("a link planted in the volume is refused for good", async () => {
  const files = memoryVolume({ now: () => 0 });
  const store = createMemoryStore({ owner, random: systemRandom, now: () => 0 }, files);
  const { location } = await store.put(target, stream("x"), { maxBytes });
  await files.remove(`${files.root}/${location.filesystem?.path}`);
  files.plant(`${files.root}/${location.filesystem?.path}`, "Symlink");
  await expect(store.open({ driver: "Filesystem", location })).rejects.toThrow(ArtifactInvalidError);
});

test("a full volume is the store's fault and keeps what was there", async () => {
  const files = memoryVolume({ now: () => 0, capacityBytes: 1000 });
  const store = createMemoryStore({ owner, random: systemRandom, now: () => 0 }, files);
  const { location } = await store.put(target, stream("old"), { maxBytes });
  await expect(store.put(target, stream("x".repeat(2000), 100), { maxBytes: 5000 })).rejects.toThrow(/no space left/);
  expect(await contentOf(store, { driver: "Filesystem", location })).toBe("old");
  await store.put({ ...target, name: "small" }, stream("x".repeat(500)), { maxBytes });
});

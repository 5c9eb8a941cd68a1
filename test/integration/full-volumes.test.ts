/** Volumes that are full: real ones of a few pages where tests may mount, else such ones in memory. */
import { mkdtemp, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import { persistentWorkspaces } from "#api/resources.ts";
import { orNothing } from "#kube/or-nothing.ts";
import { MemoryFiles } from "#runtime/files/memory-files.ts";
import { type Files, isFilesError } from "#runtime/files/port.ts";
import { openSystemFiles } from "#runtime/files/system-files.ts";
import { canMount, mountTmpfs, unmount } from "#test/support/mounts.ts";
import { AgentWorld } from "./support/agent-world.ts";

const kib = 1024;
const namespace = "default";
let world: AgentWorld;
const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  world.crash();
  world.api.close();
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

async function volumeOf(capacityBytes: number): Promise<Files> {
  if (!canMount) return new MemoryFiles({ root: "/volume", now: () => 0, capacityBytes });
  const root = await mkdtemp(join(tmpdir(), "krt-full-"));
  mountTmpfs(root, capacityBytes);
  cleanups.push(async () => {
    unmount(root);
    await rmdir(root);
  });
  return openSystemFiles(root);
}

/** Takes all room that is left; answers what gives it back. */
async function fill(files: Files): Promise<() => Promise<void>> {
  const path = `${files.root}/taken`;
  const writer = await files.createFile(path, 0o600);
  try {
    for (;;) await writer.write(Buffer.alloc(kib));
  } catch (error) {
    if (!isFilesError(error, "NoSpace")) throw error;
  } finally {
    await writer.close();
  }
  return () => files.remove(path);
}

/** The names of all files below a directory. */
async function filesBelow(files: Files, directory: string): Promise<string[]> {
  const found: string[] = [];
  if ((await files.stat(directory)) === undefined) return found;
  for (const { name, kind } of await files.list(directory, 1000)) {
    if (kind === "Directory") found.push(...(await filesBelow(files, `${directory}/${name}`)));
    else found.push(`${directory}/${name}`.slice(files.root.length + 1));
  }
  return found.sort();
}

async function* bytes(content: string) {
  yield Buffer.from(content);
}

async function ended(name: string, spec: Parameters<AgentWorld["createRun"]>[1] = {}) {
  await world.createRun(name, spec);
  await world.assign(name);
  return world.untilOver(name);
}

test("on a full workspace volume Runs fail before they begin and say so; files are kept, a workspace can go, and then there is room", async () => {
  const files = await volumeOf(256 * kib);
  world = new AgentWorld({ files });
  for (const name of ["ws", "other"]) await world.createWorkspace(name);
  const writes = { durationMs: 5, writesFiles: [{ path: "kept", content: "data" }] };
  for (const name of ["first", "second"]) world.programs.set(name, () => writes);
  world.start();
  const workspace = { name: "ws" };
  expect(await ended("first", { workspace })).toMatchObject({ phase: "Succeeded" });
  expect(await ended("second", { workspace: { name: "other" } })).toMatchObject({ phase: "Succeeded" });
  const makeRoom = await fill(files);

  for (const [name, spec] of [
    ["in-workspace", { workspace }],
    ["alone", {}],
  ] as const) {
    const { phase, reason, message } = await ended(name, spec);
    expect([name, phase, reason]).toEqual([name, "Failed", "StartFailed"]);
    expect(message).toContain("no space left on the volume");
  }
  expect(Buffer.from(await files.readFile(`${files.root}/persistent/ws/kept`, 10)).toString()).toBe("data");
  expect(await filesBelow(files, `${files.root}/runs`)).toEqual([]);
  // To remove takes no room.
  const api = world.client.of(persistentWorkspaces);
  await api.delete({ name: "other", namespace });
  await world.until(async () => (await orNothing(api.get({ name: "other", namespace }))) === undefined);
  expect(await files.stat(`${files.root}/persistent/other`)).toBeUndefined();

  await makeRoom();
  expect(await ended("later", { workspace })).toMatchObject({ phase: "Succeeded" });
  expect(await ended("later-alone")).toMatchObject({ phase: "Succeeded" });
});

test("an input that does not fit into the workspace fails the Run, and leaves no half of it", async () => {
  const files = await volumeOf(128 * kib);
  world = new AgentWorld({ files });
  await world.createWorkspace("ws");
  const put = { runUid: "producer", name: "big" };
  const stored = await world.store.put(put, bytes("x".repeat(100 * kib)), { maxBytes: 1000 * kib });
  const ref: ArtifactRef = { name: "big", driver: "Filesystem", type: "File", ...stored };
  world.start();
  const workspace = { name: "ws" };
  expect(await ended("first", { workspace })).toMatchObject({ phase: "Succeeded" });
  const taken = await files.createFile(`${files.root}/taken`, 0o600);
  await taken.write(Buffer.alloc(60 * kib));
  await taken.close();
  const spec = { workspace, artifactInputs: [{ ref, path: "in/big" }] };
  const { phase, reason, message } = await ended("staged", spec);
  expect([phase, reason]).toEqual(["Failed", "ArtifactInputFailed"]);
  expect(message).toMatch(/spec\.artifactInputs\[0\].*no space left on the volume/);
  expect((await filesBelow(files, `${files.root}/persistent/ws`)).filter((name) => /big|received/.test(name))).toEqual(
    [],
  );
  await files.remove(`${files.root}/taken`);
  expect(await ended("again", spec)).toMatchObject({ phase: "Succeeded" });
  expect(await files.stat(`${files.root}/persistent/ws/in/big`)).toMatchObject({ sizeBytes: 100 * kib });
});

const leaves = (content: string) => () => ({
  durationMs: 5,
  writesFiles: [{ path: "$KRUNTIME_ARTIFACTS_DIR/big", content }],
});

test("a full store is waited for: what it has stays whole, nothing half is left, and the Run succeeds when there is room", async () => {
  const volume = await volumeOf(128 * kib);
  world = new AgentWorld({ volume });
  world.programs.set("first", leaves("1".repeat(20 * kib)));
  world.programs.set("second", leaves("2".repeat(100 * kib)));
  world.start();
  const first = await ended("first");
  const makeRoom = await fill(volume);
  await world.createRun("second");
  await world.assign("second");
  const begun = world.clock.now();
  await world.until(() => world.clock.now() > begun + 120_000);
  expect((await world.status("second")).phase).toBe("Running");
  expect((await filesBelow(volume, `${volume.root}/runs`)).filter((name) => name.includes("incoming"))).toEqual([]);
  await makeRoom();
  expect(await world.untilOver("second")).toMatchObject({ phase: "Succeeded", attempt: 1 });
  for (const { artifactRefs = [] } of [first, await world.status("second")]) {
    const [ref] = artifactRefs;
    expect(await world.store.stat(ref as ArtifactRef)).toEqual({ sizeBytes: ref?.sizeBytes });
  }
  const left = await filesBelow(volume, `${volume.root}/runs`);
  expect(left.filter((name) => name.includes("incoming"))).toEqual([]);
});

test("a store that stays full ends the Run at its timeout, and the message says what is wrong", async () => {
  const volume = await volumeOf(64 * kib);
  world = new AgentWorld({ volume });
  world.programs.set("big", leaves("2".repeat(100 * kib)));
  world.programs.set("small", leaves("3".repeat(8 * kib)));
  world.start();
  const { phase, reason, message } = await ended("big", { timeout: "5m" });
  expect([phase, reason]).toEqual(["Failed", "ArtifactStoreUnavailable"]);
  expect(message).toContain("no space left on the volume");
  // It took nobody else's room.
  expect(await ended("small")).toMatchObject({ phase: "Succeeded" });
});

import { mkdtemp, readdir, readlink, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { seededRandom } from "#kube/seeded-random.ts";
import { collectArtifacts } from "#runtime/artifacts/collect.ts";
import { createFilesystemStore } from "#runtime/artifacts/filesystem-store.ts";
import { defaultArtifactLimits } from "#runtime/artifacts/limits.ts";
import { stageInputs } from "#runtime/artifacts/stage.ts";
import { type Faults, faultyFiles } from "#runtime/artifacts/testing/faulty-files.ts";
import { runLayout } from "#runtime/files/layout.ts";
import { prepareRun, removeRun } from "#runtime/files/runs.ts";
import { openSystemFiles } from "#runtime/files/system-files.ts";

const roots: string[] = [];
afterAll(async () => {
  for (const root of roots) await rm(root, { recursive: true, force: true });
});

async function temporary() {
  const root = await mkdtemp(join(tmpdir(), "descriptors-"));
  roots.push(root);
  return openSystemFiles(root);
}

/** Open files and directories; sockets and pipes belong to the test runner. */
async function openFiles(): Promise<number> {
  let count = 0;
  for (const fd of await readdir("/proc/self/fd")) {
    const target = await readlink(`/proc/self/fd/${fd}`).catch(() => "");
    if (roots.some((root) => target.startsWith(root))) count++;
  }
  return count;
}

test("however collecting and staging end, on the real file system, no descriptor stays open", async () => {
  const files = await temporary();
  const volume = await temporary();
  const faults: Faults = {};
  const store = createFilesystemStore({
    files: faultyFiles(volume, faults),
    owner: { clusterUid: "c", namespace: "n" },
    random: seededRandom(1),
  });
  const layout = runLayout(files.root, { runUid: "u", attempt: 1 });
  const limits = defaultArtifactLimits;
  const collect = () =>
    collectArtifacts(files, store, { directory: layout.artifacts, runUid: "u", runtime: "r", limits, now: () => 0 });

  await prepareRun(files, layout);
  await files.makeDirectory(`${layout.artifacts}/tree/sub`);
  await files.writeFile(`${layout.artifacts}/tree/sub/f`, Buffer.alloc(300_000, "x"));
  await files.writeFile(`${layout.artifacts}/z`, Buffer.alloc(300_000, "y"));
  for (const failing of ["write", "sync", "rename", "createFile", "syncDirectory"]) {
    faults.fail = (call) => (call === failing ? "Failed" : undefined);
    await expect(collect()).rejects.toThrow("injected");
  }
  delete faults.fail;
  const refs = await collect();
  const inputs = refs.map((ref) => ({ ref, path: `in/${ref.name}` }));
  const stage = () => stageInputs(files, store, { inputs, layout, owner: "o", limits: limits.tree });
  faults.fail = (call) => (call === "read" ? "Failed" : undefined);
  await expect(stage()).rejects.toThrow("injected");
  delete faults.fail;
  faults.read = (chunk) => chunk.subarray(1);
  await expect(stage()).rejects.toThrow("sent");
  delete faults.read;
  await stage();
  expect(await files.stat(`${layout.workingDirectory}/in/tree/sub/f`)).toMatchObject({ sizeBytes: 300_000 });

  await symlink("/etc", `${layout.artifacts}/tree/link`);
  await expect(collect()).rejects.toThrow("symbolic link");
  await removeRun(files, layout);
  await expect.poll(openFiles, { timeout: 5000 }).toBe(0);
});

import { expect, test } from "vitest";
import { runLayout, workspaceLayout } from "#runtime/files/layout.ts";
import { MemoryFiles } from "#runtime/files/memory-files.ts";
import { listRuns, prepareRun, readOutputsFile, removeRun } from "#runtime/files/runs.ts";
import { prepareWorkspace, removeWorkspace, WorkspaceLostError } from "#runtime/files/workspaces.ts";

const root = "/workspace";
const bytes = (text: string) => Buffer.from(text);
const make = () => new MemoryFiles({ root, now: () => 0 });
const text = async (files: MemoryFiles, path: string) => Buffer.from(await files.readFile(path, 1000)).toString();

test("a Run without a workspace has its working directory and its platform files apart", () => {
  expect(runLayout(root, { runUid: "u1", attempt: 2 })).toEqual({
    root,
    workingDirectory: "/workspace/runs/u1",
    runDirectory: "/workspace/.kruntimes/runs/u1",
    attemptDirectory: "/workspace/.kruntimes/runs/u1/2",
    source: "/workspace/.kruntimes/runs/u1/2/source",
    outputs: "/workspace/.kruntimes/runs/u1/2/outputs",
    artifacts: "/workspace/.kruntimes/runs/u1/2/artifacts",
    inputs: "/workspace/.kruntimes/runs/u1/2/inputs",
    tmp: "/workspace/.kruntimes/runs/u1/2/tmp",
    home: "/workspace/.kruntimes/runs/u1/home",
    staged: "/workspace/.kruntimes/runs/u1/staged",
  });
});

test("a Run with a workspace works in it, and everything of ours is below its .kruntimes", () => {
  const layout = runLayout(root, { runUid: "u1", attempt: 1, workspace: "ci-build" });
  expect(layout.workingDirectory).toBe("/workspace/persistent/ci-build");
  const { root: _, workspace, workingDirectory, ...ours } = layout;
  expect(workspace).toEqual(workspaceLayout(root, "ci-build"));
  expect(workspace?.uidMarker).toBe("/workspace/persistent/ci-build/.kruntimes/workspace-uid");
  for (const path of Object.values(ours)) expect(path).toMatch(/^\/workspace\/persistent\/ci-build\/\.kruntimes\//);
  expect(layout.attemptDirectory).toBe("/workspace/persistent/ci-build/.kruntimes/runs/u1/1");
});

test.each(["", ".", "..", "a/b", "../x", "-a", "a\0", "a".repeat(254)])(
  "%j cannot be the name of a directory",
  (name) => {
    expect(() => workspaceLayout(root, name)).toThrow(RangeError);
    expect(() => runLayout(root, { runUid: name, attempt: 1 })).toThrow(RangeError);
  },
);

test.each([0, -1, 1.5, Number.NaN])("%d is not an attempt", (attempt) => {
  expect(() => runLayout(root, { runUid: "u", attempt })).toThrow(RangeError);
});

test("preparing a Run makes its directories and an empty outputs file; doing it again starts afresh", async () => {
  const files = make();
  const layout = runLayout(root, { runUid: "u1", attempt: 1 });
  await prepareRun(files, layout);
  for (const path of [
    layout.workingDirectory,
    layout.source,
    layout.artifacts,
    layout.inputs,
    layout.tmp,
    layout.home,
  ]) {
    expect(await files.stat(path)).toMatchObject({ kind: "Directory" });
  }
  expect(await readOutputsFile(files, layout, 10)).toHaveLength(0);
  await files.writeFile(layout.outputs, bytes("a=1"));
  await files.writeFile(`${layout.workingDirectory}/left`, bytes("x"));
  await files.writeFile(`${layout.artifacts}/left`, bytes("x"));
  await prepareRun(files, layout);
  expect(await readOutputsFile(files, layout, 10)).toHaveLength(0);
  expect(await files.list(layout.workingDirectory, 10)).toEqual([]);
  expect(await files.list(layout.artifacts, 10)).toEqual([]);
});

test("the next attempt starts with an empty working directory", async () => {
  const files = make();
  await prepareRun(files, runLayout(root, { runUid: "u1", attempt: 1 }));
  await files.writeFile("/workspace/runs/u1/left", bytes("x"));
  await prepareRun(files, runLayout(root, { runUid: "u1", attempt: 2 }));
  expect(await files.list("/workspace/runs/u1", 10)).toEqual([]);
});

test("removing a Run leaves nothing of it and everything of others", async () => {
  const files = make();
  for (const runUid of ["u1", "u2"]) await prepareRun(files, runLayout(root, { runUid, attempt: 1 }));
  expect(await listRuns(files)).toEqual(["u1", "u2"]);
  await removeRun(files, runLayout(root, { runUid: "u1", attempt: 1 }));
  expect(await listRuns(files)).toEqual(["u2"]);
  expect(await files.stat("/workspace/.kruntimes/runs/u1")).toBeUndefined();
  expect(await files.stat("/workspace/runs/u2")).toMatchObject({ kind: "Directory" });
});

test("what Runs put beside their directories is not taken for a Run", async () => {
  const files = make();
  await prepareRun(files, runLayout(root, { runUid: "u1", attempt: 1 }));
  await files.writeFile("/workspace/runs/.odd name", bytes("x"));
  await files.makeDirectory("/workspace/runs/-x");
  expect(await listRuns(files)).toEqual(["u1"]);
});

test("before the first Run there are none", async () => {
  expect(await listRuns(make())).toEqual([]);
});

test("in a workspace a Run's end and its attempts remove nothing", async () => {
  const files = make();
  const first = runLayout(root, { runUid: "u1", attempt: 1, workspace: "w" });
  await prepareWorkspace(files, workspaceLayout(root, "w"), unused("w1"));
  await prepareRun(files, first);
  await files.writeFile(`${first.workingDirectory}/data`, bytes("kept"));
  await files.writeFile(`${first.artifacts}/a`, bytes("kept"));
  await prepareRun(files, runLayout(root, { runUid: "u1", attempt: 2, workspace: "w" }));
  await removeRun(files, first);
  expect(await text(files, `${first.workingDirectory}/data`)).toBe("kept");
  expect(await text(files, `${first.artifacts}/a`)).toBe("kept");
});

test("a removed outputs file is empty, one that became a link is refused", async () => {
  const files = make();
  const layout = runLayout(root, { runUid: "u1", attempt: 1 });
  await prepareRun(files, layout);
  await files.remove(layout.outputs);
  expect(await readOutputsFile(files, layout, 10)).toHaveLength(0);
  files.plant(layout.outputs, "Symlink");
  await expect(readOutputsFile(files, layout, 10)).rejects.toMatchObject({ code: "Unsafe" });
});

const used = (uid: string) => ({ uid, used: async () => true });
const unused = (uid: string) => ({ uid, used: async () => false });
const workspace = workspaceLayout(root, "w");
const data = `${workspace.directory}/data`;

test("a workspace is made on first use and kept afterwards", async () => {
  const files = make();
  expect(await prepareWorkspace(files, workspace, unused("w1"))).toBe("Created");
  await files.writeFile(data, bytes("kept"));
  expect(await prepareWorkspace(files, workspace, unused("w1"))).toBe("Reused");
  expect(await prepareWorkspace(files, workspace, used("w1"))).toBe("Reused");
  expect(await text(files, data)).toBe("kept");
});

test("leftovers of another workspace of that name are emptied before first use", async () => {
  const files = make();
  await prepareWorkspace(files, workspace, unused("old"));
  await files.writeFile(data, bytes("of the old one"));
  expect(await prepareWorkspace(files, workspace, unused("new"))).toBe("Emptied");
  expect(await files.stat(data)).toBeUndefined();
  expect(await text(files, workspace.uidMarker)).toBe("new");
});

test("a directory without marker, or with a link as one, is a leftover too before first use", async () => {
  const files = make();
  await files.makeDirectory(workspace.directory);
  await files.writeFile(data, bytes("of somebody"));
  expect(await prepareWorkspace(files, workspace, unused("w1"))).toBe("Emptied");
  await files.remove(workspace.directory);
  await files.makeDirectory(workspace.directory);
  files.plant(workspace.reserved, "Symlink");
  expect(await prepareWorkspace(files, workspace, unused("w1"))).toBe("Emptied");
});

test("a link in place of the directory is removed before first use, never followed", async () => {
  const files = make();
  await files.makeDirectory(`${root}/persistent`);
  files.plant(workspace.directory, "Symlink");
  expect(await prepareWorkspace(files, workspace, unused("w1"))).toBe("Emptied");
  expect(await files.stat(workspace.directory)).toMatchObject({ kind: "Directory" });
});

test("a used workspace whose directory is gone, foreign or a link is lost", async () => {
  const files = make();
  await expect(prepareWorkspace(files, workspace, used("w1"))).rejects.toThrow(WorkspaceLostError);
  await prepareWorkspace(files, workspace, unused("other"));
  await files.writeFile(data, bytes("of the other"));
  await expect(prepareWorkspace(files, workspace, used("w1"))).rejects.toThrow(/belongs to another workspace/);
  expect(await text(files, data)).toBe("of the other");
  await files.remove(workspace.directory);
  files.plant(workspace.directory, "Symlink");
  await expect(prepareWorkspace(files, workspace, used("w1"))).rejects.toThrow(WorkspaceLostError);
});

test("a used workspace keeps its data when a Run removed our directory in it", async () => {
  const files = make();
  await prepareWorkspace(files, workspace, unused("w1"));
  await files.writeFile(data, bytes("kept"));
  await files.remove(workspace.reserved);
  expect(await prepareWorkspace(files, workspace, used("w1"))).toBe("Reused");
  expect(await text(files, data)).toBe("kept");
  expect(await text(files, workspace.uidMarker)).toBe("w1");
});

test("removing a workspace removes exactly its directory", async () => {
  const files = make();
  const other = workspaceLayout(root, "w2");
  await prepareWorkspace(files, workspace, unused("w1"));
  await prepareWorkspace(files, other, unused("w2"));
  await removeWorkspace(files, workspace);
  await removeWorkspace(files, workspace);
  expect((await files.list(`${root}/persistent`, 10)).map(({ name }) => name)).toEqual(["w2"]);
});

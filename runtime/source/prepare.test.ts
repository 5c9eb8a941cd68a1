import { expect, test } from "vitest";
import { type RunLayout, runLayout } from "#runtime/files/layout.ts";
import { MemoryFiles } from "#runtime/files/memory-files.ts";
import { prepareRun } from "#runtime/files/runs.ts";
import { SourceFailedError } from "#runtime/source/port.ts";
import { fetchGitSource, maxInlineBytes, writeInlineSource } from "#runtime/source/prepare.ts";
import { createSimulatedGit } from "#runtime/source/simulated-git.ts";

async function setup(workspace?: string): Promise<{ files: MemoryFiles; layout: RunLayout }> {
  const files = new MemoryFiles({ root: "/workspace", now: () => 0 });
  const layout = runLayout(files.root, { runUid: "u1", attempt: 1, ...(workspace !== undefined && { workspace }) });
  await prepareRun(files, layout);
  return { files, layout };
}

test("inline source becomes an executable script among the platform's files", async () => {
  const { files, layout } = await setup();
  const script = await writeInlineSource(files, layout, "#!/bin/sh\necho größe\n");
  expect(script).toBe("/workspace/.kruntimes/runs/u1/1/source/script");
  expect(Buffer.from(await files.readFile(script, 100)).toString()).toBe("#!/bin/sh\necho größe\n");
  expect(await files.stat(script)).toMatchObject({ mode: 0o755 });
});

test("inline source of exactly 256 KiB is written, a byte more is refused", async () => {
  const { files, layout } = await setup();
  const script = await writeInlineSource(files, layout, "ö".repeat(maxInlineBytes / 2));
  expect(await files.stat(script)).toMatchObject({ sizeBytes: 262_144 });
  await expect(writeInlineSource(files, layout, `${"ö".repeat(maxInlineBytes / 2)}x`)).rejects.toThrow(
    /262145 bytes, over the limit of 262144/,
  );
});

test("inline source that is not valid Unicode is refused, not changed", async () => {
  const { files, layout } = await setup();
  await expect(writeInlineSource(files, layout, "echo \ud800")).rejects.toThrow(SourceFailedError);
});

const url = "https://example.com/repo.git";
const repositories = { [url]: { HEAD: { script: "default", "ci/build.sh": "build" }, v1: { main: "old" } } };

test("without a workspace a git source is the working directory, with one it lies beside it", async () => {
  const plain = await setup();
  const first = await fetchGitSource(plain.files, createSimulatedGit(plain.files, repositories), plain.layout, {
    url,
    entrypoint: "ci/build.sh",
  });
  expect(first.script).toBe("/workspace/runs/u1/ci/build.sh");
  const shared = await setup("w");
  const second = await fetchGitSource(shared.files, createSimulatedGit(shared.files, repositories), shared.layout, {
    url,
  });
  expect(second.script).toBe("/workspace/persistent/w/.kruntimes/runs/u1/1/source/script");
});

test.each([
  ["an entrypoint that is not in the repository", { url, entrypoint: "no/such" }, /no file "no\/such" at HEAD/],
  ["a directory as entrypoint", { url, entrypoint: "ci" }, /no file "ci"/],
  ["a file as directory of the entrypoint", { url, entrypoint: "script/x" }, /no file "script\/x"/],
  ["an entrypoint outside", { url, entrypoint: "../../x" }, /mode.task.entrypoint: .*segment "\.\."/],
  ["an absolute entrypoint", { url, entrypoint: "/bin/sh" }, /is absolute/],
  ["no entrypoint where there is no script", { url, ref: "v1" }, /no file "script" at v1; set mode.task.entrypoint/],
  ["a ref that does not exist", { url, ref: "v2" }, /could not fetch v2/],
])("refused: %s", async (_, source, message) => {
  const { files, layout } = await setup();
  const fetching = fetchGitSource(files, createSimulatedGit(files, repositories), layout, source);
  await expect(fetching).rejects.toThrow(message);
  await expect(fetching).rejects.toBeInstanceOf(SourceFailedError);
});

test("a link in the repository is the program's business", async () => {
  const { files, layout } = await setup();
  files.plant(`${layout.workingDirectory}/entry`, "Symlink");
  files.plant(`${layout.workingDirectory}/ci`, "Symlink");
  const git = createSimulatedGit(files, repositories);
  expect((await fetchGitSource(files, git, layout, { url: url, ref: "v1", entrypoint: "entry" })).script).toMatch(
    /\/entry$/,
  );
  expect((await fetchGitSource(files, git, layout, { url: url, ref: "v1", entrypoint: "ci/x" })).script).toMatch(
    /\/ci\/x$/,
  );
});

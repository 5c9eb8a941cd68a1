import { execFileSync } from "node:child_process";
import { link, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { openDirectory, openForReading, openInode } from "#runtime/files/anchor.ts";
import { readAll } from "#runtime/files/bytes.ts";
import { MemoryFiles } from "#runtime/files/memory-files.ts";
import { type Files, FilesError, type FilesErrorCode } from "#runtime/files/port.ts";
import { openSystemFiles } from "#runtime/files/system-files.ts";

/** One contract for the real and the simulated file system. `plant` puts there what hostile Runs would. */
interface Subject {
  readonly files: Files;
  link(path: string, target: string): Promise<void>;
  pipe(path: string): Promise<void>;
  hardLink(from: string, to: string): Promise<void>;
  badName(directory: string): Promise<void>;
}

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

async function systemSubject(): Promise<Subject> {
  const base = await mkdtemp(join(tmpdir(), "files-"));
  cleanups.push(() => rm(base, { recursive: true, force: true }));
  const root = join(base, "root");
  await mkdir(root);
  await mkdir(join(base, "outside"));
  await writeFile(join(base, "outside", "secret"), "outside");
  return {
    files: await openSystemFiles(root),
    link: (path, target) => symlink(target, path),
    pipe: async (path) => void execFileSync("mkfifo", [path]),
    hardLink: link,
    badName: (directory) => writeFile(Buffer.concat([Buffer.from(`${directory}/`), Buffer.from([0x66, 0xff])]), "x"),
  };
}

async function memorySubject(): Promise<Subject> {
  const files = new MemoryFiles({ root: "/workspace", now: () => 1000 });
  return {
    files,
    link: async (path) => files.plant(path, "Symlink"),
    pipe: async (path) => files.plant(path, "Other"),
    hardLink: async (from, to) => files.plantHardLink(from, to),
    badName: async (directory) => files.plant(`${directory}/f`, "File", Buffer.from("x"), Buffer.from([0x66, 0xff])),
  };
}

const text = (content: string) => Buffer.from(content);
const read = async (files: Files, path: string) => Buffer.from(await files.readFile(path, 1000)).toString();

async function codeOf(action: Promise<unknown>): Promise<FilesErrorCode | "none"> {
  const error = await action.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error === undefined) return "none";
  expect(error).toBeInstanceOf(FilesError);
  return error instanceof FilesError ? error.code : "none";
}

describe.each([
  ["system", systemSubject],
  ["memory", memorySubject],
] as const)("%s files", (_, make) => {
  test("what is written can be read, and says its size, kind and mode", async () => {
    const { files } = await make();
    await files.makeDirectory(`${files.root}/a/b`, 0o750);
    await files.writeFile(`${files.root}/a/b/script`, text("echo"), 0o755);
    expect(await read(files, `${files.root}/a/b/script`)).toBe("echo");
    expect(await files.stat(`${files.root}/a/b/script`)).toMatchObject({
      kind: "File",
      sizeBytes: 4,
      mode: 0o755,
      links: 1,
    });
    expect(await files.stat(`${files.root}/a/b`)).toMatchObject({ kind: "Directory", mode: 0o750 });
    expect(await files.stat(`${files.root}/a`)).toMatchObject({ kind: "Directory", mode: 0o755 });
    expect(await files.stat(files.root)).toMatchObject({ kind: "Directory" });
    expect(await files.stat(`${files.root}/nothing/here`)).toBeUndefined();
  });

  test("modes are what was asked for, whatever the umask is", async () => {
    const { files } = await make();
    await files.makeDirectory(`${files.root}/d`, 0o777);
    await files.writeFile(`${files.root}/f`, text("x"), 0o666);
    expect(await files.stat(`${files.root}/d`)).toMatchObject({ mode: 0o777 });
    expect(await files.stat(`${files.root}/f`)).toMatchObject({ mode: 0o666 });
  });

  test("a second write replaces content and mode, and leaves no temporary file", async () => {
    const { files } = await make();
    await files.writeFile(`${files.root}/f`, text("one"), 0o755);
    await files.writeFile(`${files.root}/f`, text("two"));
    expect(await read(files, `${files.root}/f`)).toBe("two");
    expect(await files.stat(`${files.root}/f`)).toMatchObject({ mode: 0o644 });
    expect((await files.list(files.root, 10)).map((entry) => entry.name)).toEqual(["f"]);
  });

  test("reading is bounded and takes ranges", async () => {
    const { files } = await make();
    await files.writeFile(`${files.root}/f`, text("0123456789"));
    expect(Buffer.from(await files.readFile(`${files.root}/f`, 4)).toString()).toBe("0123");
    const file = await files.openFile(`${files.root}/f`);
    expect((await readAll(file.read(3, 6))).toString()).toBe("345");
    expect((await readAll(file.read(8))).toString()).toBe("89");
    expect((await readAll(file.read(10))).toString()).toBe("");
    await file.close();
  });

  test("large content comes back in order and whole", async () => {
    const { files } = await make();
    const content = Buffer.alloc(1_000_000, "abcdefghijk");
    const writer = await files.createFile(`${files.root}/big`, 0o640);
    for (let at = 0; at < content.length; at += 77_777) await writer.write(content.subarray(at, at + 77_777));
    await writer.sync();
    await writer.close();
    await files.syncDirectory(files.root);
    const file = await files.openFile(`${files.root}/big`);
    expect((await readAll(file.read())).equals(content)).toBe(true);
    expect(file.info).toMatchObject({ sizeBytes: 1_000_000, mode: 0o640 });
    await file.close();
  });

  test("entries are listed by the bytes of their names", async () => {
    const { files, link, pipe } = await make();
    for (const name of ["b", "a", "é", "Z", "a.b"]) await files.writeFile(`${files.root}/${name}`, text(name));
    await files.makeDirectory(`${files.root}/dir`);
    await link(`${files.root}/link`, "a");
    await pipe(`${files.root}/pipe`);
    const entries = await files.list(files.root, 10);
    expect(entries.map((entry) => entry.name)).toEqual(["Z", "a", "a.b", "b", "dir", "link", "pipe", "é"]);
    expect(entries.map((entry) => entry.kind)).toEqual(
      ["File", "File", "File", "File", "Directory", "Symlink", "Other", "File"], //
    );
  });

  test("a name that is not UTF-8 is listed as such and removed with its tree", async () => {
    const { files, badName } = await make();
    await files.makeDirectory(`${files.root}/d`);
    await badName(`${files.root}/d`);
    expect(await files.list(`${files.root}/d`, 10)).toMatchObject([{ name: "f\uFFFD", validName: false }]);
    await files.remove(`${files.root}/d`);
    expect(await files.stat(`${files.root}/d`)).toBeUndefined();
  });

  test("rename moves files over files and directories over nothing", async () => {
    const { files } = await make();
    await files.writeFile(`${files.root}/new`, text("new"));
    await files.writeFile(`${files.root}/old`, text("old"));
    await files.rename(`${files.root}/new`, `${files.root}/old`);
    expect(await read(files, `${files.root}/old`)).toBe("new");
    await files.makeDirectory(`${files.root}/d/e`);
    await files.rename(`${files.root}/d`, `${files.root}/moved`);
    expect(await files.stat(`${files.root}/moved/e`)).toMatchObject({ kind: "Directory" });
    expect(await files.stat(`${files.root}/d`)).toBeUndefined();
  });

  test("hard links show in the count of links", async () => {
    const { files, hardLink } = await make();
    await files.writeFile(`${files.root}/one`, text("x"));
    await hardLink(`${files.root}/one`, `${files.root}/two`);
    expect(await files.stat(`${files.root}/two`)).toMatchObject({ kind: "File", links: 2 });
  });

  test("remove takes whole trees, links as links, and nothing twice", async () => {
    const { files, link, pipe } = await make();
    await files.makeDirectory(`${files.root}/keep`);
    await files.writeFile(`${files.root}/keep/data`, text("kept"));
    await files.makeDirectory(`${files.root}/tree/a/b`);
    await files.writeFile(`${files.root}/tree/a/b/f`, text("x"));
    await link(`${files.root}/tree/a/out`, `${files.root}/keep`);
    await pipe(`${files.root}/tree/pipe`);
    await files.remove(`${files.root}/tree`);
    await files.remove(`${files.root}/tree`);
    await files.remove(`${files.root}/never/was`);
    expect(await files.stat(`${files.root}/tree`)).toBeUndefined();
    expect(await read(files, `${files.root}/keep/data`)).toBe("kept");
  });

  test("a directory is removed only when it is empty", async () => {
    const { files, link } = await make();
    const { root } = files;
    await files.makeDirectory(`${root}/full/empty`);
    await link(`${root}/link`, "full");
    expect(await codeOf(files.removeDirectory(`${root}/full`))).toBe("NotEmpty");
    expect(await codeOf(files.removeDirectory(`${root}/link`))).toBe("Unsafe");
    await files.removeDirectory(`${root}/full/empty`);
    await files.removeDirectory(`${root}/full`);
    await files.removeDirectory(`${root}/full`);
    expect(await files.stat(`${root}/full`)).toBeUndefined();
  });

  test("a mode can be changed, but not that of a link's target", async () => {
    const { files, link } = await make();
    await files.writeFile(`${files.root}/f`, text("x"), 0o600);
    await files.setMode(`${files.root}/f`, 0o750);
    expect(await files.stat(`${files.root}/f`)).toMatchObject({ mode: 0o750 });
    await link(`${files.root}/l`, "f");
    expect(await codeOf(files.setMode(`${files.root}/l`, 0o777))).toBe("Unsafe");
    expect(await files.stat(`${files.root}/f`)).toMatchObject({ mode: 0o750 });
  });

  const wrong: Record<string, { want: FilesErrorCode; act: (subject: Subject, root: string) => Promise<unknown> }> = {
    "a path outside the root": { want: "Unsafe", act: ({ files }) => files.stat("/etc/passwd") },
    "a path that only starts like the root": {
      want: "Unsafe",
      act: ({ files }, root) => files.stat(`${root}-other/f`),
    },
    "a path that climbs": { want: "Unsafe", act: ({ files }, root) => files.readFile(`${root}/../outside/secret`, 10) },
    "a path that climbs in the middle": {
      want: "Unsafe",
      act: ({ files }, root) => files.readFile(`${root}/a/../../x`, 10),
    },
    "a dot segment": { want: "Unsafe", act: ({ files }, root) => files.writeFile(`${root}/./f`, text("x")) },
    "an empty segment": { want: "Unsafe", act: ({ files }, root) => files.writeFile(`${root}//f`, text("x")) },
    "a trailing slash": { want: "Unsafe", act: ({ files }, root) => files.writeFile(`${root}/f/`, text("x")) },
    "a NUL": { want: "Unsafe", act: ({ files }, root) => files.writeFile(`${root}/f\0.txt`, text("x")) },
    "a relative path": { want: "Unsafe", act: ({ files }) => files.writeFile("f", text("x")) },
    "a name of 256 bytes": {
      want: "TooLong",
      act: ({ files }, root) => files.writeFile(`${root}/${"n".repeat(256)}`, text("")),
    },
    "a path over 4096 bytes": {
      want: "TooLong",
      act: ({ files }, root) => files.makeDirectory(`${root}/${"abcdefghi/".repeat(500)}x`),
    },
    "removing the root": { want: "Unsafe", act: ({ files }, root) => files.remove(root) },
    "renaming the root": { want: "Unsafe", act: ({ files }, root) => files.rename(root, `${root}/x`) },
    "reading a link": { want: "Unsafe", act: ({ files }, root) => files.readFile(`${root}/link-to-file`, 10) },
    "reading a dangling link": { want: "Unsafe", act: ({ files }, root) => files.readFile(`${root}/dangling`, 10) },
    "reading through a linked directory": {
      want: "Unsafe",
      act: ({ files }, root) => files.readFile(`${root}/link-out/secret`, 9),
    },
    "writing through a linked directory": {
      want: "Unsafe",
      act: ({ files }, root) => files.writeFile(`${root}/link-out/new`, text("x")),
    },
    "creating a file through a linked directory": {
      want: "Unsafe",
      act: ({ files }, root) => files.createFile(`${root}/link-out/new`, 0o644),
    },
    "making a directory through a linked one": {
      want: "Unsafe",
      act: ({ files }, root) => files.makeDirectory(`${root}/link-out/a/b`),
    },
    "making a directory where a link stands": {
      want: "Unsafe",
      act: ({ files }, root) => files.makeDirectory(`${root}/link-out`),
    },
    "making a directory where a dangling link stands": {
      want: "Unsafe",
      act: ({ files }, root) => files.makeDirectory(`${root}/dangling`),
    },
    "removing through a linked directory": {
      want: "Unsafe",
      act: ({ files }, root) => files.remove(`${root}/link-out/secret`),
    },
    "moving something out through a link": {
      want: "Unsafe",
      act: ({ files }, root) => files.rename(`${root}/file`, `${root}/link-out/file`),
    },
    "moving something in through a link": {
      want: "Unsafe",
      act: ({ files }, root) => files.rename(`${root}/link-out/secret`, `${root}/stolen`),
    },
    "listing a link": { want: "Unsafe", act: ({ files }, root) => files.list(`${root}/link-out`, 10) },
    "looking through a linked directory": {
      want: "Unsafe",
      act: ({ files }, root) => files.stat(`${root}/link-out/secret`),
    },
    "reading a pipe": { want: "Unsafe", act: ({ files }, root) => files.readFile(`${root}/pipe`, 10) },
    "making a directory where a pipe stands": {
      want: "Unsafe",
      act: ({ files }, root) => files.makeDirectory(`${root}/pipe`),
    },
    "creating over a link": { want: "Exists", act: ({ files }, root) => files.createFile(`${root}/dangling`, 0o644) },
    "creating over a file": { want: "Exists", act: ({ files }, root) => files.createFile(`${root}/file`, 0o644) },
    "creating in a directory that is not there": {
      want: "Missing",
      act: ({ files }, root) => files.createFile(`${root}/no/f`, 0o644),
    },
    "reading what is not there": { want: "Missing", act: ({ files }, root) => files.readFile(`${root}/no`, 10) },
    "listing what is not there": { want: "Missing", act: ({ files }, root) => files.list(`${root}/no`, 10) },
    "reading a directory": { want: "WrongKind", act: ({ files }, root) => files.readFile(`${root}/dir`, 10) },
    "listing a file": { want: "WrongKind", act: ({ files }, root) => files.list(`${root}/file`, 10) },
    "a file as a parent": { want: "WrongKind", act: ({ files }, root) => files.readFile(`${root}/file/x`, 10) },
    "writing over a directory": {
      want: "WrongKind",
      act: ({ files }, root) => files.writeFile(`${root}/dir`, text("x")),
    },
    "making a directory where a file stands": {
      want: "WrongKind",
      act: ({ files }, root) => files.makeDirectory(`${root}/file`),
    },
    "moving a directory over a full one": {
      want: "NotEmpty",
      act: ({ files }, root) => files.rename(`${root}/dir2`, `${root}/dir`),
    },
    "more entries than allowed": { want: "TooMany", act: ({ files }, root) => files.list(root, 3) },
  };

  test.each(Object.entries(wrong))("refused: %s", async (_, { want, act }) => {
    const subject = await make();
    const { files } = subject;
    const { root } = files;
    await files.writeFile(`${root}/file`, text("file"));
    await files.makeDirectory(`${root}/dir`);
    await files.writeFile(`${root}/dir/inside`, text("inside"));
    await files.makeDirectory(`${root}/dir2`);
    await subject.link(`${root}/link-to-file`, "file");
    await subject.link(`${root}/link-out`, "../outside");
    await subject.link(`${root}/dangling`, "nowhere");
    await subject.pipe(`${root}/pipe`);
    expect(await codeOf(act(subject, root))).toBe(want);
    expect(await read(files, `${root}/file`)).toBe("file");
    expect(await read(files, `${root}/dir/inside`)).toBe("inside");
  });
});

describe("the real file system", () => {
  test("what lies outside stays untouched when a tree with links to it is removed", async () => {
    const { files, link } = await systemSubject();
    const outside = join(files.root, "..", "outside");
    await files.makeDirectory(`${files.root}/tree`);
    await link(`${files.root}/tree/out`, outside);
    await files.remove(`${files.root}/tree`);
    const other = await openSystemFiles(outside);
    expect(await read(other, `${outside}/secret`)).toBe("outside");
  });

  test("a root that is reached through a link is accepted, for it is ours", async () => {
    const { files, link } = await systemSubject();
    const alias = join(files.root, "..", "alias");
    await link(alias, files.root);
    const aliased = await openSystemFiles(alias);
    await aliased.makeDirectory(`${alias}/a`);
    await aliased.writeFile(`${alias}/a/f`, text("x"));
    expect(await read(files, `${files.root}/a/f`)).toBe("x");
  });

  test("a socket is refused", async () => {
    const { files } = await systemSubject();
    const server: Server = createServer();
    await new Promise<void>((resolve) => server.listen(join(files.root, "sock"), resolve));
    cleanups.push(() => new Promise((resolve) => server.close(resolve)));
    expect(await codeOf(files.readFile(`${files.root}/sock`, 10))).toBe("Unsafe");
  });

  test("a tree deeper than any path can name is removed, with few descriptors", async () => {
    const { files } = await systemSubject();
    const dig = 'const fs = require("fs"); for (let i = 0; i < 2100; i++) { fs.mkdirSync("d"); process.chdir("d"); }';
    execFileSync(process.execPath, ["-e", dig], { cwd: files.root });
    await files.remove(`${files.root}/d`);
    expect(await files.list(files.root, 10)).toEqual([]);
  });

  test("read-only directories do not stop a removal", async () => {
    const { files } = await systemSubject();
    await files.makeDirectory(`${files.root}/cache/mod`);
    await files.writeFile(`${files.root}/cache/mod/f`, text("x"), 0o444);
    await files.setMode(`${files.root}/cache/mod`, 0o000);
    await files.setMode(`${files.root}/cache`, 0o555);
    await files.remove(`${files.root}/cache`);
    expect(await files.stat(`${files.root}/cache`)).toBeUndefined();
  });

  test("a link that appears after the check is not opened", async () => {
    const { files, link } = await systemSubject();
    await link(`${files.root}/d`, "../outside");
    await link(`${files.root}/f`, "../outside/secret");
    await expect(openDirectory(`${files.root}/d`)).rejects.toThrow(/ENOTDIR|ELOOP/);
    await expect(openForReading(`${files.root}/f`)).rejects.toThrow(/ELOOP/);
    const inode = await openInode(`${files.root}/f`);
    expect((await inode.stat()).isSymbolicLink()).toBe(true);
    await inode.close();
  });

  test("a parent swapped for a link between check and use leads nowhere", async () => {
    const { files, link } = await systemSubject();
    const { root } = files;
    await files.makeDirectory(`${root}/d`);
    await files.writeFile(`${root}/d/secret`, text("inside"));
    const seen = new Set<string>();
    let swapping = true;
    const swapper = (async () => {
      while (swapping) {
        await files.rename(`${root}/d`, `${root}/aside`);
        await link(`${root}/d`, "../outside");
        await files.remove(`${root}/d`);
        await files.rename(`${root}/aside`, `${root}/d`);
      }
    })();
    for (let i = 0; i < 300; i++) {
      seen.add(await read(files, `${root}/d/secret`).catch((error: FilesError) => error.code));
    }
    swapping = false;
    await swapper;
    expect([...seen].every((value) => ["inside", "Unsafe", "Missing"].includes(value))).toBe(true);
    expect(seen).toContain("inside");
  });
});

test("memory files count their bytes and are full at their capacity", async () => {
  const files = new MemoryFiles({ root: "/w", now: () => 0, capacityBytes: 10 });
  await files.writeFile("/w/a", text("12345678"));
  expect(await codeOf(files.writeFile("/w/b", text("123")))).toBe("NoSpace");
  await files.remove("/w/a");
  expect(files.usedBytes).toBe(0);
  await files.writeFile("/w/b", text("123"));
  expect(files.usedBytes).toBe(3);
});

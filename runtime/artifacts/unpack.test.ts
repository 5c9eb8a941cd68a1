import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { Pax } from "tar";
import { afterEach, expect, test } from "vitest";
import { defaultArtifactLimits, type TreeLimits } from "#runtime/artifacts/limits.ts";
import { packDirectory } from "#runtime/artifacts/pack.ts";
import { ArtifactInvalidError } from "#runtime/artifacts/store.ts";
import { checksum, endMarker, type RawEntry, tar, tarEntry, tarGz } from "#runtime/artifacts/testing/archives.ts";
import { stream } from "#runtime/artifacts/testing/streams.ts";
import { unpackTarGz } from "#runtime/artifacts/unpack.ts";
import { walkTree } from "#runtime/artifacts/walk.ts";
import { readAll } from "#runtime/files/bytes.ts";
import { MemoryFiles } from "#runtime/files/memory-files.ts";
import type { Files } from "#runtime/files/port.ts";
import { openSystemFiles } from "#runtime/files/system-files.ts";

const limits = defaultArtifactLimits.tree;
const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

async function temporary(): Promise<Files> {
  const root = await mkdtemp(join(tmpdir(), "unpack-"));
  cleanups.push(() => rm(root, { recursive: true, force: true }));
  return openSystemFiles(root);
}

async function unpack(archive: Uint8Array, tree: TreeLimits = limits, chunk = 65_536): Promise<MemoryFiles> {
  const files = new MemoryFiles({ root: "/w", now: () => 0 });
  await files.makeDirectory("/w/target");
  await files.writeFile("/w/sentinel", Buffer.from("untouched"));
  try {
    await unpackTarGz(files, stream(archive, chunk), "/w/target", tree);
  } finally {
    // Whatever the archive was: nothing appeared beside the target.
    expect((await files.list("/w", 10)).map(({ name }) => name)).toEqual(["sentinel", "target"]);
  }
  return files;
}

async function contents(files: Files, directory: string): Promise<Record<string, string>> {
  const tree = await walkTree(files, directory, limits, "tree");
  const found: Record<string, string> = {};
  for (const { path, type, info } of tree) {
    const content = type === "File" ? Buffer.from(await files.readFile(`${directory}/${path}`, 1000)).toString() : "/";
    found[path] = `${info.mode.toString(8)} ${content}`;
  }
  return found;
}

const file = (path: string, content = "x"): RawEntry => ({ path, content });
const directory = (path: string): RawEntry => ({ path: `${path}/`, type: "Directory" });

test("files and directories come out with their content, executables stay executable", async () => {
  const archive = tarGz(
    directory("bin"),
    { path: "bin/run", content: "#!", mode: 0o755 },
    { path: "notes", content: "n", mode: 0o4777 & 0o666 },
  );
  expect(await contents(await unpack(archive), "/w/target")).toEqual({
    bin: "750 /",
    "bin/run": "750 #!",
    notes: "640 n",
  });
});

test("set-user-ID and write bits of an archive are not taken over", async () => {
  const files = await unpack(tarGz({ path: "f", content: "x", mode: 0o6777 }));
  expect(await files.stat("/w/target/f")).toMatchObject({ mode: 0o750 });
});

test("directories that the archive does not mention are made", async () => {
  expect(Object.keys(await contents(await unpack(tarGz(file("a/b/c"))), "/w/target"))).toEqual(["a", "a/b", "a/b/c"]);
});

test("an extended path replaces name and prefix of the plain header", async () => {
  const archive = tarGz({ ...file("a/long/path/f"), pax: true, damage: (block) => void block.write("prefix", 345) });
  expect(Object.keys(await contents(await unpack(archive), "/w/target"))).toContain("a/long/path/f");
});

test("archives of other archivers are read", async () => {
  const long = `${"d".repeat(120)}/${"ö".repeat(100)}`;
  const gnuLong = Buffer.concat([
    tarEntry({ path: "././@LongLink", type: "NextFileHasLongPath", content: `${long}\0` }),
    tarEntry(file("cut")),
    endMarker,
  ]);
  expect(Object.keys(await contents(await unpack(gzipSync(gnuLong)), "/w/target"))).toContain(long);
  const global = Buffer.concat([new Pax({ comment: "a commit" }, true).encode(), tar(file("f"))]);
  expect(Object.keys(await contents(await unpack(gzipSync(global)), "/w/target"))).toEqual(["f"]);
  const padded = Buffer.concat([tar(file("f")), Buffer.alloc(9216)]);
  expect(Object.keys(await contents(await unpack(gzipSync(padded)), "/w/target"))).toEqual(["f"]);
  expect(await contents(await unpack(gzipSync(endMarker)), "/w/target")).toEqual({});
});

test("the result does not depend on how the bytes arrive", async () => {
  const archive = tarGz(
    { ...directory("ä".repeat(70)), pax: true },
    {
      path: `${"ä".repeat(70)}/f`,
      content: "y".repeat(2000),
      pax: true,
    },
  );
  for (const chunk of [1, 7, 511, 512, 513]) {
    const found = await contents(await unpack(archive, limits, chunk), "/w/target");
    expect(Object.keys(found)).toEqual(["ä".repeat(70), `${"ä".repeat(70)}/f`]);
  }
});

const raw = (...parts: Buffer[]) => gzipSync(Buffer.concat(parts));
const small: TreeLimits = { entries: 3, bytes: 1000, depth: 3 };

const hostile: Record<string, { archive: Buffer; message: RegExp; tree?: TreeLimits }> = {
  "an absolute path": { archive: tarGz(file("/etc/passwd")), message: /is absolute/ },
  "the parent": { archive: tarGz(directory("..")), message: /segment "\.\."/ },
  "a climb out": { archive: tarGz(file("../sentinel")), message: /segment "\.\."/ },
  "a climb in the middle": { archive: tarGz(file("a/../../sentinel")), message: /segment "\.\."/ },
  "a climb hidden in an extended header": {
    archive: tarGz({ ...file("../sentinel"), pax: true }),
    message: /segment "\.\."/,
  },
  "a climb hidden in a GNU long name": {
    archive: raw(tarEntry({ path: "L", type: "NextFileHasLongPath", content: "../sentinel\0" }), tar(file("cut"))),
    message: /segment "\.\."/,
  },
  "a climb hidden in the prefix of the header": {
    archive: tarGz({ ...file("sentinel"), damage: (block) => void block.write("..", 345) }),
    message: /segment "\.\."/,
  },
  "a dot segment": { archive: tarGz(file("./f")), message: /segment "\."/ },
  "an empty segment": { archive: tarGz(file("a//f")), message: /empty segment/ },
  "an empty name": { archive: tarGz(file("")), message: /path is empty/ },
  "a newline in a name": { archive: tarGz(file("a\nb")), message: /U\+000A/ },
  "a name that is not UTF-8": {
    archive: tarGz({ ...file("a?b"), damage: (block) => void block.writeUInt8(0xff, 1) }),
    message: /not valid UTF-8/,
  },
  "the reserved directory": { archive: tarGz(file(".kruntimes/workspace-uid")), message: /reserved name/ },
  "the reserved directory in capitals": { archive: tarGz(file(".KRUNTIMES/x")), message: /reserved name/ },
  "the reserved directory further down": { archive: tarGz(file("a/.kruntimes/x")), message: /reserved name/ },
  "a name of 256 bytes": { archive: tarGz({ ...file("n".repeat(256)), pax: true }), message: /longer than 255 bytes/ },
  "a path over 4096 bytes": {
    archive: tarGz({ ...file(`${"d/".repeat(2100)}f`), pax: true }),
    message: /longer than 4096 bytes/,
  },
  "a symbolic link": {
    archive: tarGz({ path: "l", type: "SymbolicLink", linkpath: "/etc" }),
    message: /"l" is of type SymbolicLink/,
  },
  "a symbolic link to a sibling": {
    archive: tarGz(file("a"), { path: "l", type: "SymbolicLink", linkpath: "a" }),
    message: /"l" is of type SymbolicLink/,
  },
  "a file behind a symbolic link": {
    archive: tarGz({ path: "l", type: "SymbolicLink", linkpath: ".." }, file("l/sentinel")),
    message: /"l" is of type SymbolicLink/,
  },
  "a hard link": {
    archive: tarGz(file("a"), { path: "h", type: "Link", linkpath: "a" }),
    message: /"h" is of type Link/,
  },
  "a hard link to the outside": {
    archive: tarGz({ path: "h", type: "Link", linkpath: "../sentinel" }),
    message: /is of type Link/,
  },
  "a link disguised as a file": {
    archive: tarGz({ ...file("f"), linkpath: "/etc/passwd" }),
    message: /link to "\/etc\/passwd"/,
  },
  "a character device": {
    archive: tarGz({ path: "d", type: "CharacterDevice" }),
    message: /is of type CharacterDevice/,
  },
  "a block device": { archive: tarGz({ path: "d", type: "BlockDevice" }), message: /is of type BlockDevice/ },
  "a pipe": { archive: tarGz({ path: "p", type: "FIFO" }), message: /is of type FIFO/ },
  "an entry of unknown type": {
    archive: tarGz({ ...file("f"), damage: (block) => void block.write("Z", 156) }),
    message: /is of type Unsupported/,
  },
  "a sparse file": { archive: tarGz({ path: "s", type: "SparseFile" }), message: /is of type SparseFile/ },
  "a file twice": { archive: tarGz(file("a", "1"), file("a", "2")), message: /has "a" twice/ },
  "a directory twice": { archive: tarGz(directory("a"), directory("a")), message: /has "a" twice/ },
  "a file where a directory is": { archive: tarGz(file("a/b"), file("a")), message: /a: .*exists/ },
  "a directory where a file is": { archive: tarGz(file("a"), file("a/b")), message: /a\/b: / },
  "a file with a slash at its end, which is a directory": {
    archive: tarGz(file("a/", "")),
    message: /^$/,
    tree: small,
  },
  "more bytes than allowed": {
    archive: tarGz(file("a", "x".repeat(600)), file("b", "x".repeat(600))),
    message: /more than 1000 bytes/,
    tree: small,
  },
  "a size that only the header claims": {
    archive: tarGz({ ...file("a"), size: 2 ** 33 - 1 }),
    message: /more than 1000 bytes/,
    tree: small,
  },
  "more entries than allowed": {
    archive: tarGz(file("a"), file("b"), file("c"), file("d")),
    message: /more than 3 entries/,
    tree: small,
  },
  "more levels than allowed": { archive: tarGz(file("a/b/c/d")), message: /more than 3 levels/, tree: small },
  "a bomb of zeros behind a small header": {
    archive: gzipSync(Buffer.concat([tarEntry({ ...file("a", ""), size: 200_000_000 }), Buffer.alloc(50_000_000)])),
    message: /more than 1000 bytes/,
    tree: small,
  },
  "zeros without end after the end": {
    archive: raw(tar(file("a")), Buffer.alloc(3_000_000)),
    message: /padded without end/,
  },
  "an extended header without end": {
    archive: raw(tarEntry({ path: "x", type: "ExtendedHeader", content: "x", size: 2 ** 30 })),
    message: /extended header has more than/,
  },
  "a flood of extended headers": {
    archive: gzipSync(
      Buffer.concat(
        Array(2200).fill(tarEntry({ path: "x", type: "GlobalExtendedHeader", content: Buffer.alloc(65_000) })),
      ),
    ),
    message: /extended headers have more than/,
  },
  "a wrong checksum": { archive: raw(damaged(tar(file("a")), 150)), message: /wrong checksum/ },
  "a number that no archive needs": {
    archive: tarGz({
      ...file("a"),
      damage: (block) => void block.set([0x80, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], 108),
    }),
    message: /damaged: a header cannot be read/,
  },
  "random bytes in place of a header": {
    archive: raw(Buffer.alloc(512, 0x5a), endMarker),
    message: /checksum|damaged/,
  },
  "no end marker": { archive: raw(tarEntry(file("a"))), message: /without its end marker/ },
  "half an end marker": { archive: raw(tarEntry(file("a")), Buffer.alloc(512)), message: /end marker is incomplete/ },
  "an end inside a header": { archive: raw(tarEntry(file("a")).subarray(0, 300)), message: /without its end marker/ },
  "an end inside a file": {
    archive: raw(tarEntry(file("a", "x".repeat(5000))).subarray(0, 2000)),
    message: /ends inside "a"/,
  },
  "an end inside padding": { archive: raw(tarEntry(file("a")).subarray(0, 600)), message: /ends inside an entry/ },
  "an entry after the end": { archive: raw(tar(file("a")), tar(file("b"))), message: /data after its end/ },
  "a truncated gzip": { archive: tarGz(file("a")).subarray(0, -6), message: /unexpected end of file/ },
  "a gzip with a wrong checksum": { archive: damaged(tarGz(file("a")), -7), message: /incorrect data check/ },
  "a damaged gzip": { archive: damaged(tarGz(file("a", "some content here")), 20), message: /damaged/ },
  "bytes after the gzip": {
    archive: Buffer.concat([tarGz(file("a")), Buffer.from("garbage")]),
    message: /incorrect header check/,
  },
  "a second gzip after the first": {
    archive: Buffer.concat([tarGz(file("a")), tarGz(file("b"))]),
    message: /data after its end/,
  },
  "no gzip at all": { archive: tar(file("a")), message: /incorrect header check/ },
  nothing: { archive: Buffer.alloc(0), message: /unexpected end of file/ },
};

function damaged(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  const index = at < 0 ? copy.length + at : at;
  copy[index] = (copy[index] ?? 0) ^ 0xff;
  return copy;
}

test.each(Object.entries(hostile))("an archive is refused: %s", async (_, { archive, message, tree }) => {
  const error = await unpack(archive, tree).then(
    () => new ArtifactInvalidError(""),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ArtifactInvalidError);
  expect(error instanceof Error && error.message).toMatch(message);
});

test("a bomb is stopped by what its header says, before its content is read", async () => {
  let sent = 0;
  const bomb = gzipSync(Buffer.concat([tarEntry({ ...file("a", ""), size: 2 ** 30 }), Buffer.alloc(5_000_000, noise)]));
  const files = new MemoryFiles({ root: "/w", now: () => 0 });
  await files.makeDirectory("/w/target");
  const counted = (async function* () {
    for await (const chunk of stream(bomb, 1000)) {
      sent += chunk.length;
      yield chunk;
    }
  })();
  await expect(unpackTarGz(files, counted, "/w/target", small)).rejects.toThrow(ArtifactInvalidError);
  expect(files.usedBytes).toBe(0);
  expect(sent).toBeLessThan(bomb.length);
});

test("an error of the source is not taken for damage", async () => {
  const archive = tarGz(file("a", "x".repeat(10_000)));
  const broken = (async function* () {
    yield archive.subarray(0, 50);
    throw new Error("connection reset");
  })();
  const files = new MemoryFiles({ root: "/w", now: () => 0 });
  await files.makeDirectory("/w/target");
  await expect(unpackTarGz(files, broken, "/w/target", limits)).rejects.toThrow("connection reset");
});

/** Does not repeat within the window of gzip. */
const noise = Buffer.concat(Array.from({ length: 2000 }, (_, i) => createHash("sha512").update(String(i)).digest()));

async function sample(files: Files): Promise<string> {
  const source = `${files.root}/source`;
  await files.makeDirectory(`${source}/deep/${"ä".repeat(100)}/${"b".repeat(200)}`);
  await files.makeDirectory(`${source}/empty`);
  await files.writeFile(`${source}/deep/${"ä".repeat(100)}/${"b".repeat(200)}/leaf`, Buffer.from("leaf"));
  await files.writeFile(`${source}/run.sh`, Buffer.from("#!/bin/sh"), 0o700);
  await files.writeFile(`${source}/data`, Buffer.alloc(700_001, "data"), 0o600);
  await files.writeFile(`${source}/none`, Buffer.alloc(0));
  for (const length of [99, 100, 101, 155, 156, 255]) {
    await files.writeFile(`${source}/${"n".repeat(length)}`, Buffer.from(String(length)));
  }
  return source;
}

const pack = async (files: Files, source: string) =>
  readAll(packDirectory(files, source, await walkTree(files, source, limits, "artifact"), "artifact"));

test("what is packed comes out the same", async () => {
  const files = await temporary();
  const source = await sample(files);
  const archive = await pack(files, source);
  const target = `${files.root}/target`;
  await files.makeDirectory(target);
  await unpackTarGz(files, stream(archive, 1000), target, limits);
  const plain = async (path: string) =>
    (await walkTree(files, path, limits, path)).map(({ path: name, type, info }) => [
      name,
      type,
      type === "File" && info.sizeBytes,
    ]);
  expect(await plain(target)).toEqual(await plain(source));
  expect(Buffer.from(await files.readFile(`${target}/data`, 1e6)).equals(Buffer.alloc(700_001, "data"))).toBe(true);
  expect(await files.stat(`${target}/run.sh`)).toMatchObject({ mode: 0o750 });
  expect(await files.stat(`${target}/data`)).toMatchObject({ mode: 0o640 });
});

test("the same tree gives the same bytes, whenever and by whomever it was made", async () => {
  const [one, two] = [await temporary(), new MemoryFiles({ root: "/m", now: () => 12_345 })];
  expect((await pack(one, await sample(one))).equals(await pack(two, await sample(two)))).toBe(true);
});

test("other programs can read what is packed", async () => {
  const files = await temporary();
  const archive = await pack(files, await sample(files));
  await files.writeFile(`${files.root}/a.tgz`, archive);
  const listing = execFileSync("tar", ["-tzvf", `${files.root}/a.tgz`, "--numeric-owner"], {
    encoding: "utf8",
    env: { ...process.env, LC_ALL: "C.UTF-8" },
  });
  expect(listing.trim().split("\n")).toHaveLength(14);
  expect(listing).toMatch(/^-rwxr-xr-x 0\/0 +9 1970-01-01 00:00 run\.sh$/m);
});

test("a file that shrinks while it is packed is an error, not a broken archive", async () => {
  const files = await temporary();
  const source = await sample(files);
  const tree = await walkTree(files, source, limits, "artifact");
  const shrinking = new Proxy(files, {
    get: (target, name) =>
      name === "openFile"
        ? async (path: string) => {
            const opened = await target.openFile(path);
            return {
              ...opened,
              info: { ...opened.info, sizeBytes: opened.info.sizeBytes + 1 },
              read: opened.read.bind(opened),
              close: opened.close.bind(opened),
            };
          }
        : (Reflect.get(target, name).bind?.(target) ?? Reflect.get(target, name)),
  });
  await expect(readAll(packDirectory(shrinking, source, tree, "artifact"))).rejects.toThrow(/became shorter/);
});

test("a checksum helper that works is what makes the hostile archives reach their checks", () => {
  const block = tarEntry(file("a")).subarray(0, 512);
  const before = Buffer.from(block);
  checksum(block);
  expect(Number.parseInt(block.toString("latin1", 148, 154), 8)).toBe(
    Number.parseInt(before.toString("latin1", 148, 155), 8),
  );
  expect(gunzipSync(tarGz(file("a"))).length).toBe(2048);
});

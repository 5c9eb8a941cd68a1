import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import type { TreeLimits } from "#runtime/artifacts/limits.ts";
import { packDirectory } from "#runtime/artifacts/pack.ts";
import { ArtifactInvalidError } from "#runtime/artifacts/store.ts";
import { checksum, type RawEntry, tar, tarEntry } from "#runtime/artifacts/testing/archives.ts";
import { stream } from "#runtime/artifacts/testing/streams.ts";
import { unpackTarGz } from "#runtime/artifacts/unpack.ts";
import { walkTree } from "#runtime/artifacts/walk.ts";
import { readAll } from "#runtime/files/bytes.ts";
import { MemoryFiles } from "#runtime/files/memory-files.ts";
import { mutatedBytes } from "../mutate.ts";
import { defineTarget } from "../target.ts";

const entries: readonly RawEntry[] = [
  { path: "bin/", type: "Directory" },
  { path: "bin/run", content: "#!/bin/sh\n", mode: 0o755 },
  { path: "notes", content: "n".repeat(700) },
  { path: `${"ä".repeat(60)}/leaf`, content: "x", pax: true },
  { path: "a/../../out", content: "x" },
  { path: "/etc/passwd", content: "x", pax: true },
  { path: "link", type: "SymbolicLink", linkpath: "../.." },
  { path: "hard", type: "Link", linkpath: "notes" },
  { path: ".kruntimes/uid", content: "x" },
];
const limits: TreeLimits = { entries: 20, bytes: 10_000, depth: 6 };
const archives = [
  tar(...entries.slice(0, 4)),
  ...entries.map((entry) => tar(...entries.slice(0, 2), entry)),
  Buffer.concat([
    tarEntry({ path: "L", type: "NextFileHasLongPath", content: "long/name\0" }),
    tar({ path: "cut", content: "y" }),
  ]),
  Buffer.concat([tar({ path: "f" }), Buffer.alloc(4096)]),
  tar({ path: "large", content: "l".repeat(limits.bytes) }, { path: "more", content: "m".repeat(100) }),
  tar({ path: "large", content: "l".repeat(limits.bytes) }),
];
const tokens = [
  "../",
  "/",
  "\0",
  "..",
  "ustar\u000000",
  "30 path=../../x\n",
  "11 size=99\n",
  "\xff",
  "7777777777",
  "5",
  "2",
  ".kruntimes",
];

/** Headers get the checksum that they need, so that what is changed in them is looked at. */
function withChecksums(archive: Buffer): Buffer {
  const blocks = Buffer.from(archive);
  for (let at = 0; at + 512 <= blocks.length; at += 512) {
    const block = blocks.subarray(at, at + 512);
    if (block.toString("latin1", 257, 262) === "ustar") checksum(block);
  }
  return blocks;
}

const contents = async (files: MemoryFiles, directory: string) => {
  const tree = await walkTree(files, directory, limits, "tree");
  return Promise.all(
    tree.map(async ({ path, type, info }) => [
      path,
      type === "File"
        ? Buffer.from(await files.readFile(`${directory}/${path}`, limits.bytes + 1)).toString("hex")
        : type,
      (info.mode & 0o111) !== 0,
    ]),
  );
};

export const archiveFiles = (unpack: typeof unpackTarGz = unpackTarGz) =>
  defineTarget({
    name: "archives",
    holds:
      "any archive is unpacked below its directory and within its limits, as files and directories only, or refused; packed again it unpacks to the same",
    sliceRuns: 120,
    outcomes: ["unpacked", "refused"],
    inputs: fc.record({
      archive: mutatedBytes(
        archives,
        tokens.map((token) => Buffer.from(token, "latin1")),
      ),
      repaired: fc.boolean(),
      damage: fc.option(fc.nat({ max: 0xffff }), { freq: 4 }),
      chunk: fc.constantFrom(1, 100, 512, 65_536),
    }),
    show: ({ archive, ...rest }) => `${JSON.stringify(rest)} ${archive.toString("base64")}`,
    async check({ archive, repaired, damage, chunk }) {
      const bytes = gzipSync(repaired ? withChecksums(archive) : archive, { level: 1 });
      if (damage !== null) bytes.writeUInt8((bytes[damage % bytes.length] ?? 0) ^ 0x55, damage % bytes.length);
      const files = new MemoryFiles({ root: "/w", now: () => 0 });
      await files.makeDirectory("/w/target");
      await files.writeFile("/w/sentinel", Buffer.from("untouched"));
      const refused = await unpack(files, stream(bytes, chunk), "/w/target", limits).then(
        () => undefined,
        (error: unknown) => error,
      );
      assert.deepEqual(
        (await files.list("/w", 10)).map(({ name }) => name),
        ["sentinel", "target"],
      );
      assert.equal(Buffer.from(await files.readFile("/w/sentinel", 100)).toString(), "untouched");
      assert(files.usedBytes <= limits.bytes + 9, `${files.usedBytes} bytes were written`);
      if (refused !== undefined) {
        if (!(refused instanceof ArtifactInvalidError)) throw refused;
        assert.notEqual(refused.message, "");
        return "refused";
      }
      const tree = await walkTree(files, "/w/target", limits, "tree");
      for (const { info } of tree) assert(info.kind === "File" || info.kind === "Directory", info.kind);
      const packed = await readAll(packDirectory(files, "/w/target", tree, "tree"));
      await files.makeDirectory("/w/again");
      await unpack(files, stream(packed, 1000), "/w/again", limits);
      assert.deepEqual(await contents(files, "/w/again"), await contents(files, "/w/target"));
      return "unpacked";
    },
  });

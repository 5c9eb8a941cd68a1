import { createGzip } from "node:zlib";
import { Header, Pax } from "tar";
import { blameArtifact } from "#runtime/artifacts/errors.ts";
import { ArtifactInvalidError } from "#runtime/artifacts/store.ts";
import { through } from "#runtime/artifacts/streams.ts";
import type { TreeEntry } from "#runtime/artifacts/walk.ts";
import type { Files } from "#runtime/files/port.ts";

const blockBytes = 512;
const maxPlainNameBytes = 100;

/**
 * A directory as tar.gz. The same tree always gives the same bytes: entries come in the order of the walk, without times,
 * owners and user-specific mode bits (only whether a file is executable is kept).
 */
export function packDirectory(
  files: Files,
  directory: string,
  entries: readonly TreeEntry[],
  what: string,
): AsyncIterable<Uint8Array> {
  return through(tarStream(files, directory, entries, what), createGzip());
}

async function* tarStream(
  files: Files,
  directory: string,
  entries: readonly TreeEntry[],
  what: string,
): AsyncGenerator<Uint8Array> {
  for (const { path, type, info } of entries) {
    if (type === "Directory") yield header({ path: `${path}/`, type, mode: 0o755, size: 0 });
    else yield* fileEntry(files, `${directory}/${path}`, path, (info.mode & 0o111) !== 0, `${what}: "${path}"`);
  }
  yield Buffer.alloc(2 * blockBytes);
}

async function* fileEntry(
  files: Files,
  source: string,
  path: string,
  executable: boolean,
  what: string,
): AsyncGenerator<Uint8Array> {
  const file = await blameArtifact(what, () => files.openFile(source));
  try {
    const size = file.info.sizeBytes;
    yield header({ path, type: "File", mode: executable ? 0o755 : 0o644, size });
    let sent = 0;
    const content = file.read(0, size)[Symbol.asyncIterator]();
    for (;;) {
      const next = await blameArtifact(what, () => content.next());
      if (next.done) break;
      sent += next.value.length;
      yield next.value;
    }
    // The header promised the size; a shorter body would shift everything after it.
    if (sent !== size) throw new ArtifactInvalidError(`${what} became shorter while it was being stored`);
    yield Buffer.alloc((blockBytes - (size % blockBytes)) % blockBytes);
  } finally {
    await file.close();
  }
}

function header(entry: { path: string; type: "File" | "Directory"; mode: number; size: number }): Buffer {
  const { path, size } = entry;
  const fields = { ...entry, uid: 0, gid: 0, mtime: new Date(0) };
  // Names from 100 bytes on always go into an extended header: how the plain one splits them is told differently by programs.
  const short = Buffer.byteLength(path) < maxPlainNameBytes;
  const plain = new Header({ ...fields, path: short ? path : "long-name" });
  const extended = plain.encode() || !short;
  const block = plain.block ?? Buffer.alloc(0);
  return extended ? Buffer.concat([new Pax({ path, size }).encode(), block]) : block;
}

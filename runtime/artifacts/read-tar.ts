import { createGunzip } from "node:zlib";
import { Header, Pax } from "tar";
import { BlockReader } from "#runtime/artifacts/block-reader.ts";
import { ArtifactInvalidError } from "#runtime/artifacts/store.ts";
import { through } from "#runtime/artifacts/streams.ts";

export interface TarEntry {
  /** As the archive has it, without the slash that ends a directory. Not checked: see the unpacker. */
  readonly path: string;
  readonly type: "File" | "Directory";
  readonly mode: number;
  readonly sizeBytes: number;
}

const blockBytes = 512;
/** An extended header holds a path and a few numbers. */
const maxMetaBytes = 64 * 1024;
/** All extended headers of an archive: one for each of 100,000 long names, and an end for a flood of them. */
const maxAllMetaBytes = 128 * 1024 * 1024;
/** Archivers fill up their last record with zeros (10 KiB by default); a flood of them is a bomb. */
const maxPaddingBytes = 1024 * 1024;
const meta: ReadonlySet<string> = new Set(["ExtendedHeader", "GlobalExtendedHeader", "NextFileHasLongPath"]);
const files: ReadonlySet<string> = new Set(["File", "OldFile", "ContiguousFile"]);

/**
 * Reads a tar.gz strictly: every entry in order, with its content. `visit` need not consume the content.
 *
 * Not the parser of the `tar` package: that one skips what it does not understand, and decodes long names chunk by chunk;
 * here every oddity is an error.
 *
 * @throws ArtifactInvalidError for links, devices, damage, truncation, or anything after the end.
 */
export async function readTarGz(
  bytes: AsyncIterable<Uint8Array>,
  visit: (entry: TarEntry, content: AsyncIterable<Uint8Array>) => Promise<void>,
): Promise<void> {
  const reader = new BlockReader(through(bytes, createGunzip()));
  try {
    await readEntries(reader, visit);
    await readPadding(reader);
  } catch (error) {
    throw isZlibError(error)
      ? new ArtifactInvalidError(`the archive is damaged: ${error.message}`, { cause: error })
      : error;
  } finally {
    await reader.close().catch(() => {}); // what ended the reading is reported already
  }
}

async function readEntries(
  reader: BlockReader,
  visit: (entry: TarEntry, content: AsyncIterable<Uint8Array>) => Promise<void>,
): Promise<void> {
  let extended: Pax | undefined;
  let metaBytes = 0;
  for (;;) {
    const header = await readHeader(reader, extended);
    if (header === undefined) return;
    const sizeBytes = header.size ?? 0;
    if (meta.has(header.type)) {
      if (sizeBytes > maxMetaBytes) throw damaged(`an extended header has more than ${maxMetaBytes} bytes`);
      metaBytes += blockBytes + sizeBytes;
      if (metaBytes > maxAllMetaBytes) throw damaged(`its extended headers have more than ${maxAllMetaBytes} bytes`);
    }
    switch (header.type) {
      case "ExtendedHeader":
        extended = await readExtended(reader, sizeBytes, extended);
        continue;
      case "GlobalExtendedHeader":
        await readMeta(reader, sizeBytes); // comments of `git archive` and the like; it cannot name files
        continue;
      case "NextFileHasLongPath":
        extended = new Pax({ ...extended, path: (await readMeta(reader, sizeBytes)).toString().replace(/\0+$/, "") });
        continue;
    }
    const entry = plainEntry(header, sizeBytes, extended?.path);
    extended = undefined;
    const body = new Body(reader, sizeBytes, entry.path);
    await visit(entry, body);
    await body.skip();
    await skipPadding(reader, sizeBytes);
  }
}

/** The next header, or `undefined` after the two empty blocks that end an archive. */
async function readHeader(reader: BlockReader, extended: Pax | undefined): Promise<Header | undefined> {
  const block = await reader.exactly(blockBytes);
  if (block.length < blockBytes) throw damaged("it ends without its end marker");
  const header = readable(() => new Header(block, 0, extended));
  if (header.nullBlock) {
    const second = await reader.exactly(blockBytes);
    if (second.length < blockBytes || second.some((byte) => byte !== 0)) throw damaged("its end marker is incomplete");
    return undefined;
  }
  if (!header.cksumValid) throw damaged("a header has a wrong checksum");
  return header;
}

function plainEntry(header: Header, sizeBytes: number, extendedPath: string | undefined): TarEntry {
  // The decoder puts the prefix of the plain header before an extended path, which replaces both.
  const raw = extendedPath ?? header.path ?? "";
  const isDirectory = header.type === "Directory";
  if (!isDirectory && !files.has(header.type)) {
    throw new ArtifactInvalidError(
      `"${raw}" is of type ${header.type}; archives may hold files and directories, no links and devices`,
    );
  }
  if (header.linkpath) throw new ArtifactInvalidError(`"${raw}" is a link to "${header.linkpath}"`);
  return {
    path: isDirectory && raw.endsWith("/") ? raw.slice(0, -1) : raw,
    type: isDirectory ? "Directory" : "File",
    mode: header.mode ?? 0,
    sizeBytes,
  };
}

async function readExtended(reader: BlockReader, sizeBytes: number, extended: Pax | undefined): Promise<Pax> {
  const text = (await readMeta(reader, sizeBytes)).toString();
  return readable(() => Pax.parse(text, extended));
}

/** The decoder throws plain errors for what it cannot read, such as a number beyond 2^53. */
function readable<T>(decode: () => T): T {
  try {
    return decode();
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new ArtifactInvalidError(`the archive is damaged: a header cannot be read: ${why}`, { cause });
  }
}

async function readMeta(reader: BlockReader, sizeBytes: number): Promise<Buffer> {
  const meta = await reader.exactly(sizeBytes);
  if (meta.length < sizeBytes) throw damaged("it ends inside an extended header");
  await skipPadding(reader, sizeBytes);
  return meta;
}

async function skipPadding(reader: BlockReader, sizeBytes: number): Promise<void> {
  const padding = (blockBytes - (sizeBytes % blockBytes)) % blockBytes;
  if ((await reader.exactly(padding)).length < padding) throw damaged("it ends inside an entry");
}

async function readPadding(reader: BlockReader): Promise<void> {
  for (let total = 0; ; ) {
    const chunk = await reader.some(maxPaddingBytes);
    if (chunk === undefined) return;
    total += chunk.length;
    if (chunk.some((byte) => byte !== 0)) throw damaged("there is data after its end");
    if (total > maxPaddingBytes) throw damaged("it is padded without end");
  }
}

/** The content of one entry; it can be read once. */
class Body implements AsyncIterable<Uint8Array> {
  readonly #reader: BlockReader;
  readonly #path: string;
  #left: number;

  constructor(reader: BlockReader, sizeBytes: number, path: string) {
    this.#reader = reader;
    this.#left = sizeBytes;
    this.#path = path;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    while (this.#left > 0) {
      const chunk = await this.#reader.some(this.#left);
      if (chunk === undefined) throw damaged(`it ends inside "${this.#path}"`);
      this.#left -= chunk.length;
      yield chunk;
    }
  }

  async skip(): Promise<void> {
    for await (const _ of this) {
      // only the count matters
    }
  }
}

function damaged(what: string): ArtifactInvalidError {
  return new ArtifactInvalidError(`the archive is damaged: ${what}`);
}

function isZlibError(error: unknown): error is Error {
  return error instanceof Error && "code" in error && String(error.code).startsWith("Z_");
}

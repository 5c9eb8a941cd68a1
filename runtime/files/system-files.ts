/** {@link Files} on the real file system. Adapter: touches the system. */
import { constants, type Stats } from "node:fs";
import { chmod, type FileHandle, lstat, mkdir, open, opendir, realpath, rename, rmdir } from "node:fs/promises";
import { type Anchor, anchor, handlePath, openDirectory, openForReading, openInode } from "#runtime/files/anchor.ts";
import { segmentsBelow, splitLeaf } from "#runtime/files/below.ts";
import { readAll } from "#runtime/files/bytes.ts";
import { mapErrors } from "#runtime/files/errno.ts";
import { decodeName } from "#runtime/files/names.ts";
import {
  type Entry,
  type FileInfo,
  type Files,
  FilesError,
  type FileWriter,
  isFilesError,
  type OpenedFile,
} from "#runtime/files/port.ts";
import { removeTree } from "#runtime/files/remove-tree.ts";

/** Bytes of one read: large enough that the trip to the thread pool does not dominate. */
const chunkBytes = 256 * 1024;
const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
/** Numbers the temporary files of this process; a leftover of an earlier one is skipped. */
let temporary = 0;

/** Files below `root`, an existing directory (which itself may be reached through links: it is ours). */
export async function openSystemFiles(root: string): Promise<Files> {
  const realRoot = await mapErrors(root, () => realpath(root));
  return new SystemFiles(root, realRoot);
}

class SystemFiles implements Files {
  readonly root: string;
  readonly #realRoot: string;

  constructor(root: string, realRoot: string) {
    this.root = root;
    this.#realRoot = realRoot;
  }

  async stat(path: string): Promise<FileInfo | undefined> {
    try {
      if (path === this.root) return infoOf(await mapErrors(path, () => lstat(this.#realRoot)));
      return await this.#at(path, async (at) => infoOf(await lstat(at)));
    } catch (error) {
      if (isFilesError(error, "Missing")) return undefined;
      throw error;
    }
  }

  async list(path: string, maxEntries: number): Promise<readonly Entry[]> {
    return this.#directory(path, async (handle, at) => {
      const raw: Buffer[] = [];
      // latin1 keeps every byte of names that are not UTF-8.
      for await (const entry of await opendir(at, { encoding: "latin1" as BufferEncoding })) {
        if (raw.length === maxEntries) {
          throw new FilesError("TooMany", path, `${path} has more than ${maxEntries} entries`);
        }
        raw.push(Buffer.from(entry.name, "latin1"));
      }
      raw.sort(Buffer.compare);
      const entries: Entry[] = [];
      const prefix = Buffer.concat([handlePath(handle, at), Buffer.from("/")]);
      for (const name of raw) {
        const info = infoOf(await lstat(Buffer.concat([prefix, name])));
        entries.push({ ...info, ...decodeName(name) });
      }
      return entries;
    });
  }

  async makeDirectory(path: string, mode = 0o755): Promise<void> {
    if (segmentsBelow(this.root, path).length === 0) return;
    try {
      await this.#makeOne(path, mode);
    } catch (error) {
      if (!isFilesError(error, "Missing")) throw error;
      await this.makeDirectory(splitLeaf(this.root, path).parent);
      await this.#makeOne(path, mode);
    }
  }

  async #makeOne(path: string, mode: number): Promise<void> {
    await this.#at(path, async (at) => {
      try {
        await mkdir(at, { mode });
      } catch (error) {
        const existing = await lstat(at).catch(() => undefined);
        if (existing?.isDirectory()) return;
        if (existing !== undefined) throw kindError(path, existing, "directory");
        throw error;
      }
      if (((await lstat(at)).mode & 0o777) === mode) return;
      const handle = await openDirectory(at);
      try {
        await handle.chmod(mode); // the umask took something away
      } finally {
        await handle.close();
      }
    });
  }

  async readFile(path: string, maxBytes: number): Promise<Uint8Array> {
    const file = await this.openFile(path);
    try {
      return await readAll(file.read(0, maxBytes));
    } finally {
      await file.close();
    }
  }

  async writeFile(path: string, content: Uint8Array, mode = 0o644): Promise<void> {
    const { parent } = splitLeaf(this.root, path);
    const { writer, path: fresh } = await this.#temporaryFile(parent, mode);
    try {
      await writer.write(content);
      await writer.close();
      await this.rename(fresh, path);
    } catch (error) {
      await writer.close().catch(() => {});
      await this.remove(fresh).catch(() => {}); // the first error is the one to report
      throw error;
    }
  }

  async #temporaryFile(parent: string, mode: number): Promise<{ writer: FileWriter; path: string }> {
    for (;;) {
      const path = `${parent}/.kruntimes-new-${process.pid}-${temporary++}`;
      try {
        return { writer: await this.createFile(path, mode), path };
      } catch (error) {
        if (!isFilesError(error, "Exists")) throw error;
      }
    }
  }

  async openFile(path: string): Promise<OpenedFile> {
    return this.#at(path, async (at) => {
      // Looked at before it is opened: opening a device can have effects of its own.
      const before = await lstat(at);
      if (!before.isFile()) throw kindError(path, before, "regular file");
      const handle = await openForReading(at);
      const info = await closeOnError(handle, async () => {
        const opened = await handle.stat();
        if (!opened.isFile()) throw kindError(path, opened, "regular file");
        return opened;
      });
      return new SystemFile(path, handle, infoOf(info));
    });
  }

  async createFile(path: string, mode: number): Promise<FileWriter> {
    return this.#at(path, async (at) => {
      const handle = await open(at, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
      await closeOnError(handle, () => handle.chmod(mode)); // the mode of open is subject to the umask
      return new SystemWriter(path, handle);
    });
  }

  async setMode(path: string, mode: number): Promise<void> {
    await this.#at(path, async (at) => {
      const handle = await openInode(at);
      try {
        const info = await handle.stat();
        if (!info.isFile() && !info.isDirectory()) throw kindError(path, info, "regular file or directory");
        await chmod(handlePath(handle, at), mode);
      } finally {
        await handle.close();
      }
    });
  }

  async rename(from: string, to: string): Promise<void> {
    await this.#at(from, (source) => this.#at(to, (target) => rename(source, target), to));
  }

  async remove(path: string): Promise<void> {
    const { parent, leaf } = splitLeaf(this.root, path);
    try {
      await this.#within(parent, path, ({ prefix }) => removeTree(prefix, leaf));
    } catch (error) {
      if (!isFilesError(error, "Missing")) throw error;
    }
  }

  async removeDirectory(path: string): Promise<void> {
    try {
      await this.#at(path, async (at) => {
        const info = await lstat(at);
        if (!info.isDirectory()) throw kindError(path, info, "directory");
        await rmdir(at);
      });
    } catch (error) {
      if (!isFilesError(error, "Missing")) throw error;
    }
  }

  async syncDirectory(path: string): Promise<void> {
    await this.#directory(path, (handle) => handle.sync());
  }

  /** Calls `use` with a name for `path` that is looked up below its held parent directory. */
  #at<T>(path: string, use: (at: string) => Promise<T>, blame = path): Promise<T> {
    const { parent, leaf } = splitLeaf(this.root, path);
    return this.#within(parent, blame, ({ prefix }) => use(`${prefix}/${leaf}`));
  }

  async #within<T>(directory: string, blame: string, use: (held: Anchor) => Promise<T>): Promise<T> {
    const held = await anchor(directory, this.#realRoot + directory.slice(this.root.length));
    try {
      return await mapErrors(blame, () => use(held));
    } finally {
      await held.close();
    }
  }

  async #directory<T>(path: string, use: (handle: FileHandle, at: string) => Promise<T>): Promise<T> {
    const inRoot = segmentsBelow(this.root, path).length === 0;
    const run = async (at: string): Promise<T> => {
      const info = await lstat(at);
      if (!info.isDirectory()) throw kindError(path, info, "directory");
      const handle = await openDirectory(at);
      try {
        return await use(handle, handlePath(handle, at).toString());
      } finally {
        await handle.close();
      }
    };
    return inRoot ? mapErrors(path, () => run(this.#realRoot)) : this.#at(path, run);
  }
}

class SystemFile implements OpenedFile {
  readonly info: FileInfo;
  readonly #path: string;
  readonly #handle: FileHandle;

  constructor(path: string, handle: FileHandle, info: FileInfo) {
    this.#path = path;
    this.#handle = handle;
    this.info = info;
  }

  async *read(start = 0, end = Number.POSITIVE_INFINITY): AsyncGenerator<Uint8Array> {
    for (let position = start; position < end; ) {
      const wanted = Math.min(chunkBytes, end - position);
      const buffer = Buffer.allocUnsafe(Math.min(wanted, Math.max(this.info.sizeBytes - position, 4096)));
      const { bytesRead } = await mapErrors(this.#path, () => this.#handle.read(buffer, 0, buffer.length, position));
      if (bytesRead === 0) return;
      position += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  }

  close(): Promise<void> {
    return mapErrors(this.#path, () => this.#handle.close());
  }
}

class SystemWriter implements FileWriter {
  readonly #path: string;
  readonly #handle: FileHandle;

  constructor(path: string, handle: FileHandle) {
    this.#path = path;
    this.#handle = handle;
  }

  async write(chunk: Uint8Array): Promise<void> {
    await mapErrors(this.#path, async () => {
      for (let done = 0; done < chunk.length; ) {
        done += (await this.#handle.write(chunk, done, chunk.length - done)).bytesWritten;
      }
    });
  }

  sync(): Promise<void> {
    return mapErrors(this.#path, () => this.#handle.sync());
  }

  close(): Promise<void> {
    return mapErrors(this.#path, () => this.#handle.close());
  }
}

async function closeOnError<T>(handle: FileHandle, use: () => Promise<T>): Promise<T> {
  try {
    return await use();
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function infoOf(stats: Stats): FileInfo {
  return {
    kind: stats.isFile() ? "File" : stats.isDirectory() ? "Directory" : stats.isSymbolicLink() ? "Symlink" : "Other",
    sizeBytes: stats.size,
    mode: stats.mode & 0o777,
    links: stats.nlink,
    modifiedAt: stats.mtimeMs,
  };
}

function kindError(path: string, found: Stats, wanted: string): FilesError {
  if (found.isFile() || found.isDirectory()) {
    return new FilesError("WrongKind", path, `${path} is a ${found.isFile() ? "file" : "directory"}, not a ${wanted}`);
  }
  const what = found.isSymbolicLink()
    ? "symbolic link"
    : found.isFIFO()
      ? "pipe"
      : found.isSocket()
        ? "socket"
        : "device";
  return new FilesError("Unsafe", path, `${path} is a ${what}, not a ${wanted}`);
}

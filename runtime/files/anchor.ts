/**
 * Directories held open, so that names are looked up below the directory that was checked and not below whatever stands at
 * its path by then. Node has no openat(2); on Linux `/proc/self/fd/N/name` is the same thing. Adapter: touches the system.
 */
import { constants, readFileSync } from "node:fs";
import { type FileHandle, lstat, open, readlink, realpath } from "node:fs/promises";
import { mapErrors, toFilesError } from "#runtime/files/errno.ts";
import { FilesError } from "#runtime/files/port.ts";

const linux = process.platform === "linux";
/** Not among Node's constants: a descriptor that only names the inode and needs no permission on it. */
const O_PATH = linux ? 0o10000000 : 0;
const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY, O_NONBLOCK } = constants;

export interface Anchor {
  /** Path prefix under which names are looked up in this directory. */
  readonly prefix: string;
  close(): Promise<void>;
}

/**
 * Holds the directory `path`, which must be reached through real directories only.
 *
 * `real` is the path with the root resolved: the kernel's own answer for what was opened must be the same text, or a link
 * stood somewhere on the way.
 */
export async function anchor(path: string, real: string): Promise<Anchor> {
  return mapErrors(path, async () => {
    if (!linux) {
      if ((await realpath(real)) !== real) throw await nameTheLink(path, real);
      return { prefix: real, close: async () => {} };
    }
    const handle = await open(real, O_PATH | O_DIRECTORY).catch(async (error: unknown) => {
      throw (await findLink(path, real)) ?? toFilesError(path, error);
    });
    const prefix = `/proc/self/fd/${handle.fd}`;
    try {
      if ((await readlink(prefix)) !== real) throw await nameTheLink(path, real);
    } catch (error) {
      await handle.close();
      throw error;
    }
    return { prefix, close: () => handle.close() };
  });
}

/** Opens a directory for listing, never through a link. `at` is a name below an anchor's prefix. */
export function openDirectory(at: string | Buffer): Promise<FileHandle> {
  return open(at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

/** Opens a file for reading, never through a link, and without waiting for the other end of a pipe. */
export function openForReading(at: string): Promise<FileHandle> {
  return open(at, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
}

/** A descriptor of the inode itself, for changing the mode of what cannot be opened. It may be a link: check its kind. */
export function openInode(at: string | Buffer): Promise<FileHandle> {
  return open(at, (linux ? O_PATH : O_RDONLY | O_NONBLOCK) | O_NOFOLLOW);
}

/**
 * What an open file lies on, as a text that differs for any two mounts. Two mounts of one volume have one device number, so
 * on Linux it is the kernel's number of the mount, where that is told.
 */
export async function mountOf(handle: FileHandle): Promise<string> {
  // Made up by the kernel in memory: a trip to the thread pool would take ten times as long as the answer.
  const mount = linux
    ? /^mnt_id:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${handle.fd}`, "latin1"))?.[1]
    : undefined;
  return mount ?? `device ${(await handle.stat()).dev}`;
}

/** Path by which an open directory can be listed, and names below it looked up. */
export function handlePath(handle: FileHandle, fallback: string | Buffer): Buffer {
  return linux ? Buffer.from(`/proc/self/fd/${handle.fd}`) : Buffer.from(fallback);
}

async function nameTheLink(path: string, real: string): Promise<FilesError> {
  const found = await findLink(path, real);
  return found ?? new FilesError("Unsafe", path, `${path} leads elsewhere: it moved while it was being opened`);
}

/** The first link on the way, for the message. What it finds decides nothing. */
async function findLink(path: string, real: string): Promise<FilesError | undefined> {
  const segments = real.split("/");
  for (let length = 2; length <= segments.length; length++) {
    const info = await lstat(segments.slice(0, length).join("/")).catch(() => undefined);
    if (info === undefined) return undefined;
    if (info.isSymbolicLink()) {
      const name = segments.slice(0, length).join("/");
      return new FilesError("Unsafe", path, `${name} is a symbolic link; links are not followed`);
    }
  }
  return undefined;
}

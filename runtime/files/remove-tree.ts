/** Removal of a tree that somebody else filled. Adapter: touches the system. */
import { constants } from "node:fs";
import { access, chmod, type FileHandle, lstat, opendir, readlink, rename, rmdir, unlink } from "node:fs/promises";
import { handlePath, mountOf, openDirectory, openInode } from "#runtime/files/anchor.ts";
import { errnoOf } from "#runtime/files/errno.ts";
import { FilesError } from "#runtime/files/port.ts";

/**
 * One directory is open for each level, so a tree made thousands of levels deep would use up all descriptors: what lies
 * deeper than this is first moved up beside the top.
 */
const maxOpenLevels = 64;
/** A process that still writes can put new entries in while we remove; after this many rounds that is an error. */
const maxRounds = 5;
const slash = Buffer.from("/");

/**
 * Removes `name` below the directory `prefix`; links are removed, not followed. Nothing there is not an error.
 *
 * @throws FilesError `Failed` at a directory on which something is mounted: what that has is not part of the tree
 */
export async function removeTree(prefix: string | Buffer, name: string | Buffer): Promise<void> {
  // The prefix may be a link of the kernel's to an open directory: its entry "." is the directory itself.
  const above = await openInode(join(prefix, "."));
  try {
    await removeAt(join(prefix, name), { mount: await mountOf(above) }, 0);
  } finally {
    await above.close();
  }
}

interface Tree {
  /** What all of it has to be on; see {@link mountOf}. */
  readonly mount: string;
  /** Where deep subtrees are moved to; undefined for the topmost directory. */
  readonly top?: { readonly path: Buffer; moved: number };
}

async function removeAt(at: Buffer, tree: Tree, depth: number): Promise<void> {
  const { top } = tree;
  for (let round = 1; ; round++) {
    try {
      const info = await lstat(at);
      if (!info.isDirectory()) return await unlink(at);
      if (top !== undefined && depth >= maxOpenLevels) {
        // The name starts with a character that the listing may show again: the top is listed until it is empty.
        return await rename(at, join(top.path, `.deep-${top.moved++}`));
      }
      const handle = await openAnyway(at, tree);
      try {
        await removeEntries(handlePath(handle, at), tree, depth);
      } finally {
        await handle.close();
      }
      return await rmdir(at);
    } catch (error) {
      const errno = errnoOf(error);
      if (errno === "ENOENT") return; // gone, or it never was there
      // Replaced by something else, or filled again, while we looked: look again.
      const changing = errno === "ENOTEMPTY" || errno === "EEXIST" || errno === "ENOTDIR" || errno === "ELOOP";
      if (!changing || round === maxRounds) throw error;
    }
  }
}

async function removeEntries(directory: Buffer, tree: Tree, depth: number): Promise<void> {
  const top = tree.top ?? { path: directory, moved: 0 };
  // A listing may miss what is moved in while it is read, so the top is listed again until nothing was moved.
  for (let movedBefore = -1; movedBefore !== top.moved; ) {
    movedBefore = top.moved;
    // latin1 keeps every byte of names that are not UTF-8.
    for await (const entry of await opendir(directory, { encoding: "latin1" as BufferEncoding })) {
      await removeAt(join(directory, Buffer.from(entry.name, "latin1")), { ...tree, top }, depth + 1);
    }
    if (tree.top !== undefined) return;
  }
}

/** Opens a directory, and first makes it usable when its mode keeps its owner out (caches are often read-only). */
async function openAnyway(at: Buffer, { mount }: Tree): Promise<FileHandle> {
  try {
    await access(at, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    if (errnoOf(error) !== "EACCES") throw error;
    await withinMount(await openInode(at), mount, async (inode) => {
      if ((await inode.stat()).isDirectory()) await chmod(handlePath(inode, at), 0o700);
      await inode.close();
    });
  }
  return withinMount(await openDirectory(at), mount, async (handle) => handle);
}

/** Closes the handle when it is on another mount, or `use` fails. */
async function withinMount<T>(handle: FileHandle, mount: string, use: (handle: FileHandle) => Promise<T>): Promise<T> {
  try {
    if ((await mountOf(handle)) !== mount) {
      const path = await readlink(handlePath(handle, "")).catch(() => "a directory");
      throw new FilesError("Failed", path, `something is mounted at ${path}; unmount it, what it has is not removed`);
    }
    return await use(handle);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function join(prefix: string | Buffer, name: string | Buffer): Buffer {
  return Buffer.concat([Buffer.from(prefix), slash, Buffer.from(name)]);
}

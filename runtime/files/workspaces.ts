import type { WorkspaceLayout } from "#runtime/files/layout.ts";
import { type Files, type FilesError, isFilesError } from "#runtime/files/port.ts";

/** The files that earlier Runs left in the workspace are gone. Fails the Run with reason WorkspaceLost. */
export class WorkspaceLostError extends Error {
  override readonly name = "WorkspaceLostError";
}

export interface WorkspaceOwner {
  /** UID of the PersistentWorkspace. */
  readonly uid: string;
  /**
   * Whether a Run has been prepared in it before; asked only when the directory does not carry our marker. Then missing
   * files are a loss; otherwise a directory without our marker is a leftover of somebody else.
   *
   * @param isThere whether something is at the place of the directory
   */
  used(isThere: boolean): Promise<boolean>;
}

/**
 * - `Created`: the directory is new and empty.
 * - `Reused`: it was there with the content of this workspace.
 * - `Emptied`: it held leftovers of another workspace of the same name (on a claim that outlived it), which are gone now.
 */
export type PreparedWorkspace = "Created" | "Reused" | "Emptied";

const maxUidBytes = 256;

/**
 * Makes sure that the workspace directory exists and holds this workspace's content and nobody else's.
 *
 * The marker is written last, so a crash half-way is repaired by the next call.
 *
 * @throws WorkspaceLostError when the workspace was used and its directory is gone or belongs to another one.
 */
export async function prepareWorkspace(
  files: Files,
  layout: WorkspaceLayout,
  owner: WorkspaceOwner,
): Promise<PreparedWorkspace> {
  const found = await files.stat(layout.directory);
  const marker = found?.kind === "Directory" ? await readMarker(files, layout) : undefined;
  if (marker === owner.uid) return "Reused";

  if (await owner.used(found !== undefined)) {
    if (found?.kind !== "Directory") throw new WorkspaceLostError(lost(layout, "is gone"));
    // A link or file where our directory belongs.
    if (isFilesError(marker)) throw marker;
    if (marker !== undefined) throw new WorkspaceLostError(lost(layout, "belongs to another workspace of that name"));
    // A Run removed our files along with its own (`git clean -dfx` does that); the rest is still its data.
    await writeMarker(files, layout, owner.uid);
    return "Reused";
  }

  await files.remove(layout.directory);
  await files.makeDirectory(layout.directory);
  await writeMarker(files, layout, owner.uid);
  return found === undefined ? "Created" : "Emptied";
}

/** Removes exactly the directory of this workspace. Done already is not an error. */
export async function removeWorkspace(files: Files, layout: WorkspaceLayout): Promise<void> {
  await files.remove(layout.directory);
}

/** The UID in the marker, undefined without one, or what is wrong with its place. */
async function readMarker(files: Files, layout: WorkspaceLayout): Promise<string | FilesError | undefined> {
  try {
    return Buffer.from(await files.readFile(layout.uidMarker, maxUidBytes)).toString();
  } catch (error) {
    if (isFilesError(error, "Missing")) return undefined;
    if (isFilesError(error, "Unsafe", "WrongKind")) return error;
    throw error;
  }
}

async function writeMarker(files: Files, layout: WorkspaceLayout, uid: string): Promise<void> {
  await files.makeDirectory(layout.reserved);
  await files.writeFile(layout.uidMarker, Buffer.from(uid));
}

function lost(layout: WorkspaceLayout, what: string): string {
  return `the directory ${layout.directory} ${what}; its files cannot be had back, so create a new workspace`;
}

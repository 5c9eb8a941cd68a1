import type { RunLayout } from "#runtime/files/layout.ts";
import { isDirectoryName, runParents } from "#runtime/files/layout.ts";
import { type Files, isFilesError } from "#runtime/files/port.ts";

/** Far more Runs than one Pod ever holds at once. */
const maxRunDirectories = 100_000;

/**
 * Makes all directories of one attempt, and an empty outputs file. Doing it again starts afresh. Without a workspace the
 * working directory is emptied: an attempt never sees the files of the one before. With one, it must have been prepared.
 */
export async function prepareRun(files: Files, layout: RunLayout): Promise<void> {
  if (layout.workspace === undefined) {
    await files.remove(layout.workingDirectory);
    await files.makeDirectory(layout.workingDirectory);
  }
  await files.remove(layout.attemptDirectory);
  await files.makeDirectory(layout.attemptDirectory);
  await Promise.all([
    files.makeDirectory(layout.source),
    files.makeDirectory(layout.inputs),
    files.makeDirectory(layout.tmp),
    files.makeDirectory(layout.artifacts, 0o750),
    files.makeDirectory(layout.home),
    files.writeFile(layout.outputs, new Uint8Array()),
  ]);
}

/**
 * Removes what the Run has on this Pod, for all attempts. In a workspace nothing is removed: its files are its owner's
 * until the workspace goes.
 */
export async function removeRun(files: Files, layout: RunLayout): Promise<void> {
  if (layout.workspace !== undefined) return;
  await files.remove(layout.workingDirectory);
  await files.remove(layout.runDirectory);
}

/** UIDs of the Runs without a workspace that have files here: after a restart, those of unknown Runs are removed. */
export async function listRuns(files: Files): Promise<readonly string[]> {
  const uids = new Set<string>();
  for (const parent of runParents(files.root)) {
    try {
      for (const { name } of await files.list(parent, maxRunDirectories)) {
        if (isDirectoryName(name)) uids.add(name); // anything else was put there by a Run
      }
    } catch (error) {
      if (!isFilesError(error, "Missing")) throw error;
    }
  }
  return [...uids].sort();
}

/**
 * The outputs file, cut after `maxBytes`; empty when the Run removed it.
 *
 * @throws FilesError `Unsafe` or `WrongKind` when something else stands in its place.
 */
export async function readOutputsFile(files: Files, layout: RunLayout, maxBytes: number): Promise<Uint8Array> {
  try {
    return await files.readFile(layout.outputs, maxBytes);
  } catch (error) {
    if (isFilesError(error, "Missing")) return new Uint8Array();
    throw error;
  }
}

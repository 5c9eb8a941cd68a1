import { createHash } from "node:crypto";
import { type Files, isFilesError } from "#runtime/files/port.ts";

/**
 * Notes of what was staged where and for whom, one small file for each destination. They let a later attempt of the same
 * step replace what an earlier one staged, and nothing else. A Run can forge them, but only about paths that it may write anyway.
 */

const maxRecordBytes = 16 * 1024;

/** Whether `owner` was the last to stage something at `path` (relative to the working directory). */
export async function stagedBy(files: Files, directory: string, path: string, owner: string): Promise<boolean> {
  try {
    const content = await files.readFile(recordFile(directory, path), maxRecordBytes);
    return Buffer.from(content).toString() === record(path, owner);
  } catch (error) {
    if (isFilesError(error, "Missing", "Unsafe", "WrongKind")) return false;
    throw error;
  }
}

export async function noteStaged(files: Files, directory: string, path: string, owner: string): Promise<void> {
  await files.makeDirectory(directory);
  await files.writeFile(recordFile(directory, path), Buffer.from(record(path, owner)));
}

function record(path: string, owner: string): string {
  return `${JSON.stringify({ path, owner })}\n`;
}

/** Destinations have slashes and can be long, so the file is named by their hash. */
function recordFile(directory: string, path: string): string {
  return `${directory}/${createHash("sha256").update(path).digest("hex")}`;
}

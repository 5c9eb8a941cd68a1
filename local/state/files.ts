import { readFileSync, renameSync, writeFileSync } from "node:fs";

/** Small files of a state directory; readable by their owner only. */

/** The text of a file; undefined when there is none. */
export function readText(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

/** Replaces a file as a whole: readers see the old or the new text, never half of it. */
export function writePrivate(file: string, text: string): void {
  const fresh = `${file}.new`;
  writeFileSync(fresh, text, { mode: 0o600, flush: true });
  renameSync(fresh, file);
}

import { closeSync, openSync, writeSync } from "node:fs";
import type { LineFiles } from "./pod-logs.ts";

/** Log files kept open for appending; {@link close} releases them. */
export class FileLines implements LineFiles {
  readonly #open = new Map<string, number>();

  append(path: string, line: string): void {
    let file = this.#open.get(path);
    if (file === undefined) {
      file = openSync(path, "a", 0o600);
      this.#open.set(path, file);
    }
    // Written at once: what was printed before a crash of this process is in the file.
    writeSync(file, `${line}\n`);
  }

  releaseBelow(directory: string): void {
    for (const [path, file] of this.#open) {
      if (!path.startsWith(`${directory}/`)) continue;
      closeSync(file);
      this.#open.delete(path);
    }
  }

  close(): void {
    for (const file of this.#open.values()) closeSync(file);
    this.#open.clear();
  }
}

import type { LogRecord } from "#api/log-record.ts";
import { recordsOf } from "#api/record-line.ts";
import type { Cancel } from "#kube/ports.ts";

/** Appends to logs; the adapter is `file-lines.ts`. */
export interface LineFiles {
  /** @param lines whole lines with their ends */
  append(path: string, lines: Uint8Array): void;
  /** Lets go of the files below a directory that is removed; for adapters that keep files open. */
  releaseBelow?(directory: string): void;
}

/**
 * What the agents of all Pods print: kept in files for each container, as the kubelet does, and handed on live to
 * those who follow a Run.
 */
export class PodLogs {
  readonly #files: LineFiles;
  readonly #followers = new Set<(record: LogRecord) => void>();
  readonly #readers = new Map<string, Set<() => void>>();

  constructor(files: LineFiles) {
    this.#files = files;
  }

  /** Takes whole lines that a container printed. */
  take(path: string, lines: Uint8Array): void {
    this.#files.append(path, lines);
    for (const grown of this.#readers.get(path) ?? []) grown();
    if (this.#followers.size === 0) return;
    for (const line of Buffer.from(lines).toString("utf8").split("\n")) {
      for (const record of recordsOf(line)) {
        if (record.last) continue;
        for (const follow of this.#followers) follow(record);
      }
    }
  }

  /** Calls `follower` with every record of every Run from now on; not with the marks at the end of attempts. */
  follow(follower: (record: LogRecord) => void): Cancel {
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }

  /** Calls `grown` whenever lines were appended to a file. */
  onGrowth(path: string, grown: () => void): Cancel {
    const readers = this.#readers.get(path) ?? new Set();
    this.#readers.set(path, readers);
    const reader = () => grown();
    readers.add(reader);
    return () => {
      readers.delete(reader);
      if (readers.size === 0 && this.#readers.get(path) === readers) this.#readers.delete(path);
    };
  }

  /** Nothing below the directory is printed any more: its Pod is gone. */
  releaseBelow(directory: string): void {
    this.#files.releaseBelow?.(directory);
  }
}

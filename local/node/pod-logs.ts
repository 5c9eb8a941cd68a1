import { decodeRecord, type LogRecord } from "#api/log-record.ts";
import type { Cancel } from "#kube/ports.ts";

/** Appends lines to files; the adapter is `file-lines.ts`. */
export interface LineFiles {
  append(path: string, line: string): void;
}

/**
 * What the agents of all Pods print: kept in one file for each container, as the kubelet does, and handed on live to
 * those who follow a Run.
 */
export class PodLogs {
  readonly #files: LineFiles;
  readonly #followers = new Set<(record: LogRecord) => void>();

  constructor(files: LineFiles) {
    this.#files = files;
  }

  /** Takes one line that a container printed. */
  take(path: string, line: string): void {
    this.#files.append(path, line);
    if (this.#followers.size === 0) return;
    const record = decodeRecord(line);
    if (record === undefined) return;
    for (const follow of this.#followers) follow(record);
  }

  /** Calls `follower` with every record of every Run from now on. */
  follow(follower: (record: LogRecord) => void): Cancel {
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }
}

import { closeSync, fstatSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { defaultLogLimits, endOf, type LogLimits, logSegments, rotatedPath } from "./log-segments.ts";
import type { LineFiles } from "./pod-logs.ts";

interface OpenFile {
  readonly descriptor: number;
  /** Bytes of the log before this file. */
  readonly start: number;
  size: number;
  /** A write failed within a line: what comes next begins another one. */
  isBroken: boolean;
}

const newline = Buffer.from("\n");

/**
 * Logs in files that are kept open for appending; {@link close} releases them. A file that is full is set aside and the oldest is
 * removed, so a log takes so much room and no more.
 */
export class FileLines implements LineFiles {
  readonly #open = new Map<string, OpenFile>();
  readonly #limits: LogLimits;

  constructor(limits = defaultLogLimits) {
    this.#limits = limits;
  }

  append(path: string, lines: Uint8Array): void {
    let file = this.#open.get(path) ?? this.#openFile(path);
    if (file.size > 0 && file.size + lines.length > this.#limits.fileBytes) file = this.#rotate(path, file);
    // Written at once: what was printed before a crash of this process is in the file.
    if (file.isBroken) write(file, newline);
    write(file, lines);
  }

  releaseBelow(directory: string): void {
    for (const [path, { descriptor }] of this.#open) {
      if (!path.startsWith(`${directory}/`)) continue;
      closeSync(descriptor);
      this.#open.delete(path);
    }
  }

  close(): void {
    for (const { descriptor } of this.#open.values()) closeSync(descriptor);
    this.#open.clear();
  }

  #openFile(path: string): OpenFile {
    const start = endOf(logSegments(path).filter((segment) => segment.path !== path));
    const descriptor = openSync(path, "a", 0o600);
    const file = { descriptor, start, size: fstatSync(descriptor).size, isBroken: false };
    this.#open.set(path, file);
    return file;
  }

  #rotate(path: string, { descriptor, start }: OpenFile): OpenFile {
    closeSync(descriptor);
    this.#open.delete(path);
    renameSync(path, rotatedPath(path, start));
    const next = this.#openFile(path);
    for (const old of logSegments(path).slice(0, -this.#limits.files)) rmSync(old.path, { force: true });
    return next;
  }
}

function write(file: OpenFile, bytes: Uint8Array): void {
  file.isBroken = true;
  for (let at = 0; at < bytes.length; ) {
    const count = writeSync(file.descriptor, bytes, at);
    file.size += count;
    at += count;
  }
  file.isBroken = false;
}

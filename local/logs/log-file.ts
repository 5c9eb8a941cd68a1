import { closeSync, fstatSync, openSync, read, readSync, statSync } from "node:fs";
import { exists, logSegments } from "../node/log-segments.ts";
import type { LogFile, LogFiles } from "./line-file.ts";

/** Up to this many bytes are read at once on the spot: the end of a log was written a moment ago and is in memory. */
const directBytes = 64 * 1024;

/** Logs in files of this machine, for reading. What was open stays readable when it is removed. */
export const systemLogFiles: LogFiles = {
  open: (path) => (exists(path) ? new SystemLogFile(path) : undefined),
  // What a process had written to its pipe is readable now; one whole turn of the event loop takes it in.
  pipesDrained: () => new Promise((resolve) => setImmediate(() => setImmediate(resolve))),
};

/** One log; its files are opened as it goes on to them. The process that writes is this one, so nothing changes within a call. */
class SystemLogFile implements LogFile {
  readonly #path: string;
  #segments: Segment[] = [];
  #closed = false;

  constructor(path: string) {
    this.#path = path;
    this.#goOn();
  }

  start(): number {
    return this.#goOn()[0]?.start ?? 0;
  }

  size(): number {
    const last = this.#goOn().at(-1);
    return last === undefined ? 0 : last.start + last.size();
  }

  async read(from: number, to: number): Promise<Buffer> {
    const segments = this.#goOn();
    const parts: Buffer[] = [];
    for (const [index, segment] of segments.entries()) {
      const end = Math.min(to, segments[index + 1]?.start ?? Number.POSITIVE_INFINITY);
      const begin = Math.max(from, segment.start);
      if (begin >= end) continue;
      const part = await segment.read(begin, end);
      parts.push(part);
      // The end of the log, or of what is kept of it by now: nothing is joined over a gap.
      if (part.length < end - begin) break;
    }
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
  }

  close(): void {
    this.#closed = true;
    for (const segment of this.#segments) segment.close();
    this.#segments = [];
  }

  /** The files that the node keeps now; when the Pod is gone, those that were open. */
  #goOn(): readonly Segment[] {
    if (this.#closed) throw new Error("the log file is closed");
    const growing = statSync(this.#path, { throwIfNoEntry: false })?.ino;
    if (growing === undefined || growing === this.#segments.at(-1)?.inode) return this.#segments;
    const known = new Map(this.#segments.map((segment) => [segment.start, segment]));
    this.#segments = logSegments(this.#path).map(({ path, start }) => {
      const segment = known.get(start) ?? new Segment(openSync(path, "r"), start);
      known.delete(start);
      return segment;
    });
    for (const old of known.values()) old.close();
    return this.#segments;
  }
}

/** One file of a log. */
class Segment {
  readonly start: number;
  readonly inode: number;
  readonly #descriptor: number;
  #reads = 0;
  #closed = false;

  constructor(descriptor: number, start: number) {
    this.#descriptor = descriptor;
    this.start = start;
    this.inode = fstatSync(descriptor).ino;
  }

  size(): number {
    return fstatSync(this.#descriptor).size;
  }

  async read(from: number, to: number): Promise<Buffer> {
    if (this.#closed) return Buffer.alloc(0);
    const at = from - this.start;
    const buffer = Buffer.allocUnsafe(to - from);
    if (buffer.length <= directBytes)
      return buffer.subarray(0, readSync(this.#descriptor, buffer, 0, buffer.length, at));
    this.#reads++;
    try {
      return await new Promise((resolve, reject) => {
        read(this.#descriptor, buffer, 0, buffer.length, at, (error, count) => {
          if (error === null) resolve(buffer.subarray(0, count));
          else reject(error);
        });
      });
    } finally {
      this.#reads--;
      if (this.#closed) this.#release();
    }
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#release();
  }

  /** Not before reads under way are over: the number of a closed descriptor may be another file's. */
  #release(): void {
    if (this.#reads === 0) closeSync(this.#descriptor);
  }
}

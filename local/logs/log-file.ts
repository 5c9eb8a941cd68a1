import { closeSync, fstatSync, openSync, read, readSync } from "node:fs";
import type { LogFile, LogFiles } from "./line-file.ts";

/** Up to this many bytes are read at once on the spot: the end of a log was written a moment ago and is in memory. */
const directBytes = 64 * 1024;

/** Log files of this machine, for reading. An open one stays readable when it is removed. */
export const systemLogFiles: LogFiles = {
  open(path) {
    try {
      return new SystemLogFile(openSync(path, "r"));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  },
  // What a process had written to its pipe is readable now; one whole turn of the event loop takes it in.
  pipesDrained: () => new Promise((resolve) => setImmediate(() => setImmediate(resolve))),
};

class SystemLogFile implements LogFile {
  readonly #fd: number;
  #reads = 0;
  #closed = false;

  constructor(fd: number) {
    this.#fd = fd;
  }

  size(): number {
    this.#checkOpen();
    return fstatSync(this.#fd).size;
  }

  async read(from: number, to: number): Promise<Buffer> {
    this.#checkOpen();
    const buffer = Buffer.allocUnsafe(to - from);
    if (buffer.length <= directBytes) return buffer.subarray(0, readSync(this.#fd, buffer, 0, buffer.length, from));
    this.#reads++;
    try {
      return await new Promise((resolve, reject) => {
        read(this.#fd, buffer, 0, buffer.length, from, (error, count) => {
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
    if (this.#reads === 0) closeSync(this.#fd);
  }

  #checkOpen(): void {
    if (this.#closed) throw new Error("the log file is closed");
  }
}

import { RecordLine } from "#api/record-line.ts";
import { parseTime } from "#api/time.ts";
import { type LogBatch, type LogLine, type Position, PositionLostError } from "#extension-api/logs/ports.ts";
import type { Cancel } from "#kube/ports.ts";

/** A log that only grows, and loses its oldest lines; the adapter is `log-file.ts`. All places are counted from its first byte ever. */
export interface LogFile {
  /** Where the oldest line begins that is kept. */
  start(): number;
  /** Where it ends. */
  size(): number;
  /** The bytes from `from` up to but without `to`; fewer at the end. */
  read(from: number, to: number): Promise<Buffer>;
  close(): void;
}

export interface LogFiles {
  /** @returns undefined when there is no such file yet */
  open(path: string): LogFile | undefined;
  /** Resolves when everything is in the files that processes had printed before the call. */
  pipesDrained(): Promise<void>;
}

export interface FileLogOptions {
  readonly path: string;
  readonly files: LogFiles;
  readonly onGrowth: (fn: () => void) => Cancel;
}

const newline = 0x0a;

/** Bytes that are read at a time; backwards it grows from the smaller to the larger. */
const window = 64 * 1024;
const largestWindow = 1024 * 1024;

/**
 * The log of a container in files: positions are offsets of line starts. All methods that take a `prefix` skip lines that begin
 * otherwise without decoding them.
 */
export class FileLog {
  readonly #options: FileLogOptions;
  #file: LogFile | undefined;
  #closed = false;

  constructor(options: FileLogOptions) {
    this.#options = options;
    // Opened now, so that it stays readable when the Pod goes.
    this.#open();
  }

  /** The place after the last line there is. */
  async end(): Promise<Position> {
    const start = this.#start();
    let end = this.#size();
    // The process that writes may have been killed within a line.
    while (end > start) {
      const from = Math.max(start, end - window);
      const last = (await this.#read(from, end)).lastIndexOf(newline);
      if (last >= 0) return String(from + last + 1);
      end = from;
    }
    return String(start);
  }

  /** When the oldest line that is kept was printed, in milliseconds since the epoch; undefined for one that does not say. */
  async beginsMs(): Promise<number | undefined> {
    const start = this.#start();
    const bytes = await this.#read(start, Math.min(start + window, this.#size()));
    return timeAt(bytes, 0);
  }

  /** Whether lines can be read on from there without a gap. */
  async has(position: Position): Promise<boolean> {
    const offset = isOffset(position) ? Number(position) : -1;
    const start = this.#start();
    if (offset === start) return true;
    if (offset < start || offset > this.#size()) return false;
    return (await this.#read(offset - 1, offset))[0] === newline;
  }

  /** The lines before `end`, newest batch first; those older than `sinceMs` may be left out. */
  async *backwards(prefix: Buffer, end: Position, sinceMs: number): AsyncGenerator<readonly LogLine[]> {
    let to = Number(end);
    for (let size = window; ; size = Math.min(2 * size, largestWindow)) {
      const start = this.#start();
      if (to <= start) return;
      const from = Math.max(start, to - size);
      const bytes = await this.#read(from, to);
      // The first line has its beginning in an earlier window, unless the file begins here.
      const first = from === start ? 0 : bytes.indexOf(newline) + 1;
      if (from > start && (first === 0 || first === bytes.length)) {
        if (size === largestWindow) to = from; // no line of ours is so long
        continue;
      }
      const lines = linesOf(bytes, first, from, prefix).lines;
      if (lines.length > 0) yield lines;
      if (isOlder(bytes, first, sinceMs)) return;
      to = from + first;
    }
  }

  /**
   * The lines from a place (default: from the oldest) to the end there is now; where the place is not kept any more, those that are.
   * @throws PositionLostError where no line begins
   */
  async *forwards(prefix: Buffer, from: Position | undefined): AsyncGenerator<LogBatch> {
    const start = this.#start();
    const isRemoved = from !== undefined && isOffset(from) && Number(from) < start;
    if (from !== undefined && !isRemoved && !(await this.has(from))) {
      throw new PositionLostError("no line of the log begins at the cursor");
    }
    let offset = Math.max(start, Number(from ?? 0));
    const end = this.#size();
    for (let size = window; offset < end; ) {
      // What is removed while it is read is passed over.
      offset = Math.max(offset, this.#start());
      const bytes = await this.#read(offset, Math.min(end, offset + size));
      const { lines, length } = linesOf(bytes, 0, offset, prefix);
      if (length === 0) {
        if (bytes.length === 0 || offset + bytes.length >= end) return; // a line that is still being written
        size *= 2;
        continue;
      }
      size = window;
      offset += length;
      yield { lines, end: String(offset) };
    }
  }

  onGrowth(fn: () => void): Cancel {
    return this.#options.onGrowth(fn);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#file?.close();
    this.#file = undefined;
  }

  #open(): LogFile | undefined {
    if (this.#closed) throw new Error("the log is closed");
    this.#file ??= this.#options.files.open(this.#options.path);
    return this.#file;
  }

  #start(): number {
    return this.#open()?.start() ?? 0;
  }

  #size(): number {
    return this.#open()?.size() ?? 0;
  }

  async #read(from: number, to: number): Promise<Buffer> {
    return (await this.#open()?.read(from, to)) ?? Buffer.alloc(0);
  }
}

const isOffset = (position: Position): boolean => /^\d{1,15}$/.test(position);

/**
 * The whole lines in `bytes` from `start` on that begin with the prefix, and the length of all whole lines.
 * @param offset of `bytes` in the file
 */
function linesOf(
  bytes: Buffer,
  start: number,
  offset: number,
  prefix: Buffer,
): { readonly lines: LogLine[]; readonly length: number } {
  const lines: LogLine[] = [];
  let from = start;
  for (let end = bytes.indexOf(newline, from); end >= 0; end = bytes.indexOf(newline, from)) {
    if (bytes.compare(prefix, 0, prefix.length, from, Math.min(end, from + prefix.length)) === 0) {
      const text = bytes.toString("utf8", from, end);
      lines.push({ text, begin: String(offset + from), end: String(offset + end + 1) });
    }
    from = end + 1;
  }
  return { lines, length: from - start };
}

/** Whether the first line of a window is a record from before that time: then everything above it is older still. */
function isOlder(bytes: Buffer, first: number, sinceMs: number): boolean {
  const time = timeAt(bytes, first);
  return time !== undefined && time < sinceMs;
}

/** The time of the record whose line begins there. */
function timeAt(bytes: Buffer, start: number): number | undefined {
  const end = bytes.indexOf(newline, start);
  return end < 0 ? undefined : parseTime(RecordLine.read(bytes.toString("utf8", start, end))[0]?.time);
}

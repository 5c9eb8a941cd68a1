import { recordOpening } from "#api/log-record.ts";
import type { LogLine } from "../logs/ports.ts";
import { positionOf, type StoredAt } from "./position.ts";
import { StoredClock } from "./stored-clock.ts";

const newline = 0x0a;
const space = 0x20;
const quote = 0x22;
const opening = Buffer.from(recordOpening);

/** Nothing that we want is longer, in bytes: a record has at most 16 KiB, the time before it 35. Longer lines are skipped. */
const longestLine = 64 * 1024;

/** Container runtimes cut lines into parts of 8 KiB or more; half of that is taken. */
const partBits = 12;

/** Where the text begins after a time in UTC, by far the most frequent one: `2006-01-02T15:04:05.000000000Z `. */
const afterUtcTime = 31;
const longestTime = 36;

/** A line of records as it is stored; its text is made when somebody asks for it. */
export class StoredLine implements LogLine, StoredAt {
  readonly run: string;
  readonly time: string;
  readonly nth: number;
  /** In bytes. */
  readonly size: number;
  #data: Buffer | undefined;
  readonly #start: number;
  readonly #before: StoredAt;
  #text = "";

  /**
   * @param before the place of the record before it; nth 0 where there is none
   * @param data has the record at `start`, `size` bytes long; it is kept until somebody asks for the text
   */
  constructor(run: string, at: StoredAt, before: StoredAt, data: Buffer, start: number, size: number) {
    this.run = run;
    this.time = at.time;
    this.nth = at.nth;
    this.size = size;
    this.#before = before;
    this.#data = data;
    this.#start = start;
  }

  get text(): string {
    if (this.#data !== undefined) {
      this.#text = this.#data.toString("utf8", this.#start, this.#start + this.size);
      this.#data = undefined;
    }
    return this.#text;
  }

  get begin(): string | undefined {
    return this.#before.nth === 0 ? undefined : positionOf(this.#before);
  }

  get end(): string {
    return positionOf(this);
  }
}

/**
 * Finds the records in what `pods/log` sends with `timestamps=true`, whatever the pieces are in which it arrives. All other
 * lines are words of the agent itself (its stderr comes in the same stream, and not quite in order): they count for nothing.
 */
export class StoredLines {
  #rest: Buffer = Buffer.alloc(0);
  /** The beginning of a line that is too long was dropped: so is its end. */
  #skipping = false;
  /** The place of the latest record. */
  #last: StoredAt = { time: "", nth: 0 };
  /** The UID that was met last: records of one Run come in runs. */
  #run = "";
  #runBytes = Buffer.alloc(0);
  readonly #clock = new StoredClock();
  /** At least as many as the lines in the files of the container runtime, which cuts long ones into parts. */
  parts = 0;

  push(piece: Buffer): StoredLine[] {
    const data = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
    const found: StoredLine[] = [];
    let start = 0;
    for (let end = data.indexOf(newline); end >= 0; end = data.indexOf(newline, start)) {
      this.parts += 1 + ((end - start) >> partBits);
      if (this.#skipping) this.#skipping = false;
      else this.#take(data, start, end, found);
      start = end + 1;
    }
    this.#rest = data.subarray(start);
    if (this.#rest.length > longestLine) {
      this.parts += this.#rest.length >> partBits;
      this.#rest = Buffer.alloc(0);
      this.#skipping = true;
    }
    return found;
  }

  #take(data: Buffer, start: number, end: number, found: StoredLine[]): void {
    const text = data[start + afterUtcTime - 1] === space ? start + afterUtcTime : afterTime(data, start, end);
    const uid = text + opening.length;
    if (uid >= end || data.compare(opening, 0, opening.length, text, uid) !== 0) return;
    if (!this.#takeRun(data, uid, end)) return;
    const time = this.#clock.read(data, start, text - 1);
    if (time === undefined) return;
    const before = this.#last;
    this.#last = { time, nth: time === before.time ? before.nth + 1 : 1 };
    found.push(new StoredLine(this.#run, this.#last, before, data, text, end - text));
  }

  /** @returns whether there is a UID in quotes */
  #takeRun(data: Buffer, start: number, lineEnd: number): boolean {
    const last = this.#runBytes;
    const lastEnd = start + last.length;
    if (last.length > 0 && lastEnd <= lineEnd && data.compare(last, 0, last.length, start, lastEnd) === 0) return true;
    const end = data.indexOf(quote, start);
    if (end < 0 || end >= lineEnd) return false;
    this.#run = data.toString("latin1", start, end);
    this.#runBytes = Buffer.from(`${this.#run}"`);
    return true;
  }
}

function afterTime(data: Buffer, start: number, end: number): number {
  const at = data.subarray(start, Math.min(end, start + longestTime)).indexOf(space);
  return at < 0 ? end : start + at + 1;
}

import { encodeRecord, type LogRecord, maxLineBytes, recordHead } from "./log-record.ts";

/**
 * The lines for records, newlines included. Whole lines of one stream that came together share a line, as far as it goes: 1 MB of
 * lines of 100 bytes takes node, container runtime and API server 250 ms of CPU when each has a line of its own, and 95 ms so. A
 * shared line has `messages` in place of `message`; `seq` is that of the first, `end` that of the last.
 *
 * @throws RangeError as {@link encodeRecord} does
 */
export function encodeRecords(records: readonly LogRecord[]): string {
  const batch = new Batch();
  let lines = "";
  for (const record of records) if (!batch.add(record)) lines += batch.startWith(record);
  return lines + batch.take();
}

/** Around the messages, with the largest `end` there can be. */
const opening = '"messages":[';
const closingBytes = `],"end":${Number.MAX_SAFE_INTEGER}}\n`.length;

/** Records that will share a line. */
class Batch {
  #first: LogRecord | undefined;
  #head = "";
  #messages = "";
  #count = 0;
  /** Of the newest record. */
  #end = 0;
  /** Bytes that may still be added. */
  #room = 0;

  /** @returns false when the record has to have another line */
  add(record: LogRecord): boolean {
    const first = this.#first;
    if (first === undefined || record.seq !== first.seq + this.#count || !isShareable(record)) return false;
    if (record.time !== first.time || record.stream !== first.stream) return false;
    if (record.run !== first.run || record.attempt !== first.attempt) return false;
    const json = JSON.stringify(record.message);
    const bytes = Buffer.byteLength(json) + 1;
    // What was masked is as long as its mask in the line, but not in the stream: its record tells its own end.
    if (bytes > this.#room || record.end !== this.#end + Buffer.byteLength(record.message) + 1) return false;
    this.#messages += `,${json}`;
    this.#count++;
    this.#room -= bytes;
    this.#end = record.end;
    return true;
  }

  /** @returns the line of what was added before */
  startWith(record: LogRecord): string {
    const line = this.take();
    this.#first = record;
    this.#count = 1;
    if (!isShareable(record)) {
      this.#room = 0;
      return line;
    }
    this.#head = recordHead(record) + opening;
    this.#messages = JSON.stringify(record.message);
    this.#end = record.end ?? 0;
    this.#room = maxLineBytes - this.#head.length - Buffer.byteLength(this.#messages) - closingBytes;
    return line;
  }

  /** The line; empty when nothing was added. */
  take(): string {
    const first = this.#first;
    this.#first = undefined;
    if (first === undefined) return "";
    return this.#count === 1 ? encodeRecord(first) : `${this.#head}${this.#messages}],"end":${this.#end}}\n`;
  }
}

/** Whether a record is a line of text, whole and with a known end, so that nothing has to be said of it alone. */
const isShareable = ({ partial, encoding, last, end, stream }: LogRecord): boolean =>
  stream !== "system" && end !== undefined && !partial && encoding === undefined && !last;

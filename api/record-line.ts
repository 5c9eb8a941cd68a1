import { encodeRecord, type LogRecord, type LogStream, recordOpening } from "./log-record.ts";

const backslash = 0x5c;

/**
 * A record in the line that holds it. What is asked of every record is read from the line as it stands; the message is not: it is
 * handed on in the form that it has, which is JSON already.
 */
export class RecordLine {
  readonly run: string;
  readonly attempt: number;
  readonly seq: number;
  readonly time: string;
  readonly stream: LogStream;
  readonly end: number | undefined;
  readonly last: boolean;
  /** JSON of what the record shows, without the braces: all but the Run's UID, `end` and `last`. */
  readonly members: string;
  /** Bytes that the Run wrote: the message and, unless the line goes on, its newline. */
  readonly bytes: number;

  private constructor(head: Head, seq: number, members: string, bytes: number, end: number | undefined, last: boolean) {
    this.run = head.run;
    this.attempt = head.attempt;
    this.seq = seq;
    this.time = head.time;
    this.stream = head.stream;
    this.members = members;
    this.bytes = bytes;
    this.end = end;
    this.last = last;
  }

  /**
   * Reads the records of a line, with or without its newline; none of anything else. The members have to be in the order in which
   * they are written by `encodeRecords`, since nobody else does.
   */
  static read(line: string): readonly RecordLine[] {
    const scan = new Scan(line);
    const head = headOf(scan);
    if (head === undefined) return [];
    if (scan.pass(',"messages":[')) return RecordLine.#readShared(scan, head);
    const record = RecordLine.#readAlone(scan, head);
    return record === undefined ? [] : [record];
  }

  static #readAlone(scan: Scan, head: Head): RecordLine | undefined {
    if (!scan.pass(',"message":')) return undefined;
    const message = scan.string();
    if (message === undefined) return undefined;
    const partial = scan.pass(',"partial":true');
    const base64 = scan.pass(',"encoding":"base64"');
    const members = scan.from(head.membersAt);
    const end = scan.number(',"end":') || undefined;
    const last = scan.pass(',"last":true');
    if (!scan.pass("}") || !scan.isAtLineEnd) return undefined;
    const bytes = (base64 ? Buffer.byteLength(message, "base64") : textBytes(message)) + (partial ? 0 : 1);
    return new RecordLine(head, head.seq, members, bytes, end, last);
  }

  /** Several records that have all but `seq`, message and `end` in common, and follow each other in their stream. */
  static #readShared(scan: Scan, head: Head): RecordLine[] {
    const messages: string[] = [];
    do {
      const message = scan.string();
      if (message === undefined) return [];
      messages.push(message);
    } while (scan.pass(","));
    const lastEnd = scan.pass("]") ? scan.number(',"end":') : 0;
    if (lastEnd === 0 || !scan.pass("}") || !scan.isAtLineEnd) return [];
    const sizes = messages.map((message) => textBytes(message) + 1);
    let end = lastEnd - sizes.reduce((sum, size) => sum + size, 0);
    if (end < 0) return [];
    const before = `"attempt":${head.attempt},"seq":`;
    const after = `,"time":"${head.time}","stream":"${head.stream}","message":"`;
    return messages.map((message, index) => {
      const seq = head.seq + index;
      const bytes = sizes[index] ?? 0;
      end += bytes;
      return new RecordLine(head, seq, `${before}${seq}${after}${message}"`, bytes, end, false);
    });
  }

  /** The same of a record that has no line yet. */
  static of(record: LogRecord): RecordLine {
    return RecordLine.read(encodeRecord(record))[0] as RecordLine;
  }

  record(): LogRecord {
    const record = JSON.parse(`{${this.members}}`) as Omit<LogRecord, "run">;
    const { run, end, last } = this;
    return { run, ...record, ...(end !== undefined && { end }), ...(last && { last }) };
  }
}

/** The records of a line, with or without its newline; none of anything else. */
export const recordsOf = (line: string): readonly LogRecord[] => RecordLine.read(line).map((record) => record.record());

/** What comes before the message, or the messages. */
interface Head {
  readonly run: string;
  readonly attempt: number;
  readonly seq: number;
  readonly time: string;
  readonly stream: LogStream;
  readonly membersAt: number;
}

function headOf(scan: Scan): Head | undefined {
  const run = scan.text(recordOpening);
  if (run === "" || !scan.pass(",")) return undefined;
  const membersAt = scan.at;
  const attempt = scan.number('"attempt":');
  const seq = scan.number(',"seq":');
  const time = scan.text(',"time":"');
  const stream = streamOf(scan);
  if (attempt === 0 || seq === 0 || time === "" || stream === undefined) return undefined;
  return { run, attempt, seq, time, stream, membersAt };
}

function streamOf(scan: Scan): LogStream | undefined {
  if (scan.pass(',"stream":"stdout"')) return "stdout";
  if (scan.pass(',"stream":"stderr"')) return "stderr";
  return scan.pass(',"stream":"system"') ? "system" : undefined;
}

/** Bytes of a text that is written as a JSON string. */
function textBytes(json: string): number {
  let bytes = Buffer.byteLength(json);
  // Each escape stands for one byte: other characters than quotes, backslashes and controls are written as they are.
  for (let at = json.indexOf("\\"); at >= 0; ) {
    const length = json[at + 1] === "u" ? 6 : 2;
    bytes -= length - 1;
    at = json.indexOf("\\", at + length);
  }
  return bytes;
}

/** Goes through a line; what does not fit is not passed. */
class Scan {
  at = 0;
  readonly #line: string;

  constructor(line: string) {
    this.#line = line;
  }

  /** What was passed since a place. */
  from(start: number): string {
    return this.#line.slice(start, this.at);
  }

  pass(text: string): boolean {
    const fits = this.#line.startsWith(text, this.at);
    if (fits) this.at += text.length;
    return fits;
  }

  /** @returns the positive whole number after a text; 0 when there is none */
  number(before: string): number {
    if (!this.pass(before)) return 0;
    let value = 0;
    for (;;) {
      const digit = this.#line.charCodeAt(this.at) - 0x30;
      if (!(digit >= 0 && digit <= 9)) return Number.isSafeInteger(value) ? value : 0;
      value = value * 10 + digit;
      this.at++;
    }
  }

  /** @returns what stands between a text and the next quote; empty when there is nothing */
  text(before: string): string {
    if (!this.pass(before)) return "";
    const start = this.at;
    const end = this.#line.indexOf('"', start);
    if (end < 0) return "";
    this.at = end + 1;
    return this.#line.slice(start, end);
  }

  /** @returns what is between the quotes of a JSON string, as it is written; undefined when there is none */
  string(): string | undefined {
    if (!this.pass('"')) return undefined;
    const start = this.at;
    for (let end = this.#line.indexOf('"', start); end >= 0; end = this.#line.indexOf('"', end + 1)) {
      let escapes = 0;
      while (this.#line.charCodeAt(end - 1 - escapes) === backslash) escapes++;
      if (escapes % 2 === 1) continue;
      this.at = end + 1;
      return this.#line.slice(start, end);
    }
    return undefined;
  }

  get isAtLineEnd(): boolean {
    return this.at === this.#line.length || (this.at === this.#line.length - 1 && this.#line.endsWith("\n"));
  }
}

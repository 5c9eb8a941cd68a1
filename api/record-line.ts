import { decodeRecord, encodeRecord, type LogRecord, type LogStream, recordOpening } from "./log-record.ts";

const backslash = 0x5c;

/**
 * A record in the line that holds it. What is asked of every record is read from the line as it stands; the message is not: it is
 * handed on in the form that it has, which is JSON already.
 */
export class RecordLine {
  attempt = 0;
  seq = 0;
  time = "";
  stream: LogStream = "system";
  end: number | undefined;
  last = false;
  /** JSON of what the record shows, without the braces: all but the Run's UID, `end` and `last`. */
  members = "";
  #line = "";
  #messageStart = 0;
  #messageEnd = 0;
  #partial = false;
  #base64 = false;

  private constructor() {}

  /**
   * Reads the line of a record, with or without its newline; undefined for anything else. The members have to be in the order in
   * which {@link encodeRecord} writes them, since nobody else does.
   */
  static read(line: string): RecordLine | undefined {
    const record = new RecordLine();
    return record.#read(line) ? record : undefined;
  }

  /** The same of a record that has no line yet. */
  static of(record: LogRecord): RecordLine {
    return RecordLine.read(encodeRecord(record)) as RecordLine;
  }

  /** Bytes that the Run wrote: the message and, unless the line goes on, its newline. */
  bytes(): number {
    const text = this.#line.slice(this.#messageStart, this.#messageEnd);
    return (this.#base64 ? Buffer.byteLength(text, "base64") : textBytes(text)) + (this.#partial ? 0 : 1);
  }

  record(): LogRecord {
    return decodeRecord(this.#line) as LogRecord;
  }

  #read(line: string): boolean {
    const runEnd = line.startsWith(recordOpening) ? line.indexOf('"', recordOpening.length) : -1;
    if (runEnd < 0) return false;
    const membersStart = runEnd + 2;
    const scan = new Scan(line, membersStart);
    this.#line = line;
    this.attempt = scan.number('"attempt":');
    this.seq = scan.number(',"seq":');
    this.time = scan.text(',"time":"');
    const stream = streamOf(scan);
    if (this.attempt === 0 || this.seq === 0 || this.time === "" || stream === undefined) return false;
    this.stream = stream;
    if (!scan.pass(',"message":"')) return false;
    this.#messageStart = scan.at;
    if (!scan.endOfString()) return false;
    this.#messageEnd = scan.at - 1;
    this.#partial = scan.pass(',"partial":true');
    this.#base64 = scan.pass(',"encoding":"base64"');
    this.members = line.slice(membersStart, scan.at);
    this.end = scan.number(',"end":') || undefined;
    this.last = scan.pass(',"last":true');
    return scan.pass("}") && scan.isAtLineEnd;
  }
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
  at: number;
  readonly #line: string;

  constructor(line: string, at: number) {
    this.#line = line;
    this.at = at;
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

  /** Passes the rest of a JSON string, its closing quote included. */
  endOfString(): boolean {
    for (let end = this.#line.indexOf('"', this.at); end >= 0; end = this.#line.indexOf('"', end + 1)) {
      let escapes = 0;
      while (this.#line.charCodeAt(end - 1 - escapes) === backslash) escapes++;
      if (escapes % 2 === 1) continue;
      this.at = end + 1;
      return true;
    }
    return false;
  }

  get isAtLineEnd(): boolean {
    return this.at === this.#line.length || (this.at === this.#line.length - 1 && this.#line.endsWith("\n"));
  }
}

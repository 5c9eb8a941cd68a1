/**
 * One record of a Run's log. The agent prints records on its stdout, one or several a line (`log-lines.ts`); the kubelet stores the
 * lines, the log API reads them back (`record-line.ts`). Nothing here does input or output.
 */

export type LogStream = "stdout" | "stderr" | "system";

export interface LogRecord {
  /** UID of the Run. It comes first in the line, so that foreign records are skipped without parsing them. */
  readonly run: string;
  /** Attempt of the Run, from 1. */
  readonly attempt: number;
  /** Position in the log of this attempt, from 1 without gaps over all streams: a gap means that records were lost. */
  readonly seq: number;
  /** RFC 3339 with microseconds (see `timestamp` in time.ts): when the agent saw the end of the message. */
  readonly time: string;
  /** `system` records are the platform's own words, never output of the Run. */
  readonly stream: LogStream;
  /** Text of the line without its newline; base64 text when `encoding` says so. */
  readonly message: string;
  /** The line goes on in the next record of the same stream; or, in the last record, it had no newline at its end. */
  readonly partial?: true;
  /** Present when the bytes are not UTF-8. */
  readonly encoding?: "base64";
  /**
   * Bytes that the program had written to the stream up to the end of this record. An agent that is started again prints
   * anew what it does not know to have been printed; by this, readers tell (`log-repeats.ts`). Absent in `system` records.
   */
  readonly end?: number;
  /** A `system` record without a message: the attempt prints nothing more. */
  readonly last?: true;
}

/**
 * Longest line in bytes, newline included. Container runtimes cut container log lines at 16 KiB, and a record that is cut
 * could not be parsed.
 */
export const maxLineBytes = 16 * 1024 - 1;

/**
 * Room for the message inside a line, in bytes, after JSON escaping (or base64) and without its quotes. The other fields
 * need at most 235 bytes with a UID of 63 characters, so 512 are kept for them.
 */
export const maxMessageBytes = maxLineBytes - 512;

/** What every record's line starts with. */
export const recordOpening = '{"run":"';
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const uidPattern = /^[A-Za-z0-9._-]{1,63}$/;

/** What every line of that Run's records starts with, and no other line does. */
export function linePrefix(runUid: string): string {
  return `${recordOpening}${runUid}",`;
}

/**
 * The line for a record, newline included.
 *
 * @throws RangeError when the record would not fit into {@link maxLineBytes}: the splitter cuts messages before.
 */
export function encodeRecord(record: LogRecord): string {
  const tail = `${record.partial ? ',"partial":true' : ""}${record.encoding ? `,"encoding":"${record.encoding}"` : ""}${record.end === undefined ? "" : `,"end":${record.end}`}${record.last ? ',"last":true' : ""}}\n`;
  const line = `${recordHead(record)}"message":${JSON.stringify(record.message)}${tail}`;
  if (Buffer.byteLength(line) > maxLineBytes) {
    throw new RangeError(`a log record of ${Buffer.byteLength(line)} bytes is over ${maxLineBytes}; cut its message`);
  }
  return line;
}

/** What comes before the message. */
export function recordHead({ run, attempt, seq, time, stream }: Omit<LogRecord, "message">): string {
  if (!uidPattern.test(run)) throw new RangeError(`"${run}" is not the UID of a Run`);
  return `${linePrefix(run)}"attempt":${attempt},"seq":${seq},"time":"${time}","stream":"${stream}",`;
}

/** The bytes that the Run wrote: the message, and the newline unless the record is partial. */
export function recordBytes(record: LogRecord): Uint8Array {
  const end = record.partial ? "" : "\n";
  if (record.encoding === undefined) return Buffer.from(record.message + end);
  return Buffer.concat([Buffer.from(record.message, "base64"), Buffer.from(end)]);
}

/** Message and encoding for raw bytes: text when they are valid UTF-8, otherwise base64. */
export function encodeMessage(bytes: Uint8Array): { readonly message: string; readonly encoding?: "base64" } {
  try {
    return { message: utf8.decode(bytes) };
  } catch {
    return { message: Buffer.from(bytes).toString("base64"), encoding: "base64" };
  }
}

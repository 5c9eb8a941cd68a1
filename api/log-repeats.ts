import { encodeMessage, type LogRecord, type LogStream, recordBytes } from "./log-record.ts";

/** How many bytes of each stream of an attempt have been delivered. */
export interface StreamEnds {
  readonly stdout: number;
  readonly stderr: number;
}

export const nothingDelivered: StreamEnds = { stdout: 0, stderr: 0 };

/**
 * What of a record comes after everything that was delivered: all of it, a part, or undefined when it is a repetition.
 * A part of a record whose secrets were masked cannot be told, and is given whole.
 */
export function afterEnds(record: LogRecord, ends: StreamEnds): LogRecord | undefined {
  if (record.end === undefined || record.stream === "system") return record;
  const fresh = record.end - ends[record.stream];
  if (fresh <= 0) return undefined;
  // By far the most frequent: nothing was delivered before. It is told without making the bytes.
  if (fresh >= mostBytes(record)) return record;
  const bytes = recordBytes(record);
  return fresh >= bytes.length ? record : withBytes(record, bytes.subarray(bytes.length - fresh), record.partial);
}

/** What the record stands for has no more bytes. */
const mostBytes = ({ message }: LogRecord): number => Buffer.byteLength(message) + 1;

/** How much is delivered with a record, too. */
export function endsWith(
  record: { readonly stream: LogStream; readonly end?: number | undefined },
  ends: StreamEnds,
): StreamEnds {
  const { end, stream } = record;
  return end === undefined || stream === "system" || end <= ends[stream] ? ends : { ...ends, [stream]: end };
}

/** Lets the records of many Runs pass once, while they are printed. */
export class Once {
  readonly #delivered = new Map<string, { readonly attempt: number; readonly ends: StreamEnds }>();

  /** @returns what of the record is new; undefined when it is a repetition */
  take(record: LogRecord): LogRecord | undefined {
    const { run, attempt } = record;
    const last = this.#delivered.get(run);
    const ends = last?.attempt === attempt ? last.ends : nothingDelivered;
    this.#delivered.set(run, { attempt, ends: endsWith(record, ends) });
    return afterEnds(record, ends);
  }
}

/**
 * The same when a log is read backwards: what of a record comes before the part of its stream that is known.
 *
 * @param begin bytes of the stream before what is known
 */
export function beforeBegin(record: LogRecord, begin: number): LogRecord | undefined {
  if (record.end === undefined || record.end <= begin) return record;
  const bytes = recordBytes(record);
  const fresh = begin - (record.end - bytes.length);
  return fresh <= 0 ? undefined : { ...withBytes(record, bytes.subarray(0, fresh), true), end: begin };
}

/** Bytes of its stream before a record. */
export const beginOf = (record: LogRecord): number =>
  record.end === undefined ? 0 : record.end - recordBytes(record).length;

function withBytes(record: LogRecord, bytes: Uint8Array, partial: true | undefined): LogRecord {
  const { encoding: _, partial: __, ...rest } = record;
  const text = partial ? bytes : bytes.subarray(0, bytes.length - 1);
  return { ...rest, ...encodeMessage(text), ...(partial && { partial }) };
}

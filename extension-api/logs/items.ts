import type { LogRecord, LogStream } from "#api/log-record.ts";
import type { ApiStatus } from "#api/meta.ts";

/** One record of a Run's log, as the API hands it out. */
export interface LogItem {
  /** Attempt of the Run, from 1. */
  readonly attempt: number;
  /** Position in the log of the attempt, as in {@link LogRecord}; absent in words of the log service itself. */
  readonly seq?: number;
  /** RFC 3339 with microseconds. */
  readonly time: string;
  /** `system` records are the platform's words, never output of the Run. */
  readonly stream: LogStream;
  /** The line without its newline; base64 text when `encoding` says so. */
  readonly message: string;
  /** The line goes on in the next record of the same stream, or it was the last one and had no newline. */
  readonly partial?: true;
  readonly encoding?: "base64";
  /** On the last record of a stream that ended before the Run's log did: why. */
  readonly status?: ApiStatus;
  /** Opaque; passed back, it continues after this record. Present when the log is followed. */
  readonly cursor?: string;
}

/** Answer to a request that does not follow. */
export interface LogSnapshot {
  readonly items: readonly LogItem[];
  /** Opaque; passed back, it continues after the last item. */
  readonly cursor: string;
}

/** The record without the Run's UID: the caller named the Run. */
export function itemOf(record: LogRecord): LogItem {
  const { run: _, end: __, last: ___, ...item } = record;
  return item;
}

/** A snapshot's body is not larger than this, in bytes of JSON (specification: 1 MiB). */
export const maxSnapshotBytes = 1024 * 1024;

/** What an item takes in the body of a snapshot, comma included. */
export function itemBytes(item: LogItem): number {
  return Buffer.byteLength(JSON.stringify(item)) + 1;
}

import type { LogStream } from "#api/log-record.ts";
import type { ApiStatus } from "#api/meta.ts";

/** One record of a Run's log, as the API hands it out. */
export interface LogItem {
  /** Attempt of the Run, from 1. */
  readonly attempt: number;
  /** Position in the log of the attempt, as in `LogRecord`; absent in words of the log service itself. */
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

/**
 * An item on its way out: JSON without the braces. Of records it is a part of the line that their agent printed, so nothing is
 * parsed and written again for each of them.
 */
export type ItemMembers = string;

/** An item as it goes out. */
export const membersOf = (item: LogItem): ItemMembers => JSON.stringify(item).slice(1, -1);

/** The item of which these are the members. */
export const itemFrom = (members: ItemMembers): LogItem => JSON.parse(`{${members}}`) as LogItem;

/** An item of a stream: a JSON text in one line. */
export const withCursor = (members: ItemMembers, cursor: string): string => `{${members},"cursor":"${cursor}"}`;

/** A snapshot's body is not larger than this, in bytes of JSON (specification: 1 MiB). */
export const maxSnapshotBytes = 1024 * 1024;

/** What an item takes in the body of a snapshot, braces and comma included. */
export const itemBytes = (members: ItemMembers): number => Buffer.byteLength(members) + 3;

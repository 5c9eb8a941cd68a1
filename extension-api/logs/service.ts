import { failure, StatusError } from "#kube/transport.ts";
import { decodeCursor, encodeCursor, type Place } from "./cursor.ts";
import { statusErrorOf } from "./errors.ts";
import { itemBytes, itemFrom, type LogItem, type LogSnapshot, maxSnapshotBytes, withCursor } from "./items.ts";
import type { LogQuery } from "./query.ts";
import { type Delivery, type ReaderDeps, RunLogReader } from "./reader.ts";
import { Seats } from "./seats.ts";
import { RunView } from "./view.ts";

export interface LogRequest {
  readonly namespace: string;
  readonly name: string;
  readonly query: LogQuery;
  /** Aborted when the caller has gone away. */
  readonly signal: AbortSignal;
}

/** What one process serves at a time. */
export interface LogServiceLimits {
  /** Streams that are followed: each holds a connection, a file and a buffer of 64 KiB at most. */
  readonly followers: number;
  /** Snapshots under way: each holds up to 1 MiB. */
  readonly snapshots: number;
}

export const defaultLimits: LogServiceLimits = { followers: 1000, snapshots: 64 };

/** The logs of Runs, by name. Every failure is a StatusError. */
export interface LogService {
  /** The newest records, or those after a cursor; at most 1 MiB. */
  snapshot(request: LogRequest): Promise<LogSnapshot>;
  /**
   * Resolves when the log is open; then nothing fails but the stream says so in its last item. Each item is a JSON text
   * ({@link LogItem}) in one line; in batches, none of them empty.
   */
  follow(request: LogRequest): Promise<AsyncIterable<readonly string[]>>;
  /** How many are served at this moment. */
  stats(): { readonly followers: number; readonly snapshots: number };
}

export function createLogService(deps: ReaderDeps, limits: LogServiceLimits = defaultLimits): LogService {
  const followers = new Seats("log streams", limits.followers);
  const snapshots = new Seats("log snapshots", limits.snapshots);

  async function openReader({ namespace, name, query, signal }: LogRequest): Promise<{
    view: RunView;
    reader: RunLogReader;
    from: Place | undefined;
  }> {
    const run = await deps.runs.get(namespace, name, signal);
    if (run.metadata.uid === undefined) throw new StatusError(failure(500, "InternalError", `Run ${name} has no UID`));
    const view = new RunView(run, query.attempt);
    const from = query.cursor === undefined ? undefined : decodeCursor(view.key, query.cursor);
    return { view, reader: new RunLogReader(deps, view, query, signal), from };
  }

  return {
    stats: () => ({ followers: followers.taken, snapshots: snapshots.taken }),

    async snapshot(request) {
      const leave = snapshots.take();
      try {
        const { view, reader, from } = await openReader(request);
        try {
          if (from === undefined) return await newest(reader, view.key, request.query.tailLines);
          await reader.startAt(from);
          return await oldest(reader, view.key);
        } finally {
          await reader.close();
        }
      } catch (error) {
        throw statusErrorOf(error);
      } finally {
        leave();
      }
    },

    async follow(request) {
      const leave = followers.take();
      try {
        const { view, reader, from } = await openReader(request);
        const close = once(() => {
          leave();
          reader.close().catch(() => {}); // nothing can be done about a descriptor that does not close
        });
        try {
          if (from !== undefined) await reader.startAt(from);
          const first = from === undefined ? await reader.tail(request.query.tailLines) : [];
          // A stream that nobody begins to read is ended by its signal only.
          request.signal.addEventListener("abort", close, { once: true });
          if (request.signal.aborted) close();
          return stream(reader, view.key, first, close);
        } catch (error) {
          close();
          throw error;
        }
      } catch (error) {
        leave();
        throw statusErrorOf(error);
      }
    },
  };
}

/** Without a cursor: what is too much is left out at the old end. */
async function newest(reader: RunLogReader, run: string, tailLines: number): Promise<LogSnapshot> {
  let room = roomForItems;
  const deliveries = await reader.tail(tailLines, (item) => {
    room -= itemBytes(item);
    return room >= 0;
  });
  return { items: deliveries.map(({ item }) => itemFrom(item)), cursor: encodeCursor(run, reader.place) };
}

/** With a cursor: what is too much comes with the next cursor. */
async function oldest(reader: RunLogReader, run: string): Promise<LogSnapshot> {
  let room = roomForItems;
  let last = reader.place;
  const items: LogItem[] = [];
  for await (const batch of reader.read()) {
    for (const { item, place } of batch) {
      room -= itemBytes(item);
      if (room < 0) return { items, cursor: encodeCursor(run, last) };
      items.push(itemFrom(item));
      last = place;
    }
  }
  return { items, cursor: encodeCursor(run, reader.place) };
}

/** Bytes for items in the body of a snapshot: the rest of the body takes less than 1 KiB. */
const roomForItems = maxSnapshotBytes - 1024;

async function* stream(
  reader: RunLogReader,
  run: string,
  first: readonly Delivery[],
  close: () => void,
): AsyncGenerator<readonly string[]> {
  const withCursors = (batch: readonly Delivery[]) =>
    batch.map(({ item, place }) => withCursor(item, encodeCursor(run, place)));
  try {
    if (first.length > 0) yield withCursors(first);
    for await (const batch of reader.follow()) yield withCursors(batch);
  } finally {
    close();
  }
}

function once(fn: () => void): () => void {
  let done = false;
  return () => {
    if (!done) fn();
    done = true;
  };
}

import type { ApiRequest, Transport } from "#kube/transport.ts";
import type { LogItem, LogSnapshot } from "../logs/items.ts";
import { logPath, streamType } from "../logs/route.ts";
import { type FollowDeps, followFrom } from "./follow.ts";

export type { LogItem, LogSnapshot };

/** What to read of a Run's log. */
export interface RunLogOptions {
  /** Goes on until the Run has ended. */
  readonly follow?: boolean | undefined;
  /** How many of the newest records, 1 to 500; default 100. Without effect when there is a cursor. */
  readonly tailLines?: number | undefined;
  /** Only what comes after the record that this cursor came with; {@link fromStart} for everything. */
  readonly cursor?: string | undefined;
  /** Only this attempt. */
  readonly attempt?: number | undefined;
  /** RFC 3339: only records of this time and later. */
  readonly sinceTime?: string | undefined;
}

/** The cursor before the first record of any Run. */
export { startCursor as fromStart } from "../logs/cursor.ts";

/** Logs of Runs through the API server, with the caller's own identity. Shaped like log requests of client-go. */
export interface Logs {
  getLogs(namespace: string, name: string, options?: RunLogOptions): LogRequest;
}

export interface LogRequest {
  /**
   * The records, oldest first; with `follow` as they are printed, until the Run has ended. A broken connection is
   * opened again where it broke. Rejects, or throws later, with the StatusError that says why there is no (more) log.
   * What is followed holds a connection until it was read to its end, its iterator was closed, or the signal is aborted.
   */
  stream(signal?: AbortSignal): Promise<AsyncIterable<LogItem>>;
  /** Asks once, for what there is now. */
  do(signal?: AbortSignal): LogResult;
}

export interface LogResult {
  /** The body of the answer: JSON. */
  raw(): Promise<string>;
  snapshot(): Promise<LogSnapshot>;
}

export interface LogsDeps extends FollowDeps {
  readonly transport: Transport;
}

export function createLogs(deps: LogsDeps): Logs {
  return {
    getLogs(namespace, name, options = {}) {
      const path = logPath(namespace, name);
      const snapshot = (over: RunLogOptions, signal?: AbortSignal) =>
        deps.transport.request<LogSnapshot>(requestOf(path, { ...options, ...over, follow: undefined }, signal));
      return {
        async stream(signal) {
          const open = (cursor: string) =>
            deps.transport.stream<LogItem>(requestOf(path, { ...options, cursor }, signal, streamType));
          const { cursor } = options;
          if (options.follow && cursor !== undefined) {
            return followFrom({ items: [], cursor, stream: await open(cursor) }, open, deps, signal);
          }
          const first = await snapshot({}, signal);
          // The place of the snapshot is where a stream goes on that breaks before anything came.
          if (options.follow) return followFrom(first, open, deps, signal);
          return options.cursor === undefined
            ? items(first)
            : allPages(first, (cursor) => snapshot({ cursor }, signal));
        },
        do(signal) {
          const answer = () => snapshot({}, signal);
          return { snapshot: answer, raw: async () => JSON.stringify(await answer()) };
        },
      };
    },
  };
}

function requestOf(path: string, options: RunLogOptions, signal?: AbortSignal, accept?: string): ApiRequest {
  const { follow, tailLines, cursor, attempt, sinceTime } = options;
  const query = {
    follow: follow ? "true" : undefined,
    tailLines: cursor === undefined && tailLines !== undefined ? String(tailLines) : undefined,
    cursor,
    attempt: attempt === undefined ? undefined : String(attempt),
    sinceTime,
  };
  return { method: "GET", path, query, ...(signal && { signal }), ...(accept && { accept }) };
}

async function* items({ items }: LogSnapshot): AsyncGenerator<LogItem> {
  yield* items;
}

/** A snapshot after a cursor has at most 1 MiB: the next one goes on. */
async function* allPages(first: LogSnapshot, next: (cursor: string) => Promise<LogSnapshot>): AsyncGenerator<LogItem> {
  for (let page = first; page.items.length > 0; page = await next(page.cursor)) yield* page.items;
}

import { backoff } from "#kube/backoff.ts";
import { type Clock, type Random, sleep } from "#kube/ports.ts";
import { StatusError, TransportError } from "#kube/transport.ts";
import type { LogItem, LogSnapshot } from "../logs/items.ts";

/** Pauses before the stream is opened again, in milliseconds: doubled from the first to the longest. */
const firstPauseMs = 100;
const longestPauseMs = 5000;

/** After so long without any answer the last error is the caller's, in milliseconds. */
const patienceMs = 120_000;

export interface FollowDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** Told once for each time that the log is away: when opening it again at once did not help, and further tries follow. */
  readonly onTrouble?: (error: Error) => void;
}

/** What is there of a log that is followed: records, and where it goes on, if need be as a stream that was opened there. */
export interface Beginning extends LogSnapshot {
  readonly stream?: AsyncIterable<LogItem>;
}

/**
 * Hands on the records of a snapshot, then those of a stream from its cursor; a stream that breaks, or a service that is away
 * for a while, is asked again after the last record that came.
 */
export async function* followFrom(
  first: Beginning,
  open: (cursor: string) => Promise<AsyncIterable<LogItem>>,
  deps: FollowDeps,
  signal: AbortSignal | undefined,
): AsyncGenerator<LogItem> {
  yield* first.items;
  const { clock, random } = deps;
  let { cursor, stream: opened } = first;
  let failures = 0;
  let heard = clock.monotonic();
  while (!signal?.aborted) {
    try {
      const stream = opened ?? (await open(cursor));
      opened = undefined;
      failures = 0;
      heard = clock.monotonic();
      for await (const item of stream) {
        if (item.status !== undefined) throw new StatusError(item.status);
        cursor = item.cursor ?? cursor;
        yield item;
        heard = clock.monotonic();
      }
      return;
    } catch (error) {
      if (signal?.aborted) return;
      if (!isTransient(error) || clock.monotonic() - heard > patienceMs) throw error;
      const asked = error instanceof StatusError ? (error.retryAfterMs ?? 0) : 0;
      failures++;
      if (failures === 2 && error instanceof Error) deps.onTrouble?.(error);
      await sleep(clock, Math.max(asked, backoff(failures, firstPauseMs, longestPauseMs, random)), signal);
    }
  }
}

/** Whether the same request may have an answer later. */
function isTransient(error: unknown): boolean {
  if (error instanceof TransportError) return true;
  return error instanceof StatusError && (error.code === 429 || error.code >= 500);
}

import { type CallLimit, callLimit } from "#kube/call-limit.ts";
import { copyJson } from "#kube/json.ts";
import type { Clock } from "#kube/ports.ts";
import { type ApiRequest, failure, StatusError, type Transport, TransportError } from "#kube/transport.ts";

/**
 * An API server in the same process. It answers failures by throwing {@link StatusError}; a {@link TransportError}
 * that it throws stands for a lost connection (fault injection). Anything else it throws becomes status 500.
 */
export interface ApiHandler {
  /** Answers one request. The body it gets is its own; what it returns is copied and never changed by callers. */
  handle(request: ApiRequest): Promise<unknown>;
  /**
   * Opens a stream (watch, follow). `request.signal` is always set and is aborted when the reader goes away: the
   * iterable must end then, also while it waits for the next event.
   */
  watch(request: ApiRequest): Promise<AsyncIterable<unknown>>;
}

/**
 * The transport to an {@link ApiHandler}, with the manners of a network: both sides own what they hold (every body is
 * copied once at the door, about a microsecond for 30 members), calls have deadlines, signals end them.
 */
export function memoryTransport(server: ApiHandler, clock: Clock): Transport {
  const closing = new AbortController();
  return {
    async request<T>(request: ApiRequest): Promise<T> {
      const limit = callLimit(request, clock, closing.signal);
      try {
        return copyJson((await within(limit, () => server.handle(received(request, limit)))) as T);
      } catch (error) {
        throw asApiError(limit.what, error);
      } finally {
        limit.release();
      }
    },

    async stream<T>(request: ApiRequest): Promise<AsyncIterable<T>> {
      const limit = callLimit(request, clock, closing.signal);
      try {
        const source = await within(limit, () => server.watch(received(request, limit)));
        limit.open();
        return events<T>(limit, source);
      } catch (error) {
        limit.release();
        throw asApiError(limit.what, error);
      }
    },

    async close() {
      closing.abort();
    },
  };
}

/** The request as the server gets it: with a body of its own, and a signal that covers every reason to stop. */
function received(request: ApiRequest, { signal }: CallLimit): ApiRequest {
  return { ...request, ...(request.body === undefined ? {} : { body: copyJson(request.body) }), signal };
}

/** What `work` comes to, unless the limit ends first: then its result is dropped. */
function within<R>({ signal }: CallLimit, work: () => Promise<R>): Promise<R> {
  return new Promise<R>((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    // A handler that throws instead of rejecting must not get past the caller's `finally`.
    Promise.resolve().then(work).then(resolve, reject);
  });
}

function asApiError(what: string, error: unknown): Error {
  if (error instanceof StatusError || error instanceof TransportError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new StatusError(failure(500, "InternalError", `${what}: ${message}`), undefined, { cause: error });
}

/** Hands events over one by one; ends quietly and at once when the limit ends, whatever the source does. */
function events<T>(limit: CallLimit, source: AsyncIterable<unknown>): AsyncIterableIterator<T> {
  const { signal } = limit;
  const iterator = source[Symbol.asyncIterator]();
  const ended: IteratorResult<T> = { done: true, value: undefined };
  let over = false;
  /** Ends the call of `next` that waits. A promise raced against every event would collect them all. */
  let interrupt = () => {};
  const finish = (): IteratorResult<T> => {
    if (over) return ended;
    over = true;
    limit.release();
    limit.abort();
    interrupt();
    // Not awaited: a source that is busy would keep the reader waiting. The signal tells it to stop.
    iterator.return?.().catch(() => {});
    return ended;
  };
  if (signal.aborted) finish();
  else signal.addEventListener("abort", finish, { once: true });

  return {
    async next() {
      if (over) return ended;
      try {
        const result = await new Promise<IteratorResult<unknown>>((resolve, reject) => {
          interrupt = () => resolve(ended);
          iterator.next().then(resolve, reject);
        });
        if (over) return ended;
        return result.done ? finish() : { done: false, value: copyJson(result.value) as T };
      } catch (error) {
        if (over) return ended;
        finish();
        throw asApiError(limit.what, error);
      }
    },
    async return() {
      return finish();
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

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

/** Deadline of a call that names none, as for the HTTP transport. */
const DEFAULT_TIMEOUT_MS = 30_000;

/**
 * The transport to an {@link ApiHandler}, with the manners of a network: both sides own what they hold (every body is
 * copied once at the door, about a microsecond for 30 members), calls have deadlines, signals end them.
 */
export function memoryTransport(server: ApiHandler, clock: Clock): Transport {
  const closing = new AbortController();

  /** Waits for `work`, but not beyond the deadline, the caller's signal or the end of the transport. */
  function limited<R>(request: ApiRequest, own: AbortController, work: () => Promise<R>): Promise<R> {
    const what = `${request.method} ${request.path}`;
    return new Promise<R>((resolve, reject) => {
      const give = (error: TransportError) => {
        reject(error);
        own.abort(error);
      };
      const onAbort = () => give(new TransportError(`${what}: aborted`, { cause: request.signal?.reason }));
      const onClose = () => give(new TransportError(`${what}: the transport is closed`));
      if (closing.signal.aborted) return onClose();
      if (request.signal?.aborted) return onAbort();
      const ms = request.timeoutMs ?? DEFAULT_TIMEOUT_MS;
      const cancel = clock.after(ms, () => give(new TransportError(`${what}: no answer within ${ms} ms`)));
      request.signal?.addEventListener("abort", onAbort);
      closing.signal.addEventListener("abort", onClose);
      // A handler that throws instead of rejecting must not escape the listeners above.
      Promise.resolve()
        .then(work)
        .finally(() => {
          cancel();
          request.signal?.removeEventListener("abort", onAbort);
          closing.signal.removeEventListener("abort", onClose);
        })
        .then(resolve, (error: unknown) => reject(asApiError(what, error)));
    });
  }

  return {
    async request<T>(request: ApiRequest): Promise<T> {
      const own = new AbortController();
      const sent = { ...copyRequest(request), signal: own.signal };
      return copyJson(await limited(request, own, () => server.handle(sent))) as T;
    },

    async stream<T>(request: ApiRequest): Promise<AsyncIterable<T>> {
      const own = new AbortController();
      const sent = { ...copyRequest(request), signal: own.signal };
      const source = await limited(request, own, () => server.watch(sent));
      const stop = () => own.abort();
      request.signal?.addEventListener("abort", stop);
      closing.signal.addEventListener("abort", stop);
      return events<T>(`${request.method} ${request.path}`, source, own, () => {
        request.signal?.removeEventListener("abort", stop);
        closing.signal.removeEventListener("abort", stop);
      });
    },

    async close() {
      closing.abort();
    },
  };
}

function copyRequest(request: ApiRequest): ApiRequest {
  return request.body === undefined ? request : { ...request, body: copyJson(request.body) };
}

function asApiError(what: string, error: unknown): Error {
  if (error instanceof StatusError || error instanceof TransportError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new StatusError(failure(500, "InternalError", `${what}: ${message}`), undefined, { cause: error });
}

/** Hands events over one by one; ends quietly and at once when `own` is aborted, whatever the source does. */
function events<T>(
  what: string,
  source: AsyncIterable<unknown>,
  own: AbortController,
  release: () => void,
): AsyncIterableIterator<T> {
  const iterator = source[Symbol.asyncIterator]();
  const ended: IteratorResult<T> = { done: true, value: undefined };
  let over = false;
  const finish = (): IteratorResult<T> => {
    if (!over) {
      over = true;
      release();
      own.abort();
      // Not awaited: a source that is busy would keep the reader waiting. The signal tells it to stop.
      iterator.return?.().catch(() => {});
    }
    return ended;
  };
  /** Ends the call of `next` that waits. A promise raced against every event would collect them all. */
  let interrupt = () => {};
  own.signal.addEventListener("abort", () => interrupt(), { once: true });
  if (own.signal.aborted) finish();

  return {
    async next() {
      if (over) return ended;
      try {
        const result = await new Promise<IteratorResult<unknown>>((resolve, reject) => {
          interrupt = () => resolve(ended);
          iterator.next().then(resolve, reject);
        });
        if (result.done || own.signal.aborted) return finish();
        return { done: false, value: copyJson(result.value) as T };
      } catch (error) {
        const quiet = own.signal.aborted;
        finish();
        if (quiet) return ended;
        throw asApiError(what, error);
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

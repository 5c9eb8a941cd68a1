import type { Clock } from "#kube/ports.ts";
import { type ApiRequest, TransportError } from "#kube/transport.ts";

/** Deadline of a call that names none. */
const DEFAULT_TIMEOUT_MS = 30_000;

/** How long a call may go on: until its deadline, the caller's signal or the end of the transport. */
export interface CallLimit {
  /** The request in words, for messages. */
  readonly what: string;
  /** Aborted at the end, with a {@link TransportError} as its reason. */
  readonly signal: AbortSignal;
  /** Milliseconds until the deadline. */
  left(): number;
  /** Ends the deadline only: a stream is open. */
  open(): void;
  /** Ends everything: the call is over. Always to be called. */
  release(): void;
  /** Ends the call. */
  abort(): void;
}

/** @param closing aborted when the transport is closed. */
export function callLimit(request: ApiRequest, clock: Clock, closing: AbortSignal): CallLimit {
  const what = `${request.method} ${request.path}`;
  const own = new AbortController();
  const ms = request.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const due = clock.monotonic() + ms;
  const cancel = clock.after(ms, () => own.abort(new TransportError(`${what}: no answer within ${ms} ms`)));
  const abort = () => own.abort(new TransportError(`${what}: aborted`, { cause: request.signal?.reason }));
  const close = () => own.abort(new TransportError(`${what}: the transport is closed`));
  request.signal?.addEventListener("abort", abort);
  closing.addEventListener("abort", close);
  if (request.signal?.aborted) abort();
  if (closing.aborted) close();
  return {
    what,
    signal: own.signal,
    left: () => due - clock.monotonic(),
    open: cancel,
    release() {
      cancel();
      request.signal?.removeEventListener("abort", abort);
      closing.removeEventListener("abort", close);
    },
    abort,
  };
}

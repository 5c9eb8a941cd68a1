import { type ApiRequest, type Transport, TransportError } from "#kube/transport.ts";

export interface Limits {
  /** Ends all calls, also those under way, when it is aborted. */
  readonly signal?: AbortSignal;
  /** Asked before each call, e.g. whether a lease is still held by the clock. */
  readonly permitted?: () => boolean;
  /** Deadline of calls that name none, in milliseconds. */
  readonly timeoutMs?: number;
}

/**
 * The same transport for somebody whose right to use it can end: all calls fail at once from that moment. Closing it
 * closes nothing, since others use the transport too.
 */
export function limitTransport(transport: Transport, limits: Limits): Transport {
  const limited = <R>(request: ApiRequest, send: (request: ApiRequest) => Promise<R>): Promise<R> => {
    if (limits.signal?.aborted || limits.permitted?.() === false) {
      const reason = limits.signal?.reason;
      return Promise.reject(
        new TransportError(`${request.method} ${request.path}: not sent, the right to do so has ended`, {
          ...(reason === undefined ? {} : { cause: reason }),
        }),
      );
    }
    const signals = [request.signal, limits.signal].filter((signal) => signal !== undefined);
    const [first, second] = signals;
    const signal = first === undefined || second === undefined ? first : AbortSignal.any([first, second]);
    const timeoutMs = request.timeoutMs ?? limits.timeoutMs;
    return send({
      ...request,
      ...(signal === undefined ? {} : { signal }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    });
  };
  return {
    request: <T>(request: ApiRequest) => limited(request, (r) => transport.request<T>(r)),
    stream: <T>(request: ApiRequest) => limited(request, (r) => transport.stream<T>(r)),
    close: async () => {},
  };
}

import { type Duplex, Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

/** Sends bytes through a Node transform. Whoever stops reading early ends the source too. */
export async function* through(bytes: AsyncIterable<Uint8Array>, transform: Duplex): AsyncGenerator<Uint8Array> {
  // An error of either side destroys the transform, whose iteration below then reports it.
  pipeline(Readable.from(bytes, { objectMode: false }), transform).catch(() => {});
  yield* transform as AsyncIterable<Uint8Array>;
}

/** The same bytes, until the signal is aborted: then the iteration ends with the signal's reason, even while it waits. */
export async function* abortable(
  bytes: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  if (signal === undefined) return yield* bytes;
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  aborted.promise.catch(() => {}); // it may never be waited for
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  const iterator = bytes[Symbol.asyncIterator]();
  let done = false;
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), aborted.promise]);
      if (next.done) {
        done = true;
        return;
      }
      yield next.value;
      signal.throwIfAborted();
    }
  } finally {
    signal.removeEventListener("abort", abort);
    // Not awaited: a source that hangs would hang us too.
    if (!done) iterator.return?.().catch(() => {});
  }
}

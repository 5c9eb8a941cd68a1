import type { Clock } from "#kube/ports.ts";
import { type ArtifactStore, type OpenedArtifact, StoreUnavailableError } from "#runtime/artifacts/store.ts";

export interface Impatience {
  readonly clock: Clock;
  /** Aborted when nobody wants the answer any more. */
  readonly signal: AbortSignal;
  /** How long the store may do nothing at all, milliseconds; asked whenever it has done something. */
  readonly stallMs: () => number;
  /** Gets a promise for everything that is begun; it settles when that has really ended. */
  readonly hold: (work: Promise<unknown>) => void;
}

/**
 * A store whose calls are given up when the signal is aborted, with its reason, and as a {@link StoreUnavailableError} when nothing
 * moves: a volume that hangs must not hang who waits for it. A transfer that is merely slow goes on. No call of the system can be
 * taken back, so what was begun goes on, too.
 */
export function impatientStore(store: ArtifactStore, { clock, signal, stallMs, hold }: Impatience): ArtifactStore {
  /**
   * @param begin gets a function that tells of progress
   * @param late gets the result that nobody waits for any more
   */
  async function patiently<T>(
    begin: (progress: () => void) => Promise<T>,
    late: (result: T) => unknown = () => {},
  ): Promise<T> {
    signal.throwIfAborted();
    const givenUp = Promise.withResolvers<never>();
    const abort = () => givenUp.reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    const stall = () => givenUp.reject(new StoreUnavailableError("the artifact store does not answer"));
    let cancel = clock.after(stallMs(), stall);
    const progress = () => {
      cancel();
      cancel = clock.after(stallMs(), stall);
    };
    let isLate = false;
    const work = begin(progress);
    hold(work.then((result) => (isLate ? late(result) : undefined)).catch(() => {}));
    try {
      return await Promise.race([work, givenUp.promise]);
    } catch (error) {
      isLate = true;
      throw error;
    } finally {
      cancel();
      signal.removeEventListener("abort", abort);
    }
  }

  const impatient = (opened: OpenedArtifact): OpenedArtifact => ({
    sizeBytes: opened.sizeBytes,
    async *read(start, end) {
      const chunks = opened.read(start, end)[Symbol.asyncIterator]();
      for (;;) {
        const next = await patiently(() => chunks.next());
        if (next.done) return;
        yield next.value;
      }
    },
    async close() {
      const closing = opened.close();
      if (signal.aborted) hold(closing.catch(() => {}));
      else await patiently(() => closing);
    },
  });

  return {
    driver: store.driver,
    put: (target, bytes, options) =>
      patiently((progress) => store.put(target, watched(bytes, progress), { ...options, signal })),
    open: async (ref) =>
      impatient(
        await patiently(
          () => store.open(ref),
          (opened) => opened.close(),
        ),
      ),
    stat: (ref) => patiently(() => store.stat(ref)),
    list: () => store.list(),
    delete: (runUid) => patiently(() => store.delete(runUid)),
  };
}

/** The same bytes; each that is asked for is told. */
async function* watched(bytes: AsyncIterable<Uint8Array>, tell: () => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    tell();
    yield chunk;
    tell();
  }
}

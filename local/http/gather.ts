/** Characters after which a piece is large enough. */
const enough = 64 * 1024;

/**
 * Joins pieces of text that are there at the same time: a source that has much to say costs one write for many pieces, one that
 * says little is passed on piece by piece within a turn of the event loop.
 */
export async function* gather(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  const iterator = pieces[Symbol.asyncIterator]();
  let next = iterator.next();
  try {
    for (;;) {
      const first = await next;
      if (first.done) return;
      let text = first.value;
      const over = turn();
      for (;;) {
        next = iterator.next();
        const result = text.length < enough ? await Promise.race([next, over]) : undefined;
        if (result === undefined) break;
        if (result.done) {
          yield text;
          return;
        }
        text += result.value;
      }
      yield text;
    }
  } finally {
    // Whoever leaves does not wait for a source that is quiet.
    next.catch(() => {});
    iterator.return?.().catch(() => {});
  }
}

const turn = () => new Promise<undefined>((resolve) => setImmediate(() => resolve(undefined)));

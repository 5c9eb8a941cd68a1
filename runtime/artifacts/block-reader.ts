/** Takes a stream apart by counts of bytes. */
export class BlockReader {
  readonly #source: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = new Uint8Array();

  constructor(bytes: AsyncIterable<Uint8Array>) {
    this.#source = bytes[Symbol.asyncIterator]();
  }

  /** The next bytes, at least one and at most `limit`; `undefined` at the end. */
  async some(limit: number): Promise<Uint8Array | undefined> {
    while (this.#rest.length === 0) {
      const next = await this.#source.next();
      if (next.done) return undefined;
      this.#rest = next.value;
    }
    const taken = this.#rest.subarray(0, limit);
    this.#rest = this.#rest.subarray(taken.length);
    return taken;
  }

  /** Exactly `count` bytes, or fewer at the end of the stream. */
  async exactly(count: number): Promise<Buffer> {
    const parts: Uint8Array[] = [];
    for (let missing = count; missing > 0; ) {
      const part = await this.some(missing);
      if (part === undefined) break;
      parts.push(part);
      missing -= part.length;
    }
    return Buffer.concat(parts);
  }

  /** Ends the stream early. */
  async close(): Promise<void> {
    await this.#source.return?.();
  }
}

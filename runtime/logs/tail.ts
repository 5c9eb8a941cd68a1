/** Bytes of stderr that a failure message quotes. */
export const tailBytes = 1024;

/** The end of a stream, for messages. */
export class Tail {
  readonly #maxBytes: number;
  #kept: Buffer = Buffer.alloc(0);
  #cut = false;

  constructor(maxBytes = tailBytes) {
    this.#maxBytes = maxBytes;
  }

  push(chunk: Uint8Array): void {
    const all = Buffer.concat([this.#kept, chunk.subarray(-this.#maxBytes)]);
    this.#cut ||= this.#kept.length + chunk.length > this.#maxBytes;
    this.#kept = all.subarray(-this.#maxBytes);
  }

  /** The end as text of at most `maxBytes` bytes, without white space around it. Bytes that are not UTF-8 are replaced. */
  text(): string {
    let start = 0;
    // A cut may have gone through a character: its rest is left out.
    while (this.#cut && start < 3 && ((this.#kept[start] ?? 0) & 0xc0) === 0x80) start++;
    let text = this.#kept.subarray(start).toString("utf8");
    // Half a line says little, unless there is nothing else.
    if (this.#cut) text = text.replace(/^[^\n]*\n(?=[\s\S]*\S)/, "");
    text = text.trim();
    // Replacement characters are longer than the bytes they stand for.
    while (Buffer.byteLength(text) > this.#maxBytes) text = [...text].slice(Math.ceil(text.length / 16)).join("");
    return text;
  }
}

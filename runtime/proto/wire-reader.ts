/** Protobuf's wire format, reading side. */

/** A message that does not follow the wire format; there is nothing to do but refuse it. */
export class MalformedMessageError extends Error {
  override readonly name = "MalformedMessageError";
}

const two32 = 2 ** 32;

export class WireReader {
  readonly #buffer: Buffer;
  #at = 0;

  constructor(buffer: Buffer) {
    this.#buffer = buffer;
  }

  get done(): boolean {
    return this.#at >= this.#buffer.length;
  }

  /** Number of the field and its wire type. */
  tag(): { readonly number: number; readonly wireType: number } {
    const { low } = this.#varint();
    return { number: low >>> 3, wireType: low & 7 };
  }

  int32(): number {
    return this.#varint().low | 0;
  }

  uint32(): number {
    return this.#varint().low;
  }

  bool(): boolean {
    const { low, high } = this.#varint();
    return low !== 0 || high !== 0;
  }

  /** @throws {MalformedMessageError} for a number beyond 2^53, which a JavaScript number cannot hold exactly. */
  uint64(): number {
    const { low, high } = this.#varint();
    return this.#exact(high * two32 + low);
  }

  /** @throws {MalformedMessageError} for a number beyond 2^53 in either direction. */
  int64(): number {
    const { low, high } = this.#varint();
    return this.#exact((high | 0) * two32 + low);
  }

  /** A part of the buffer itself, not a copy. */
  bytes(): Buffer {
    const size = this.uint64();
    if (size > this.#buffer.length - this.#at) this.#fail(`${size} bytes are announced, but the message ends before`);
    this.#at += size;
    return this.#buffer.subarray(this.#at - size, this.#at);
  }

  /** Invalid UTF-8 is replaced, as the contract keeps bytes that may not be text out of strings. */
  string(): string {
    return this.bytes().toString("utf8");
  }

  /** Steps over a field that a newer version of the contract may have added. */
  skip(wireType: number): void {
    if (wireType === 0) this.#varint();
    else if (wireType === 1) this.#at += 8;
    else if (wireType === 2) this.bytes();
    else if (wireType === 5) this.#at += 4;
    else this.#fail(`unknown wire type ${wireType}`);
    if (this.#at > this.#buffer.length) this.#fail("the message is cut off");
  }

  /** The two halves of a 64-bit number, each as an unsigned 32-bit number. */
  #varint(): { low: number; high: number } {
    let low = 0;
    let high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.#buffer[this.#at++];
      if (byte === undefined) this.#fail("the message is cut off");
      const bits = byte & 0x7f;
      if (shift < 28) low |= bits << shift;
      else if (shift === 28) {
        low |= bits << 28;
        high = bits >>> 4;
      } else high |= bits << (shift - 32);
      if (byte < 0x80) return { low: low >>> 0, high: high >>> 0 };
    }
    return this.#fail("a number is longer than 10 bytes");
  }

  #exact(value: number): number {
    if (!Number.isSafeInteger(value)) this.#fail(`the number ${value} is too large`);
    return value;
  }

  #fail(problem: string): never {
    throw new MalformedMessageError(`${problem} (near byte ${this.#at} of ${this.#buffer.length})`);
  }
}

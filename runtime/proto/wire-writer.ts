/** Protobuf's wire format, writing side: numbers, lengths and bytes into one growing buffer. */

const two32 = 2 ** 32;

export class WireWriter {
  #buffer = Buffer.allocUnsafe(256);
  #length = 0;

  /** The bytes written so far; the writer must not be used afterwards. */
  finish(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  tag(field: number, wireType: number): void {
    this.varint(field * 8 + wireType);
  }

  /**
   * A whole number, negative ones as 64-bit two's complement, as protobuf has it for int32 and int64.
   *
   * @throws {RangeError} the number cannot be held exactly.
   */
  varint(value: number): void {
    if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is not a whole number that can be sent`);
    this.#reserve(10);
    if (value < 0) {
      let rest = BigInt.asUintN(64, BigInt(value));
      for (; rest > 0x7fn; rest >>= 7n) this.#byte(Number(rest & 0x7fn) | 0x80);
      this.#byte(Number(rest));
      return;
    }
    let rest = value;
    // Bit operators work on 32 bits only, so the part above is divided.
    for (; rest >= two32; rest = Math.floor(rest / 128)) this.#byte((rest % 128) | 0x80);
    for (; rest > 0x7f; rest = rest >>> 7) this.#byte((rest & 0x7f) | 0x80);
    this.#byte(rest);
  }

  bytes(value: Uint8Array): void {
    this.varint(value.byteLength);
    this.#reserve(value.byteLength);
    this.#buffer.set(value, this.#length);
    this.#length += value.byteLength;
  }

  string(value: string): void {
    const size = Buffer.byteLength(value);
    this.varint(size);
    this.#reserve(size);
    this.#buffer.write(value, this.#length);
    this.#length += size;
  }

  #byte(value: number): void {
    this.#buffer[this.#length++] = value;
  }

  #reserve(size: number): void {
    const needed = this.#length + size;
    if (needed <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
  }
}

/**
 * Protobuf's wire format, writing side, from the end to the beginning: what a message needs before its content is the length of
 * that, which is known by then. So nested messages need no buffers of their own, and output is copied once.
 */

const two32 = 2 ** 32;
const firstBytes = 256;

export class WireWriter {
  #buffer = Buffer.allocUnsafe(firstBytes);
  /** Where the bytes that are written begin. */
  #start = firstBytes;

  /** Bytes written so far. */
  get length(): number {
    return this.#buffer.length - this.#start;
  }

  /** The bytes written so far; the writer must not be used afterwards. */
  finish(): Buffer {
    return this.#buffer.subarray(this.#start);
  }

  /** Comes after (so: before) the value of the field. */
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
    const size = varintSize(value);
    this.#reserve(size);
    let at = this.#start;
    if (value < 0) {
      let rest = BigInt.asUintN(64, BigInt(value));
      for (; rest > 0x7fn; rest >>= 7n) this.#buffer[at++] = Number(rest & 0x7fn) | 0x80;
      this.#buffer[at] = Number(rest);
      return;
    }
    let rest = value;
    // Bit operators work on 32 bits only, so the part above is divided.
    for (; rest >= two32; rest = Math.floor(rest / 128)) this.#buffer[at++] = (rest % 128) | 0x80;
    for (; rest > 0x7f; rest = rest >>> 7) this.#buffer[at++] = (rest & 0x7f) | 0x80;
    this.#buffer[at] = rest;
  }

  bytes(value: Uint8Array): void {
    this.#reserve(value.byteLength);
    this.#buffer.set(value, this.#start);
    this.varint(value.byteLength);
  }

  string(value: string): void {
    const size = Buffer.byteLength(value);
    this.#reserve(size);
    this.#buffer.write(value, this.#start);
    this.varint(size);
  }

  /** Makes room before what is written. */
  #reserve(size: number): void {
    if (size > this.#start) {
      const { length } = this;
      // Some room for what comes before output, so that a message of one event is not copied again for its last bytes.
      const grown = Buffer.allocUnsafe(Math.max(length + size + firstBytes, this.#buffer.length * 2));
      this.#buffer.copy(grown, grown.length - length, this.#start);
      this.#buffer = grown;
      this.#start = grown.length - length;
    }
    this.#start -= size;
  }
}

function varintSize(value: number): number {
  if (value < 0) return 10;
  let size = 1;
  for (let rest = value; rest > 0x7f; rest = Math.floor(rest / 128)) size++;
  return size;
}

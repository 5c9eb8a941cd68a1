/** One field of a protobuf message as it is on the wire: a number, or bytes. */
export interface WireField {
  readonly number: number;
  readonly value: bigint | Buffer;
}

/** Bytes that are no protobuf message. */
export class WireError extends Error {
  override readonly name = "WireError";
}

/**
 * The fields of a message, in the order in which they stand there.
 *
 * @throws WireError
 */
export function* readFields(bytes: Buffer): Iterable<WireField> {
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined) throw new WireError("a number is cut off");
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new WireError("a number is too long");
  };
  const take = (length: number): Buffer => {
    if (length > bytes.length - at) throw new WireError("a field is cut off");
    const part = bytes.subarray(at, at + length);
    at += length;
    return part;
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const number = tag >>> 3;
    switch (tag & 7) {
      case 0:
        yield { number, value: varint() };
        break;
      case 1:
        yield { number, value: take(8).readBigUInt64LE() };
        break;
      case 2:
        yield { number, value: take(Number(varint())) };
        break;
      case 5:
        yield { number, value: BigInt(take(4).readUInt32LE()) };
        break;
      default:
        throw new WireError(`field ${number} has a form that is not known`);
    }
  }
}

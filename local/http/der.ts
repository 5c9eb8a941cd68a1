/** The parts of DER (X.690) that a certificate is made of. */

/** Tag, length, value. */
function element(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag]), lengthOf(body.length), body]);
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const hex = length.toString(16);
  const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex");
  return Buffer.concat([Buffer.from([0x80 | bytes.length]), bytes]);
}

export const sequence = (...members: readonly Uint8Array[]) => element(0x30, ...members);
export const set = (...members: readonly Uint8Array[]) => element(0x31, ...members);
export const octets = (content: Uint8Array) => element(0x04, content);
export const boolean = (value: boolean) => element(0x01, Buffer.from([value ? 0xff : 0]));
export const utf8 = (text: string) => element(0x0c, Buffer.from(text));
/** @param unused bits at the end of the last byte */
export const bits = (content: Uint8Array, unused = 0) => element(0x03, Buffer.from([unused]), content);

/** A positive number of any size, the highest byte first. */
export const integer = (bytes: Uint8Array) =>
  element(0x02, (bytes[0] ?? 0) & 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes);

/** `[number]` around others (constructed) or in place of a primitive type. */
export const context = (number: number, content: Uint8Array, constructed = true) =>
  element((constructed ? 0xa0 : 0x80) | number, content);

/** A moment before 2050, to the second. */
export function utcTime(milliseconds: number): Buffer {
  const text = new Date(milliseconds).toISOString(); // 2026-01-02T03:04:05.678Z
  return element(0x17, Buffer.from(`${text.slice(2, 19).replace(/[-:T]/g, "")}Z`));
}

/** An object identifier, e.g. `2.5.4.3`. */
export function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split(".").map(Number);
  return element(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function base128(value: number): number[] {
  const digits = [value & 0x7f];
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) digits.unshift((rest & 0x7f) | 0x80);
  return digits;
}

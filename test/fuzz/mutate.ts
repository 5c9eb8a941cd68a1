/**
 * Inputs that are almost right: real examples with a few things changed. Noise is refused by the first check that looks at it;
 * these get further. Fewer changes are tried first when a failure is made smaller, so what is left shows what matters.
 */
import fc from "fast-check";

type Edit = (bytes: Buffer) => Buffer;

/** Positions are parts of 65536 of the whole, so that an edit fits whatever is left by those before it. */
const place = fc.nat({ max: 0xffff });
const at = (bytes: Uint8Array, part: number): number => Math.floor((part / 0x10000) * (bytes.length + 1));
const replace = (bytes: Uint8Array, from: number, to: number, by: Uint8Array): Buffer =>
  Buffer.concat([bytes.subarray(0, from), by, bytes.subarray(to)]);

/**
 * @param tokens what means something in these bytes; it is put in here and there
 */
export function mutatedBytes(
  examples: readonly Uint8Array[],
  tokens: readonly Uint8Array[] = [],
): fc.Arbitrary<Buffer> {
  const example = fc.nat({ max: examples.length - 1 }).map((index) => Buffer.from(examples[index] ?? []));
  const changes = fc.array(edits(examples, tokens), { maxLength: 6 });
  return fc.tuple(example, changes).map(([start, all]) => all.reduce<Buffer>((bytes, edit) => edit(bytes), start));
}

function edits(examples: readonly Uint8Array[], tokens: readonly Uint8Array[]): fc.Arbitrary<Edit> {
  const size = fc.oneof(fc.nat({ max: 4 }), fc.nat({ max: 200 }));
  const byte = fc.oneof(fc.nat({ max: 255 }), fc.constantFrom(0, 0x7f, 0x80, 0xff, 0x0a, 0x20, 0x22));
  const set = fc.tuple(place, byte).map(
    ([where, value]): Edit =>
      (bytes) => {
        const from = at(bytes, where);
        return replace(bytes, from, from + 1, Uint8Array.of(value));
      },
  );
  const remove = fc.tuple(place, size).map(
    ([where, count]): Edit =>
      (bytes) => {
        const from = at(bytes, where);
        return replace(bytes, from, from + count, Buffer.alloc(0));
      },
  );
  const insert = fc.tuple(place, fc.uint8Array({ maxLength: 8 })).map(
    ([where, value]): Edit =>
      (bytes) =>
        replace(bytes, at(bytes, where), at(bytes, where), value),
  );
  const repeat = fc.tuple(place, size, fc.constantFrom(1, 2, 10, 300)).map(
    ([where, count, times]): Edit =>
      (bytes) => {
        const from = at(bytes, where);
        const part = bytes.subarray(from, from + count);
        return replace(bytes, from, from, Buffer.concat(Array<Uint8Array>(times).fill(part)));
      },
  );
  const cut = place.map(
    (where): Edit =>
      (bytes) =>
        bytes.subarray(0, at(bytes, where)),
  );
  const splice = fc.tuple(place, fc.nat({ max: examples.length - 1 }), place, fc.nat({ max: 400 })).map(
    ([where, index, from, count]): Edit =>
      (bytes) => {
        const other = Buffer.from(examples[index] ?? []);
        const start = at(other, from);
        return replace(bytes, at(bytes, where), at(bytes, where), other.subarray(start, start + count));
      },
  );
  const all = [set, remove, insert, repeat, cut, splice];
  if (tokens.length === 0) return fc.oneof(...all);
  const token = fc.tuple(place, fc.constantFrom(...tokens)).map(
    ([where, value]): Edit =>
      (bytes) =>
        replace(bytes, at(bytes, where), at(bytes, where), value),
  );
  return fc.oneof(...all, { weight: 4, arbitrary: token });
}

/** The same for texts; a character that a change divides becomes a replacement character. */
export function mutatedText(examples: readonly string[], tokens: readonly string[] = []): fc.Arbitrary<string> {
  const bytes = (texts: readonly string[]) => texts.map((text) => Buffer.from(text));
  return mutatedBytes(bytes(examples), bytes(tokens)).map((text) => text.toString("utf8"));
}

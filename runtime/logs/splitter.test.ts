import fc from "fast-check";
import { expect, test } from "vitest";
import { encodeMessage, encodeRecord, maxMessageBytes } from "#api/log-record.ts";
import { LineSplitter, type Piece } from "#runtime/logs/splitter.ts";

function split(chunks: Iterable<Uint8Array>): Piece[] {
  const splitter = new LineSplitter();
  const pieces: Piece[] = [];
  for (const chunk of chunks) pieces.push(...splitter.push(chunk));
  return [...pieces, ...splitter.end()];
}

const shown = (pieces: readonly Piece[]) =>
  pieces.map(({ bytes, partial }) => Buffer.from(bytes).toString() + (partial ? "" : "\n"));
const rejoin = (pieces: readonly Piece[]) =>
  Buffer.concat(pieces.flatMap(({ bytes, partial }) => [bytes, Buffer.from(partial ? "" : "\n")]));

function* chunksOf(data: Uint8Array, sizes: readonly number[]): Generator<Uint8Array> {
  for (let at = 0, i = 0; at < data.length; i++) {
    const size = sizes[i % sizes.length] ?? 1;
    yield data.subarray(at, at + size);
    at += size;
  }
}

/** Bytes as programs write them: text, binary, newlines, carriage returns, halves of characters. */
const output = fc
  .array(
    fc.oneof(
      fc.constantFrom("\n", "\r\n", "\r", "", "\u0000", "€", "\u{1F600}", '"\\').map((text) => Buffer.from(text)),
      fc.string({ unit: "grapheme", maxLength: 30 }).map((text) => Buffer.from(text)),
      fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
      fc.integer({ min: 1, max: 20_000 }).map((count) => Buffer.alloc(count, "long ")),
      fc.integer({ min: 1, max: 6_000 }).map((count) => Buffer.alloc(count, 0x01)),
    ),
    { maxLength: 15 },
  )
  .map((parts) => Buffer.concat(parts));
const sizes = fc.array(fc.integer({ min: 1, max: 9000 }), { minLength: 1, maxLength: 8 });

test("joining the pieces gives the input, for any output in any chunks, and every piece fits a record", () => {
  fc.assert(
    fc.property(output, sizes, (data, chunkSizes) => {
      const pieces = split(chunksOf(data, chunkSizes));
      expect(rejoin(pieces).equals(data)).toBe(true);
      for (const { bytes } of pieces) {
        expect(bytes.includes(0x0a)).toBe(false);
        const message = encodeMessage(bytes);
        encodeRecord({
          run: "u".repeat(63),
          attempt: 2 ** 40,
          seq: 2 ** 50,
          time: "2026-01-01T00:00:00.000000Z",
          stream: "stdout",
          ...message,
          partial: true,
        });
      }
    }),
    { numRuns: 200 },
  );
});

test("the pieces do not depend on the chunks", () => {
  fc.assert(
    fc.property(output, sizes, (data, chunkSizes) => {
      expect(shown(split(chunksOf(data, chunkSizes)))).toEqual(shown(split([data])));
    }),
    { numRuns: 200 },
  );
});

test("joining still gives the input when open lines are flushed in between", () => {
  fc.assert(
    fc.property(output, sizes, (data, chunkSizes) => {
      const splitter = new LineSplitter();
      const pieces: Piece[] = [];
      for (const chunk of chunksOf(data, chunkSizes)) pieces.push(...splitter.push(chunk), ...splitter.flush());
      pieces.push(...splitter.end());
      expect(rejoin(pieces).equals(data)).toBe(true);
    }),
    { numRuns: 100 },
  );
});

const cases: Record<string, { chunks: string[]; want: string[] }> = {
  "lines come out when they are complete": { chunks: ["a\nb", "c\n"], want: ["a\n", "bc\n"] },
  "empty lines are lines": { chunks: ["\n\n", "x\n\n"], want: ["\n", "\n", "x\n", "\n"] },
  "carriage returns belong to the line": { chunks: ["10%\r20%\r", "100%\r\n"], want: ["10%\r20%\r100%\r\n"] },
  "the last line may lack its newline": { chunks: ["a\n", "b"], want: ["a\n", "b"] },
  "no output, no pieces": { chunks: ["", ""], want: [] },
};

test.each(Object.entries(cases))("%s", (_, { chunks, want }) => {
  expect(shown(split(chunks.map((chunk) => Buffer.from(chunk))))).toEqual(want);
});

test("a complete line is given out at once, an open one only when flushed", () => {
  const splitter = new LineSplitter();
  expect(shown(splitter.push(Buffer.from("done\nName: ")))).toEqual(["done\n"]);
  expect(splitter.pendingBytes).toBe(6);
  expect(shown(splitter.flush())).toEqual(["Name: "]);
  expect(splitter.flush()).toEqual([]);
  expect(shown(splitter.push(Buffer.from("\n")))).toEqual(["\n"]);
});

test("a flush keeps back the beginning of a character", () => {
  const splitter = new LineSplitter();
  const euro = Buffer.from("€");
  splitter.push(Buffer.concat([Buffer.from("x"), euro.subarray(0, 2)]));
  expect(shown(splitter.flush())).toEqual(["x"]);
  expect(splitter.flush()).toEqual([]);
  splitter.push(euro.subarray(2));
  expect(shown(splitter.flush())).toEqual(["€"]);
});

test("a line of 2 MiB without newline is cut into full text records, while it arrives", () => {
  const splitter = new LineSplitter();
  const line = Buffer.from("äöü€".repeat(2 ** 21 / 9));
  const pieces: Piece[] = [];
  let most = 0;
  for (const chunk of chunksOf(line, [65_536])) {
    pieces.push(...splitter.push(chunk));
    most = Math.max(most, splitter.pendingBytes);
  }
  pieces.push(...splitter.end());
  expect(most).toBeLessThanOrEqual(maxMessageBytes);
  expect(rejoin(pieces).equals(line)).toBe(true);
  expect(pieces.every(({ bytes }) => encodeMessage(bytes).encoding === undefined)).toBe(true);
  expect(pieces.length).toBe(Math.ceil(line.length / (maxMessageBytes - 4)));
});

test("one bad byte turns one piece into base64, not the rest of the line", () => {
  const line = Buffer.concat([Buffer.from("€".repeat(20_000)), Buffer.from([0xff]), Buffer.from("€".repeat(20_000))]);
  const encodings = split([line]).map(({ bytes }) => encodeMessage(bytes).encoding);
  expect(encodings.filter((encoding) => encoding === "base64")).toHaveLength(1);
  expect(encodings.length).toBeGreaterThan(6);
});

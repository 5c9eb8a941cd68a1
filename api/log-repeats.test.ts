import fc from "fast-check";
import { expect, test } from "vitest";
import { encodeMessage, type LogRecord, recordBytes } from "./log-record.ts";
import { afterEnds, beforeBegin, beginOf, endsWith, nothingDelivered, Once } from "./log-repeats.ts";

const record = (end: number, text: Uint8Array, partial: boolean): LogRecord => ({
  run: "r",
  attempt: 1,
  seq: 1,
  time: "2026-01-01T00:00:00.000000Z",
  stream: "stdout",
  ...encodeMessage(text),
  ...(partial && { partial: true }),
  end,
});

/** The records of a stream from one byte to another, cut at these places and after each newline. */
function records(bytes: Buffer, from: number, to: number, cuts: ReadonlySet<number>): LogRecord[] {
  const found: LogRecord[] = [];
  for (let begin = from, at = from + 1; at <= to; at++) {
    const isLine = bytes[at - 1] === 0x0a;
    if (!isLine && !cuts.has(at) && at < to) continue;
    found.push(record(at, bytes.subarray(begin, isLine ? at - 1 : at), !isLine));
    begin = at;
  }
  return found;
}

const text = fc
  .string({ unit: fc.constantFrom("a", "b", "\n", "ü"), minLength: 1, maxLength: 40 })
  .map((value) => Buffer.from(value));
const place = fc.nat(40);

test("a log in which every restart repeats something, cut as it likes, gives the output once, forwards and backwards", () => {
  const life = fc.record({ back: place, ahead: place, cuts: fc.array(place) });
  fc.assert(
    fc.property(text, fc.array(life, { maxLength: 4 }), (bytes, lives) => {
      const log: LogRecord[] = [];
      let printed = 0;
      for (const { back, ahead, cuts } of [...lives, { back: 3, ahead: bytes.length, cuts: [] }]) {
        const to = Math.min(bytes.length, printed + ahead);
        log.push(...records(bytes, Math.max(0, printed - back), to, new Set(cuts)));
        printed = Math.max(printed, to);
      }

      let ends = nothingDelivered;
      const forwards = log.flatMap((each) => {
        const fresh = afterEnds(each, ends);
        ends = endsWith(each, ends);
        return fresh === undefined ? [] : [Buffer.from(recordBytes(fresh))];
      });
      expect(Buffer.concat(forwards).toString()).toBe(bytes.toString());

      let begin = Number.POSITIVE_INFINITY;
      const backwards = log.toReversed().flatMap((each) => {
        const fresh = beforeBegin(each, begin);
        begin = Math.min(begin, beginOf(each));
        return fresh === undefined ? [] : [Buffer.from(recordBytes(fresh))];
      });
      expect(Buffer.concat(backwards.reverse()).toString()).toBe(bytes.toString());
    }),
  );
});

test("what is printed of many Runs passes once, and each attempt begins anew", () => {
  const once = new Once();
  const line = record(4, Buffer.from("abc"), false);
  const other = { ...line, run: "other" };
  const next = { ...line, attempt: 2 };
  const passed = [line, line, other, next, other, next].map((each) => once.take(each));
  expect(passed).toEqual([line, undefined, other, next, undefined, undefined]);
});

test("records without a position, and the platform's words, are always given", () => {
  const { end: _, ...old } = record(3, Buffer.from("ab"), false);
  const word: LogRecord = { ...old, stream: "system" };
  for (const each of [old, word]) {
    expect(afterEnds(each, { stdout: 100, stderr: 100 })).toBe(each);
    expect(beforeBegin(each, 0)).toBe(each);
    expect(endsWith(each, nothingDelivered)).toBe(nothingDelivered);
  }
});

test("the rest of a line whose beginning was given as a prompt is given alone", () => {
  const line = record(10, Buffer.from("Name: Ada"), false);
  expect(afterEnds(line, { stdout: 6, stderr: 0 })).toMatchObject({ message: "Ada", end: 10 });
  expect(afterEnds(line, { stdout: 9, stderr: 0 })).toEqual({ ...line, message: "" });
  expect(afterEnds(line, { stdout: 10, stderr: 0 })).toBeUndefined();
});

import fc from "fast-check";
import { expect, test } from "vitest";
import { encodeRecords } from "./log-lines.ts";
import { encodeMessage, encodeRecord, type LogRecord, maxLineBytes, recordBytes } from "./log-record.ts";
import { RecordLine, recordsOf } from "./record-line.ts";

const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 60 }),
  fc.string({ unit: "binary", maxLength: 60 }).map((text) => Buffer.from(text)),
  // What is meant to be taken for the end of a record, or for another one.
  fc
    .array(
      fc.constantFrom(
        '"',
        "\\",
        "}",
        ',"end":7',
        ',"last":true}',
        '{"run":"u","attempt":1',
        "\u001b[32m",
        "é",
        "\u2028",
      ),
    )
    .map((parts) => Buffer.from(parts.join(""))),
);

const record: fc.Arbitrary<LogRecord> = fc
  .record({
    attempt: fc.integer({ min: 1, max: 1000 }),
    seq: fc.integer({ min: 1, max: 1e12 }),
    stream: fc.constantFrom("stdout" as const, "stderr" as const, "system" as const),
    bytes,
    partial: fc.boolean(),
    end: fc.option(fc.integer({ min: 1, max: 1e12 }), { nil: undefined }),
    last: fc.boolean(),
  })
  .map(({ attempt, seq, stream, bytes, partial, end, last }) => ({
    run: "8d7b9a54-3f0e-4a57-9b36-5c5f4ef0c2a1",
    attempt,
    seq,
    time: "2026-01-02T15:04:05.000001Z",
    stream,
    ...encodeMessage(bytes),
    ...(partial && { partial }),
    ...(end && { end }),
    ...(last && { last }),
  }));

test("a line is read as what it was made of, and shown as it would be written", () => {
  fc.assert(
    fc.property(record, fc.boolean(), (one, isCut) => {
      const line = isCut ? encodeRecord(one).slice(0, -1) : encodeRecord(one);
      const [read] = RecordLine.read(line);
      const { run: _, end, last, ...shown } = one;
      expect(read).toMatchObject({ attempt: one.attempt, seq: one.seq, time: one.time, stream: one.stream });
      expect([read?.end, read?.last]).toEqual([end, last ?? false]);
      expect(JSON.parse(`{${read?.members}}`)).toEqual(shown);
      expect(read?.bytes).toBe(recordBytes(one).length);
      expect(read?.record()).toEqual(one);
      expect([RecordLine.of(one)]).toEqual(RecordLine.read(encodeRecord(one)));
    }),
  );
});

/** Lines of one stream as an agent makes them of what a program wrote: each record tells where in the stream it ends. */
const output: fc.Arbitrary<readonly LogRecord[]> = fc
  .record({
    seq: fc.integer({ min: 1, max: 1e9 }),
    begin: fc.integer({ min: 0, max: 1e9 }),
    lines: fc.array(
      fc.record({
        bytes: fc.oneof(
          bytes,
          fc.integer({ min: 0, max: 9000 }).map((size) => Buffer.alloc(size, "x")),
        ),
        kind: fc.constantFrom(..."lllllllpmtse"),
      }),
      { minLength: 1, maxLength: 12 },
    ),
  })
  .map(({ seq, begin, lines }) => {
    let end = begin;
    return lines.map(({ bytes, kind }, index): LogRecord => {
      const partial = kind === "p";
      // Where a secret was masked the stream is longer than what is shown; there may also be words of the platform in between.
      end += bytes.length + (partial ? 0 : 1) + (kind === "m" ? 7 : 0);
      return {
        run: "8d7b9a54-3f0e-4a57-9b36-5c5f4ef0c2a1",
        attempt: 1,
        seq: seq + index,
        time: `2026-01-02T15:04:05.00000${kind === "t" ? 1 : 2}Z`,
        stream: kind === "s" ? "system" : kind === "e" ? "stderr" : "stdout",
        ...encodeMessage(bytes),
        ...(partial && { partial }),
        ...(kind !== "s" && { end }),
      };
    });
  });

test("records that share lines are read as what they were", () => {
  fc.assert(
    fc.property(output, (records) => {
      const lines = encodeRecords(records).split(/(?<=\n)/);
      expect(lines.flatMap(recordsOf)).toEqual(records);
      for (const line of lines) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(maxLineBytes);
      const read = lines.flatMap((line) => RecordLine.read(line));
      // Each is shown as if it had a line of its own.
      const alone = records.flatMap((record) => RecordLine.read(encodeRecord(record)));
      expect(read).toEqual(alone);
    }),
    { numRuns: 300 },
  );
});

test("short lines that came together share a line up to its full length, others do not", () => {
  const line = (index: number, message: string, more?: Partial<LogRecord>): LogRecord => {
    const end = (index + 1) * (message.length + 1);
    return { run: "u", attempt: 1, seq: index + 1, time: "t", stream: "stdout", message, end, ...more };
  };
  const sizes = (records: readonly LogRecord[]) =>
    encodeRecords(records)
      .split("\n")
      .slice(0, -1)
      .map((text) => recordsOf(text).length);
  const many = Array.from({ length: 1000 }, (_, index) => line(index, "x".repeat(99)));
  expect(sizes(many)[0]).toBeGreaterThan(150);
  expect(sizes([0, 1, 2, 3].map((index) => line(index, "x".repeat(8000))))).toEqual([2, 2]);
  const three = (more: Partial<LogRecord>) => [line(0, "a"), line(1, "b", more), line(2, "c")];
  expect(sizes(three({}))).toEqual([3]);
  expect(sizes(three({ time: "later" }))).toEqual([1, 1, 1]);
  expect(sizes(three({ stream: "stderr" }))).toEqual([1, 1, 1]);
  expect(sizes(three({ partial: true }))).toEqual([1, 1, 1]);
  expect(sizes(three({ end: 9 }))).toEqual([1, 1, 1]);
  expect(sizes(three({ attempt: 2 }))).toEqual([1, 1, 1]);
  expect(sizes(three({ run: "v" }))).toEqual([1, 1, 1]);
  expect(sizes(three({ seq: 9 }))).toEqual([1, 1, 1]);
});

test("half a line is none, whatever comes after it", () => {
  fc.assert(
    fc.property(output, output, fc.nat(), (ones, others, at) => {
      const [line = ""] = encodeRecords(ones).split("\n");
      const half = line.slice(0, at % line.length);
      expect(RecordLine.read(half)).toEqual([]);
      // As the first half of a line that was broken off, and the line that came next.
      const [next = ""] = encodeRecords(others).split("\n");
      if (half !== "") expect(RecordLine.read(half + next)).toEqual([]);
    }),
  );
});

const good = { run: "u", attempt: 1, seq: 2, time: "t", stream: "stdout", message: "m" };
const shared = (messages: string) =>
  `{"run":"u","attempt":1,"seq":2,"time":"t","stream":"stdout","messages":${messages},"end":4}`;
const bad: Record<string, string> = {
  "an empty line": "",
  "words of the agent": "2026 started",
  "another JSON": '{"level":"info"}',
  "no attempt": JSON.stringify({ ...good, attempt: undefined }),
  "attempt 0": JSON.stringify({ ...good, attempt: 0 }),
  "a number that is too large": JSON.stringify({ ...good, seq: 1 }).replace("1,", `${"9".repeat(30)},`),
  "another stream": JSON.stringify({ ...good, stream: "stdin" }),
  "a message that is no text": JSON.stringify({ ...good, message: 1 }),
  "another order": JSON.stringify({ ...good, attempt: undefined, seq: 1, time: "t" }).replace("}", ',"attempt":1}'),
  "another member": JSON.stringify({ ...good, more: 1 }),
  "something behind it": `${JSON.stringify(good)} `,
  "no messages": shared("[]"),
  "messages that are no texts": shared("[1,2]"),
  "messages without their end": shared('["a","b"]').replace(',"end":4', ""),
  "messages that are longer than their stream": shared('["a","bcde"]'),
  "messages and one more": shared('["a"],"message":"b"'),
  "a list that is not closed": shared('["a","b"'),
};

test.each(Object.entries(bad))("no record: %s", (_, line) => {
  expect(RecordLine.read(line)).toEqual([]);
});

test("the records of a shared line begin and end where the one before ends", () => {
  const read = RecordLine.read(shared('["a","b"]'));
  expect(read.map(({ seq, end, bytes }) => ({ seq, end, bytes }))).toEqual([
    { seq: 2, end: 2, bytes: 2 },
    { seq: 3, end: 4, bytes: 2 },
  ]);
});

import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeRecord, encodeMessage, encodeRecord, type LogRecord, recordBytes } from "./log-record.ts";
import { RecordLine } from "./record-line.ts";

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
      const read = RecordLine.read(line);
      const { run: _, end, last, ...shown } = one;
      expect(read).toMatchObject({ attempt: one.attempt, seq: one.seq, time: one.time, stream: one.stream });
      expect([read?.end, read?.last]).toEqual([end, last ?? false]);
      expect(JSON.parse(`{${read?.members}}`)).toEqual(shown);
      expect(read?.bytes()).toBe(recordBytes(one).length);
      expect(read?.record()).toEqual(one);
      expect(RecordLine.of(one)).toEqual(RecordLine.read(encodeRecord(one)));
    }),
  );
});

test("half a line is none, whatever comes after it", () => {
  fc.assert(
    fc.property(record, record, fc.nat(), (one, other, at) => {
      const line = encodeRecord(one).slice(0, -1);
      const half = line.slice(0, at % line.length);
      expect(RecordLine.read(half)).toBeUndefined();
      // As the first half of a line that was broken off, and the line that came next.
      if (half !== "") expect(RecordLine.read(half + encodeRecord(other))).toBeUndefined();
    }),
  );
});

const good = { run: "u", attempt: 1, seq: 2, time: "t", stream: "stdout", message: "m" };
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
};

test.each(Object.entries(bad))("no record: %s", (_, line) => {
  expect(RecordLine.read(line)).toBeUndefined();
});

test("what is read is what the decoder of whole records reads", () => {
  expect(RecordLine.read(JSON.stringify(good))?.record()).toEqual(decodeRecord(JSON.stringify(good)));
});

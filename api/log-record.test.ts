import fc from "fast-check";
import { expect, test } from "vitest";
import {
  encodeMessage,
  encodeRecord,
  type LogRecord,
  linePrefix,
  maxLineBytes,
  maxMessageBytes,
  recordBytes,
} from "#api/log-record.ts";
import { recordsOf } from "#api/record-line.ts";

const uid = "6a1f5a0e-5c1d-4f7e-9b9a-0d7d1b8a4c11";
const base: LogRecord = {
  run: uid,
  attempt: 1,
  seq: 7,
  time: "2026-01-01T00:00:00.000001Z",
  stream: "stdout",
  message: "hello",
};

test("a record is one line that starts with the UID of its Run", () => {
  expect(encodeRecord(base)).toBe(
    `{"run":"${uid}","attempt":1,"seq":7,"time":"2026-01-01T00:00:00.000001Z","stream":"stdout","message":"hello"}\n`,
  );
  expect(encodeRecord({ ...base, partial: true, encoding: "base64" })).toMatch(
    /,"partial":true,"encoding":"base64"}\n$/,
  );
  expect(encodeRecord(base).startsWith(linePrefix(uid))).toBe(true);
});

test("a UID that begins like another is not taken for it", () => {
  expect(encodeRecord({ ...base, run: `${uid}a` }).startsWith(linePrefix(uid))).toBe(false);
});

test("the largest message fits a line with the largest other fields", () => {
  const record: LogRecord = {
    run: "u".repeat(63),
    attempt: Number.MAX_SAFE_INTEGER,
    seq: Number.MAX_SAFE_INTEGER,
    time: base.time,
    stream: "stdout",
    message: "x".repeat(maxMessageBytes),
    partial: true,
    encoding: "base64",
  };
  expect(Buffer.byteLength(encodeRecord(record))).toBeLessThanOrEqual(maxLineBytes);
});

test("a message that does not fit is refused, counted in bytes after escaping", () => {
  expect(() => encodeRecord({ ...base, message: "ö".repeat(maxLineBytes / 2) })).toThrow(/over 16383; cut its message/);
  expect(() => encodeRecord({ ...base, message: "\u0001".repeat(4000) })).toThrow(RangeError);
});

test("a UID that could break out of its place is refused", () => {
  expect(() => encodeRecord({ ...base, run: 'x","stream":"system' })).toThrow(/is not the UID/);
  expect(() => encodeRecord({ ...base, run: "" })).toThrow(RangeError);
});

const records = fc.record(
  {
    run: fc.uuid(),
    attempt: fc.integer({ min: 1 }),
    seq: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
    time: fc.constant(base.time),
    stream: fc.constantFrom("stdout", "stderr", "system"),
    message: fc.string({ unit: "binary", maxLength: 500 }),
    partial: fc.constant(true as const),
  },
  { requiredKeys: ["run", "attempt", "seq", "time", "stream", "message"] },
);

test("encoding and decoding are inverse, and a record is always one line", () => {
  fc.assert(
    fc.property(records, (record) => {
      const line = encodeRecord(record as LogRecord);
      expect(line.indexOf("\n")).toBe(line.length - 1);
      expect(recordsOf(line)).toEqual([record]);
      expect(recordsOf(line.trimEnd())).toEqual([record]);
    }),
  );
});

test("any bytes survive as a message", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.boolean(), (bytes, partial) => {
      const record: LogRecord = { ...base, ...encodeMessage(bytes), ...(partial && { partial }) };
      const [back] = recordsOf(encodeRecord(record));
      expect(back && Buffer.from(recordBytes(back))).toEqual(Buffer.concat([bytes, Buffer.from(partial ? "" : "\n")]));
    }),
  );
});

const raw: Record<string, { bytes: number[]; want: { message: string; encoding?: string } }> = {
  "text stays text": { bytes: [...Buffer.from("größe\r")], want: { message: "größe\r" } },
  "an empty line is an empty message": { bytes: [], want: { message: "" } },
  "a byte order mark is kept": { bytes: [0xef, 0xbb, 0xbf, 0x61], want: { message: "\uFEFFa" } },
  "other bytes become base64": { bytes: [0xff, 0x00], want: { message: "/wA=", encoding: "base64" } },
  "half a character becomes base64": { bytes: [0xe2, 0x82], want: { message: "4oI=", encoding: "base64" } },
};

test.each(Object.entries(raw))("%s", (_, { bytes, want }) => {
  expect(encodeMessage(Uint8Array.from(bytes))).toEqual(want);
});

const line = encodeRecord(base).trimEnd();
const foreign: Record<string, string> = {
  "an empty line": "",
  text: "Server listening on 9093",
  "a log line of the agent": '{"level":"info","time":"2026-01-01T00:00:00Z","message":"claimed"}',
  "half a record": line.slice(0, -10),
  "a record with another field first": `{"seq":1,${line.slice(1)}`,
  "an attempt that is no number": line.replace('"attempt":1', '"attempt":"1"'),
  "attempt 0": line.replace('"attempt":1', '"attempt":0'),
  "a fractional seq": line.replace('"seq":7', '"seq":7.5'),
  "an unknown stream": line.replace('"stdout"', '"audit"'),
  "an unknown encoding": line.replace("}", ',"encoding":"hex"}'),
  "partial that is not true": line.replace("}", ',"partial":false}'),
  "no message": line.replace(',"message":"hello"', ""),
  "something after the record": `${line} x`,
};

test.each(Object.entries(foreign))("not a record: %s", (_, text) => {
  expect(recordsOf(text)).toEqual([]);
});

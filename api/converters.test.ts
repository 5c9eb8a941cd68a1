import fc from "fast-check";
import { expect, test } from "vitest";
import { formatDuration, parseDuration } from "./duration.ts";
import { fnv1a32, hash8, sha256 } from "./hash.ts";
import { jsonBytes, jsonEqual, stableJson } from "./json.ts";
import { wholeNumber, wholeNumbers } from "./quantity.ts";
import { parseTime, timestamp } from "./time.ts";

const durations: Record<string, { text: string | undefined; ms: number | undefined }> = {
  seconds: { text: "90s", ms: 90_000 },
  "a row of units": { text: "1h30m", ms: 5_400_000 },
  "milliseconds are not minutes": { text: "250ms", ms: 250 },
  "a fraction": { text: "1.5s", ms: 1500 },
  zero: { text: "0s", ms: 0 },
  absent: { text: undefined, ms: undefined },
  "no unit": { text: "90", ms: undefined },
  "a sign": { text: "-5s", ms: undefined },
  "a fraction that floating point would miss": { text: "8.05s", ms: 8050 },
  "another one": { text: "1m32.07s", ms: 92_070 },
  "more digits than a double holds": { text: `0.5${"0".repeat(400)}s`, ms: 500 },
  "days are not a unit": { text: "1d", ms: undefined },
  nothing: { text: "", ms: undefined },
  "space around": { text: " 5s", ms: undefined },
};

test.each(Object.entries(durations))("duration: %s", (_, { text, ms }) => {
  expect(parseDuration(text)).toBe(ms);
});

test.each([
  [0, "0s"],
  [-5, "0s"],
  [0.25, "0.25ms"],
  [250, "250ms"],
  [1234, "1.234s"],
  [90_000, "1m30s"],
  [90_061_000, "25h1m1s"],
  [3_600_000, "1h0m0s"],
  [59_999.9996, "1m0s"],
])("%d ms is written %s", (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

test("every written duration is read back to the millisecond", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 1e11 }), (ms) => {
      expect(parseDuration(formatDuration(ms))).toBe(ms);
    }),
  );
});

const quantities: Record<string, { text: string | number; value: number | undefined }> = {
  "a number": { text: 2, value: 2 },
  "a text": { text: "2", value: 2 },
  thousands: { text: "2k", value: 2000 },
  binary: { text: "1Ki", value: 1024 },
  "an exponent": { text: "1e3", value: 1000 },
  "thousandths that make a whole": { text: "2000m", value: 2 },
  "half of one": { text: "500m", value: undefined },
  "a fraction": { text: 1.5, value: undefined },
  "a fraction that a suffix makes whole": { text: "1.5k", value: 1500 },
  "a fraction that floating point would miss": { text: "1.001k", value: 1001 },
  "a fraction of a binary suffix": { text: "0.5Ki", value: 512 },
  "an exponent below zero": { text: "2000e-3", value: 2 },
  "more digits than anybody writes": { text: `${"0".repeat(99)}1`, value: undefined },
  negative: { text: -1, value: undefined },
  "a word": { text: "two", value: undefined },
  "a suffix alone": { text: "k", value: undefined },
  "exponent and suffix": { text: "1e3k", value: undefined },
  "beyond exact numbers": { text: "9007199254740993", value: undefined },
  nothing: { text: "", value: undefined },
};

test.each(Object.entries(quantities))("quantity: %s", (_, { text, value }) => {
  expect(wholeNumber(text)).toBe(value);
});

test("one bad quantity spoils the map", () => {
  expect(wholeNumbers({ runs: "2", gpu: 1 })).toEqual({ runs: 2, gpu: 1 });
  expect(wholeNumbers({ runs: "2", gpu: "500m" })).toBeUndefined();
});

test("a time has six digits of fraction and is read back unchanged", () => {
  expect(timestamp(0)).toBe("1970-01-01T00:00:00.000000Z");
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4e9 }), fc.integer({ min: 0, max: 999_999 }), (seconds, micros) => {
      const text = `${new Date(seconds * 1000).toISOString().slice(0, 19)}.${String(micros).padStart(6, "0")}Z`;
      expect(timestamp(parseTime(text) ?? Number.NaN)).toBe(text);
    }),
  );
});

const times: Record<string, { text: string | undefined; ms: number | undefined }> = {
  "whole seconds": { text: "1970-01-01T00:00:01Z", ms: 1000 },
  "an offset": { text: "1970-01-01T01:00:00+01:00", ms: 0 },
  "small letters": { text: "1970-01-01t00:00:00z", ms: 0 },
  "nanoseconds are cut to microseconds": { text: "1970-01-01T00:00:00.000001999Z", ms: 0.001 },
  absent: { text: undefined, ms: undefined },
  "a date alone": { text: "1970-01-01", ms: undefined },
  "no zone": { text: "1970-01-01T00:00:00", ms: undefined },
  "no such month": { text: "1970-13-01T00:00:00Z", ms: undefined },
};

test.each(Object.entries(times))("time: %s", (_, { text, ms }) => {
  expect(parseTime(text)).toBe(ms);
});

test("equal values have one text whatever the order of their members", () => {
  expect(stableJson({ b: [1, null, undefined], a: { y: "é", x: undefined } })).toBe(
    '{"a":{"y":"é"},"b":[1,null,null]}',
  );
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(jsonEqual(JSON.parse(stableJson(value)), JSON.parse(JSON.stringify(value)))).toBe(true);
    }),
  );
});

test.each([
  ["another order of members", { a: 1, b: 2 }, { b: 2, a: 1 }, true],
  ["an undefined member", { a: 1, b: undefined }, { a: 1 }, true],
  ["another order of items", [1, 2], [2, 1], false],
  ["a list and a map", [], {}, false],
  ["null and nothing", { a: null }, {}, false],
  ["a number and its text", 1, "1", false],
  ["one member more", { a: 1 }, { a: 1, b: 1 }, false],
  ["another name of equal count", { a: undefined, b: 1 }, { c: 1 }, false],
])("equality: %s", (_, a, b, want) => {
  expect(jsonEqual(a, b)).toBe(want);
  expect(jsonEqual(b, a)).toBe(want);
});

test("sizes are counted in bytes", () => {
  expect(jsonBytes({ a: "é" })).toBe(10);
  expect(jsonBytes(undefined)).toBe(0);
});

test("hashes are those of the published algorithms", () => {
  // Vectors of FNV-1a 32 by its authors, and of SHA-256 by NIST.
  expect(fnv1a32("")).toBe(0x811c9dc5);
  expect(fnv1a32("a")).toBe(0xe40c292c);
  expect(fnv1a32("foobar")).toBe(0xbf9cf968);
  expect(sha256("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  expect(hash8({ a: 1, b: 2 })).toBe(hash8({ b: 2, a: 1 }));
  expect(hash8(["a", "b"])).not.toBe(hash8(["ab"]));
});

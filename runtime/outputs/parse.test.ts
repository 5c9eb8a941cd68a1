import fc from "fast-check";
import { expect, test } from "vitest";
import { outputLimits, outputReadBytes, parseOutputs } from "#runtime/outputs/parse.ts";

const good: Record<string, { file: string; want: Record<string, string> }> = {
  "an empty file has no outputs": { file: "", want: {} },
  "one line is one output": { file: "tests=passed\n", want: { tests: "passed" } },
  "the last line needs no newline": { file: "a=1\nb=2", want: { a: "1", b: "2" } },
  "blank lines are skipped": { file: "\n  \n\t\na=1\n\r\n\n", want: { a: "1" } },
  "a value may be empty": { file: "a=\n", want: { a: "" } },
  "values keep their spaces": { file: "a=  x  \n", want: { a: "  x  " } },
  "the first equals sign ends the key": { file: "url=http://h/?a=b==\n", want: { url: "http://h/?a=b==" } },
  "a carriage return at the end of a line is part of the line ending": {
    file: "a=1\r\nb=2\r\n",
    want: { a: "1", b: "2" },
  },
  "a carriage return inside a value stays": { file: "a=1\r2\n", want: { a: "1\r2" } },
  "the last of several values counts": { file: "a=1\nb=2\na=3\n", want: { a: "3", b: "2" } },
  "a block has several lines": { file: "notes<<EOF\none\ntwo\nEOF\n", want: { notes: "one\ntwo" } },
  "a block may be empty": { file: "a<<X\nX\n", want: { a: "" } },
  "a block may hold one empty line": { file: "a<<X\n\n\nX\n", want: { a: "\n" } },
  "a block keeps its carriage returns, its end may have one": {
    file: "a<<X\r\n1\r\n2\r\nX\r\n",
    want: { a: "1\r\n2\r" },
  },
  "lines of a block are not outputs": { file: "a<<X\nb=1\nc<<Y\nX\nd=2\n", want: { a: "b=1\nc<<Y", d: "2" } },
  "only the exact delimiter ends a block": { file: "a<<X\n X\nXX\nX \nX\n", want: { a: " X\nXX\nX " } },
  "a block may end with the file": { file: "a<<X\n1\nX", want: { a: "1" } },
  "a << after the equals sign is part of the value": { file: "a=1<<2\n", want: { a: "1<<2" } },
  "an equals sign after << is part of the delimiter": { file: "a<<X=Y\n1\nX=Y\n", want: { a: "1" } },
  "letters of any script are fine": { file: "größe=10 µm\n", want: { größe: "10 µm" } },
  "a byte order mark is skipped": { file: "\uFEFFa=1\n", want: { a: "1" } },
  "keys may look like members of objects": {
    file: "__proto__=1\nconstructor=2\n",
    want: JSON.parse('{"__proto__":"1","constructor":"2"}'),
  },
};

test.each(Object.entries(good))("%s", (_, { file, want }) => {
  const parsed = parseOutputs(Buffer.from(file));
  expect(parsed).toEqual({ ok: true, outputs: want });
  expect(parsed.ok && Object.keys(parsed.outputs).sort()).toEqual(Object.keys(want).sort());
});

const key = (bytes: number) => "k".repeat(bytes);
const lines = (count: number) => Array.from({ length: count }, (_, i) => `k${i}=v\n`).join("");
const bytes = (...parts: (string | number[])[]) => Buffer.concat(parts.map((part) => Buffer.from(part as string)));

const bad: Record<string, { file: Buffer; reason: string; message: RegExp }> = {
  "a line without = or <<": {
    file: bytes("a=1\n\nhello\n"),
    reason: "OutputsInvalid",
    message: /line 3: "hello" is neither/,
  },
  "a comment": { file: bytes("# done\n"), reason: "OutputsInvalid", message: /line 1/ },
  "an empty key": { file: bytes("=1\n"), reason: "OutputsInvalid", message: /line 1: the key before/ },
  "an empty key of a block": { file: bytes("<<X\nX\n"), reason: "OutputsInvalid", message: /line 1: the key before/ },
  "a key with a space": {
    file: bytes("a b=1\n"),
    reason: "OutputsInvalid",
    message: /line 1: the key "a b" contains a space/,
  },
  "a space before the equals sign": {
    file: bytes("a =1\n"),
    reason: "OutputsInvalid",
    message: /"a " contains a space/,
  },
  "a key with a NUL": { file: bytes("a\0=1\n"), reason: "OutputsInvalid", message: /control character/ },
  "a block without delimiter": {
    file: bytes("a<<\n1\n\n"),
    reason: "OutputsInvalid",
    message: /line 1: the delimiter after "a<<"/,
  },
  "a block that does not end": {
    file: bytes("b=1\na<<EOF\n1\nEOF2\n"),
    reason: "OutputsInvalid",
    message: /line 2: no later line is exactly "EOF"/,
  },
  "bytes that are not UTF-8": {
    file: bytes("a=1\nb=", [0xff], "\n"),
    reason: "OutputsInvalid",
    message: /line 2: the line is not valid UTF-8/,
  },
  "an overlong UTF-8 form": { file: bytes("a=", [0xc0, 0xaf], "\n"), reason: "OutputsInvalid", message: /line 1/ },
  "a lone surrogate": { file: bytes("x=1\n\na=", [0xed, 0xa0, 0x80]), reason: "OutputsInvalid", message: /line 3/ },
  "a UTF-8 sequence cut by the end": { file: bytes("a=", [0xe2, 0x82]), reason: "OutputsInvalid", message: /line 1/ },
  "UTF-16 text": { file: Buffer.from("\uFEFFa=1\n", "utf16le"), reason: "OutputsInvalid", message: /UTF-8/ },
  "65 keys": {
    file: bytes(lines(65)),
    reason: "OutputsTooLarge",
    message: /line 65: "k64" is one key more than the 64/,
  },
  "a key of 129 bytes": {
    file: bytes(`${key(129)}=1`),
    reason: "OutputsTooLarge",
    message: /line 1: .*129 bytes, over the limit of 128/,
  },
  "a key of 65 two-byte letters": {
    file: bytes(`${"ö".repeat(65)}=1`),
    reason: "OutputsTooLarge",
    message: /130 bytes/,
  },
  "a value of 8193 bytes": {
    file: bytes(`x=1\na=${key(8193)}`),
    reason: "OutputsTooLarge",
    message: /line 2: the value of "a" has 8193 bytes, over the limit of 8192/,
  },
  "a block of 8193 bytes": {
    file: bytes(`a<<X\n${key(4096)}\n${key(4096)}\nX\n`),
    reason: "OutputsTooLarge",
    message: /line 1: .*8193/,
  },
  "a file of 65537 bytes": {
    file: Buffer.alloc(65537, "k=v\n"),
    reason: "OutputsTooLarge",
    message: /line 16385: the file exceeds 65536 bytes/,
  },
  "a file cut in the middle of a character": {
    file: Buffer.from("ö".repeat(40_000)).subarray(0, outputReadBytes),
    reason: "OutputsTooLarge",
    message: /line 1: the file exceeds 65536/,
  },
};

test.each(Object.entries(bad))("refused: %s", (_, { file, reason, message }) => {
  const parsed = parseOutputs(file);
  expect(parsed).toMatchObject({ ok: false, reason });
  expect(!parsed.ok && parsed.message).toMatch(message);
});

test("everything at its limit is accepted", () => {
  expect(parseOutputs(bytes(lines(64))).ok).toBe(true);
  expect(parseOutputs(bytes(lines(64), lines(64))).ok).toBe(true);
  expect(parseOutputs(bytes(`${key(outputLimits.keyBytes)}=${key(outputLimits.valueBytes)}`)).ok).toBe(true);
  expect(parseOutputs(Buffer.alloc(outputLimits.totalBytes, "k=v\n")).ok).toBe(true);
});

test("messages stay short and printable whatever the line is", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), (file) => {
      const parsed = parseOutputs(file);
      if (parsed.ok) return;
      expect(parsed.message.length).toBeLessThan(400);
      expect(parsed.message).not.toMatch(/\p{Cc}/u);
    }),
  );
});

test("what is written as blocks is read back", () => {
  const keys = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_-]{0,20}$/);
  const values = fc.string({ unit: "grapheme", maxLength: 50 }).filter((value) => value.isWellFormed());
  fc.assert(
    fc.property(fc.dictionary(keys, values, { maxKeys: 20 }), (outputs) => {
      const file = Object.entries(outputs).map(([name, value]) => `${name}<<--end--\n${value}\n--end--\n`);
      expect(parseOutputs(Buffer.from(file.join("")))).toEqual({ ok: true, outputs: { ...outputs } });
    }),
  );
});

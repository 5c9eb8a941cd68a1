import assert from "node:assert/strict";
import fc from "fast-check";
import {
  decodeRecord,
  encodeMessage,
  encodeRecord,
  type LogRecord,
  linePrefix,
  maxLineBytes,
  recordBytes,
} from "#api/log-record.ts";
import { RecordLine } from "#api/record-line.ts";
import { LineSplitter } from "#runtime/logs/splitter.ts";
import { mutatedText } from "../mutate.ts";
import { defineTarget } from "../target.ts";

const own = "5d0c3f1e-own";
const foreign = "77aa-other";
const record = (fields: Partial<LogRecord> = {}): LogRecord => ({
  run: own,
  attempt: 1,
  seq: 1,
  time: "2026-01-01T00:00:00.000001Z",
  stream: "stdout",
  message: "hello",
  ...fields,
});
const lines = [
  record({ end: 6 }),
  record({ stream: "stderr", message: 'quoted "text" \\ and é\t', partial: true, end: 30, seq: 9 }),
  record({ message: "/4A=", encoding: "base64", end: 3, attempt: 2 }),
  record({ stream: "system", message: "", last: true }),
  record({ run: foreign, message: linePrefix(own) }),
].map(encodeRecord);
const tokens = [
  '"',
  "\\",
  '","run":"',
  linePrefix(own),
  linePrefix(foreign),
  '{"run":"',
  "}",
  ',"seq":2',
  "\n",
  "é",
  "\u0000",
  "1e3",
  '"end":0',
];

/** How the agent makes lines of what a program prints, and how they are read. */
export interface Records {
  encode(record: LogRecord): string;
  decode(line: string): LogRecord | undefined;
  read(line: string): RecordLine | undefined;
}

const real: Records = { encode: encodeRecord, decode: decodeRecord, read: (line) => RecordLine.read(line) };

export const recordLines = ({ decode, read }: Records = real) =>
  defineTarget({
    name: "record-lines",
    holds:
      "any line is a record or none; both readers agree on every line that the agent can have written, and its Run is the one that its beginning names",
    outcomes: ["a record", "no record"],
    inputs: mutatedText(lines, tokens),
    check(line) {
      const [whole, quick] = [decode(line), read(line)];
      // The quick reader is for lines of the agent; others, like those in which a member stands twice, it may take for something else.
      if (whole === undefined || !isWritten(whole, line)) return "no record";
      assert(quick !== undefined, "what one reader takes, the other takes");
      for (const name of ["attempt", "seq", "time", "stream", "end"] as const)
        assert.equal(quick[name], whole[name], name);
      assert.equal(quick.last, whole.last === true);
      assert.equal(quick.bytes(), recordBytes(whole).byteLength, "bytes");
      for (const run of [own, foreign]) assert.equal(line.startsWith(linePrefix(run)), whole.run === run, "the Run");
      const { run: _, end: _end, last: _last, ...shown } = whole;
      assert.deepEqual(JSON.parse(`{${quick.members}}`), shown);
      return "a record";
    },
  });

function isWritten(record: LogRecord, line: string): boolean {
  const isBase64 =
    record.encoding === undefined || Buffer.from(record.message, "base64").toString("base64") === record.message;
  try {
    return isBase64 && encodeRecord(record) === line;
  } catch {
    return false;
  }
}

export const printedOutput = ({ encode, decode, read }: Records = real) =>
  defineTarget({
    name: "printed-output",
    holds: "whatever a program prints becomes records of its own Run that fit a line and give back every byte",
    outcomes: ["text", "bytes"],
    inputs: fc.record({
      output: fc.oneof(
        mutatedText([...lines, "plain\n", "\r\n"], tokens).map((text) => Buffer.from(text)),
        fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
        fc
          .tuple(fc.uint8Array({ minLength: 1, maxLength: 5 }), fc.nat({ max: 40_000 }))
          .map(([part, size]) => Buffer.alloc(size, part)),
      ),
      cuts: fc.array(fc.nat({ max: 0xffff }), { maxLength: 5 }),
    }),
    show: ({ output, cuts }) => `${JSON.stringify(cuts)} ${output.toString("base64")}`,
    check({ output, cuts }) {
      const splitter = new LineSplitter();
      const places = [...cuts.map((cut) => cut % (output.length + 1)), 0, output.length].sort((a, b) => a - b);
      const pieces = places.slice(1).flatMap((to, index) => splitter.push(output.subarray(places[index], to)));
      pieces.push(...splitter.end());
      let hasBytes = false;
      const printed = pieces.map(({ bytes, partial }, index) => {
        const message = encodeMessage(bytes);
        hasBytes ||= message.encoding !== undefined;
        const line = encode(record({ ...message, seq: index + 1, ...(partial && { partial }) }));
        assert(Buffer.byteLength(line) <= maxLineBytes, "it fits");
        assert.equal(line.indexOf("\n"), line.length - 1, "it is one line");
        assert(!line.startsWith(linePrefix(foreign)), "it is nobody else's");
        const found = decode(line);
        assert(found !== undefined && read(line) !== undefined, "it is read");
        assert.equal(found.run, own);
        return recordBytes(found);
      });
      assert(Buffer.concat(printed).equals(output), "every byte comes back");
      return hasBytes ? "bytes" : "text";
    },
  });

import assert from "node:assert/strict";
import fc from "fast-check";
import { encodeRecords } from "#api/log-lines.ts";
import {
  encodeMessage,
  type LogRecord,
  linePrefix,
  maxLineBytes,
  recordBytes,
  recordOpening,
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
].map((one) => encodeRecords([one]));
lines.push(
  encodeRecords(
    ["a", "", 'b"\\', "é"].map((message, n) => record({ message, seq: n + 1, end: [2, 3, 7, 10][n] ?? 0 })),
  ),
);
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
  '","',
  '"],"end":',
];

/** How the agent makes lines of what a program prints, and how they are read. */
export interface Records {
  encode(records: readonly LogRecord[]): string;
  /** A reader that takes all of a line as JSON. */
  decode(line: string): readonly LogRecord[];
  read(line: string): readonly RecordLine[];
}

export const realRecords: Records = { encode: encodeRecords, decode: parsed, read: (line) => RecordLine.read(line) };

function parsed(line: string): LogRecord[] {
  if (!line.startsWith(recordOpening)) return [];
  try {
    const { messages, ...rest } = JSON.parse(line) as LogRecord & { readonly messages?: readonly string[] };
    if (messages === undefined) return [rest];
    let end = rest.end ?? 0;
    const lastFirst = messages.toReversed().map((message, index) => {
      const one = { ...rest, message, seq: rest.seq + messages.length - 1 - index, end };
      end -= Buffer.byteLength(message) + 1;
      return one;
    });
    return lastFirst.reverse();
  } catch {
    return [];
  }
}

export const recordLines = ({ decode, read }: Records = realRecords) =>
  defineTarget({
    name: "record-lines",
    holds:
      "any line is a record or none; both readers agree on every line that the agent can have written, and its Run is the one that its beginning names",
    outcomes: ["a record", "records", "no record"],
    inputs: mutatedText(lines, tokens),
    check(line) {
      const [wholes, quicks] = [decode(line), read(line)];
      // The quick reader is for lines of the agent; others, like those in which a member stands twice, it may take for something else.
      if (!isWritten(wholes, line)) return "no record";
      assert.equal(quicks.length, wholes.length, "what one reader takes, the other takes");
      for (const [index, whole] of wholes.entries()) {
        const quick = quicks[index];
        assert(quick !== undefined);
        for (const name of ["attempt", "seq", "time", "stream", "end"] as const)
          assert.equal(quick[name], whole[name], name);
        assert.equal(quick.last, whole.last === true);
        assert.equal(quick.bytes, recordBytes(whole).byteLength, "bytes");
        for (const run of [own, foreign]) assert.equal(line.startsWith(linePrefix(run)), whole.run === run, "the Run");
        const { run: _, end: _end, last: _last, ...shown } = whole;
        assert.deepEqual(JSON.parse(`{${quick.members}}`), shown);
      }
      return wholes.length > 1 ? "records" : "a record";
    },
  });

/** Whether the fields are such as an agent writes; of the text that is one line the encoder does not ask. */
function hasFields(record: LogRecord): boolean {
  const { attempt, seq, time, stream, message, encoding, end } = record;
  const isCount = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 1;
  const isStream = ["stdout", "stderr", "system"].includes(stream);
  const isText = typeof message === "string" && typeof time === "string" && /^[^"\\]+$/.test(time);
  const isEnd = isText && (end === undefined || (isCount(end) && end >= recordBytes(record).length));
  return isStream && isEnd && [undefined, "base64"].includes(encoding) && isCount(attempt) && isCount(seq);
}

function isWritten(records: readonly LogRecord[], line: string): boolean {
  try {
    const isBase64 = ({ encoding, message }: LogRecord) =>
      encoding === undefined || Buffer.from(message, "base64").toString("base64") === message;
    return records.length > 0 && records.every(hasFields) && records.every(isBase64) && encodeRecords(records) === line;
  } catch {
    return false;
  }
}

export const printedOutput = ({ encode, decode, read }: Records = realRecords) =>
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
      let end = 0;
      const records = pieces.map(({ bytes, partial }, index) => {
        const message = encodeMessage(bytes);
        hasBytes ||= message.encoding !== undefined;
        end += bytes.length + (partial ? 0 : 1);
        return record({ ...message, seq: index + 1, end, ...(partial && { partial }) });
      });
      const text = encode(records);
      assert(text === "" || text.endsWith("\n"), "lines are whole");
      const printed = text.split(/(?<=\n)/).flatMap((line) => {
        assert(Buffer.byteLength(line) <= maxLineBytes, "it fits");
        assert(!line.startsWith(linePrefix(foreign)), "it is nobody else's");
        const found = decode(line);
        assert.equal(read(line).length, found.length, "it is read");
        for (const { run } of found) assert.equal(run, own);
        return found.map(recordBytes);
      });
      assert(Buffer.concat(printed).equals(output), "every byte comes back");
      return hasBytes ? "bytes" : "text";
    },
  });

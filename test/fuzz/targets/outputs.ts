import assert from "node:assert/strict";
import fc from "fast-check";
import { outputLimits, outputReadBytes, parseOutputs } from "#runtime/outputs/parse.ts";
import { mutatedBytes } from "../mutate.ts";
import { defineTarget } from "../target.ts";

const examples = [
  "version=1.2.3\nurl=https://example.com/?a=b<<c\n",
  "notes<<END\nfirst\n\nsecond=2\nEND\nname=x\r\n",
  "a<<X\r\none\r\nX\r\n\n  \nb=\n",
  "\ufeffkey=value",
  "k=v\n".repeat(15_000),
  Array.from({ length: 63 }, (_, n) => `key${n}=v`).join("\n"),
  `big<<E\n${"0123456789abcde\n".repeat(511)}E\n`,
].map((text) => Buffer.from(text));
const tokens = [
  "=",
  "<<",
  "\n",
  "\r\n",
  "END\n",
  "<<END\n",
  "\ufeff",
  "é",
  "__proto__=1\n",
  "constructor<<E\n",
  "\n=\n",
];
const delimiter = "--end-of-value--";

/** The outputs as a file in which each of them is a block. */
const printed = (outputs: Readonly<Record<string, string>>) =>
  Object.entries(outputs)
    .map(([key, value]) => `${key}<<${delimiter}\n${value}\n${delimiter}\n`)
    .join("");

export const outputs = (parse: typeof parseOutputs = parseOutputs) =>
  defineTarget({
    name: "outputs",
    holds:
      "any file is outputs within their limits or refused in one short printable line; what was read is read again when it is written",
    outcomes: ["read", "OutputsInvalid", "OutputsTooLarge"],
    inputs: fc.oneof(
      {
        weight: 9,
        arbitrary: mutatedBytes(
          examples,
          tokens.map((token) => Buffer.from(token)),
        ),
      },
      fc.uint8Array({ maxLength: 100 }),
    ),
    show: (file) => JSON.stringify(Buffer.from(file).toString("latin1")),
    patienceMs: 500,
    check(given) {
      const file = Buffer.from(given).subarray(0, outputReadBytes);
      const parsed = parse(file);
      if (!parsed.ok) {
        assert.match(parsed.message, /^outputs line \d+: [^\p{Cc}]{1,400}$/u);
        return parsed.reason;
      }
      const found = Object.entries(parsed.outputs);
      assert(found.length <= outputLimits.keys);
      for (const [key, value] of found) {
        assert.match(key, /^[^\s\p{Cc}=]+$/u);
        assert(Buffer.byteLength(key) <= outputLimits.keyBytes);
        assert(Buffer.byteLength(value) <= outputLimits.valueBytes);
        assert(file.includes(value), "a value stands in the file as it is");
      }
      const text = printed(parsed.outputs);
      // Keys with `<<` in them, or with what would become one, can only be written before a `=`; and delimiters take room.
      if (Buffer.byteLength(text) > outputLimits.totalBytes || found.some(([key]) => `${key}<`.includes("<<")))
        return "read";
      assert.deepEqual(parse(Buffer.from(text)), parsed);
      return "read";
    },
  });

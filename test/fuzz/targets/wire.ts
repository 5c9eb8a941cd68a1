import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { loadSync } from "@grpc/proto-loader";
import fc from "fast-check";
import { type Codec, createCodec } from "#runtime/proto/codec.ts";
import type { Field } from "#runtime/proto/field.ts";
import { schema } from "#runtime/proto/gen/schema.gen.ts";
import { MalformedMessageError } from "#runtime/proto/wire-reader.ts";
import { mutatedBytes } from "../mutate.ts";
import { defineTarget } from "../target.ts";

type Values = Record<string, unknown>;

/** The judge: a general library that reads runtime.proto itself. */
const judge = loadSync(fileURLToPath(import.meta.resolve("#runtime/proto/runtime.proto")), {
  longs: Number,
  enums: String,
  defaults: true,
  arrays: true,
  objects: true,
});

function deserialize(name: string, bytes: Buffer): unknown {
  const entry = judge[`kruntimes.runtime.v1alpha1.${name}`];
  assert(entry !== undefined && "deserialize" in entry && typeof entry.deserialize === "function", name);
  return entry.deserialize(bytes);
}

/** Without the marks for "absent", in which the two sides differ in spelling only. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).filter(([, member]) => member !== null && member !== undefined);
  return members.map(([key, member]) => [key, plain(member)]).sort(([a], [b]) => (String(a) < String(b) ? -1 : 1));
}

const names = Object.keys(schema.messages);

/** A message with a value in every field, and one with odd ones. */
function example(name: string, odd: boolean): Values {
  const fields = schema.messages[name] ?? [];
  const seen = new Set<string>();
  const entries = fields.flatMap((field): [string, unknown][] => {
    if (field.oneof !== undefined && seen.has(field.oneof)) return [];
    if (field.oneof !== undefined) seen.add(field.oneof);
    const value = exampleOf(field, odd);
    return [[field.name, field.repeated ? [value, value] : value]];
  });
  return Object.fromEntries(entries);
}

function exampleOf(field: Field, odd: boolean): unknown {
  switch (field.type) {
    case "string":
      return odd ? "é\0€" : "text";
    case "bytes":
      return Buffer.from(odd ? [0xff, 0x80] : "output\n");
    case "bool":
      return true;
    case "enum":
      return Object.keys(schema.enums[field.of ?? ""] ?? {}).at(-1);
    case "message":
      return example(field.of ?? "", odd);
    case "map":
      return JSON.parse(odd ? '{"__proto__": "1", "": "2"}' : '{"PATH": "/bin"}');
    case "int32":
      return odd ? -1 : 7;
    case "int64":
      return odd ? Number.MIN_SAFE_INTEGER : 7;
    default:
      return odd ? 2 ** 32 - 1 : 7;
  }
}

export const wire = (codec: Codec<Values> = createCodec<Values>(schema)) => {
  const recorded = createCodec<Values>(schema);
  const examples = names.flatMap((name) => [false, true].map((odd) => recorded.encode(name, example(name, odd))));
  const numbers = ["ffffffffffffffffff01", "ffffffffff", "8080808080808080808001", "08", "0a", "0800", "ffffffff0f"];
  return defineTarget({
    name: "wire",
    holds:
      "any bytes are a message or malformed; a message is read back as it was written, and a general library reads the same",
    outcomes: ["a message", "malformed"],
    inputs: fc.record({
      name: fc.constantFrom(...names),
      bytes: mutatedBytes(
        examples,
        numbers.map((hex) => Buffer.from(hex, "hex")),
      ),
    }),
    show: ({ name, bytes }) => `${name} ${bytes.toString("hex")}`,
    check({ name, bytes }) {
      const message = orUndefined(() => codec.decode(name, bytes));
      if (message === undefined) return "malformed";
      const written = codec.encode(name, message as Values);
      assert.deepEqual(plain(codec.decode(name, written)), plain(message), "what is written is read back");
      assert.deepEqual(plain(deserialize(name, written)), plain(message), "a general library reads the same");
      return "a message";
    },
  });
};

function orUndefined<T>(decode: () => T): T | undefined {
  try {
    return decode();
  } catch (error) {
    if (error instanceof MalformedMessageError) return undefined;
    throw error;
  }
}

import { fileURLToPath } from "node:url";
import { loadSync } from "@grpc/proto-loader";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createCodec } from "#runtime/proto/codec.ts";
import type { Field } from "#runtime/proto/field.ts";
import type { Messages } from "#runtime/proto/gen/messages.gen.ts";
import { schema } from "#runtime/proto/gen/schema.gen.ts";
import { MalformedMessageError } from "#runtime/proto/wire-reader.ts";

/** The judge: a general protobuf library that parses runtime.proto itself. */
const judge = loadSync(fileURLToPath(new URL("runtime.proto", import.meta.url)), {
  longs: Number,
  enums: String,
  defaults: true,
  arrays: true,
  objects: true,
});
const codec = createCodec<Record<string, unknown>>(schema);

function judgeOf(name: string) {
  const entry = judge[`kruntimes.runtime.v1alpha1.${name}`];
  if (entry === undefined || !("serialize" in entry) || typeof entry.serialize !== "function") throw new Error(name);
  if (typeof entry.deserialize !== "function") throw new Error(name);
  return { serialize: entry.serialize, deserialize: entry.deserialize };
}

/** Without the marks for "absent", in which the two sides differ in spelling only. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return [...value];
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== null && member !== undefined)
      .map(([key, member]) => [key, plain(member)]),
  );
}

function arbitrary(name: string): fc.Arbitrary<Record<string, unknown>> {
  const fields = schema.messages[name] ?? [];
  const always = fields.filter((field) => field.oneof === undefined);
  const oneofs = Map.groupBy(
    fields.filter((field) => field.oneof !== undefined),
    (field) => field.oneof,
  );
  const choices = [...oneofs.values()].map((members) =>
    fc.oneof(fc.constant({}), ...members.map((field) => fc.record({ [field.name]: fieldValue(field) }))),
  );
  return fc
    .tuple(fc.record(Object.fromEntries(always.map((field) => [field.name, fieldValue(field)]))), ...choices)
    .map((parts) => Object.assign({}, ...parts));
}

function fieldValue(field: Field): fc.Arbitrary<unknown> {
  if (field.repeated) return fc.array(single(field), { maxLength: 4 });
  if (field.type === "message") return fc.option(single(field), { nil: undefined });
  return single(field);
}

function single(field: Field): fc.Arbitrary<unknown> {
  const big = { max: Number.MAX_SAFE_INTEGER };
  switch (field.type) {
    case "string":
      return fc.string({ unit: "grapheme", maxLength: 300 });
    case "bytes":
      return fc.uint8Array({ maxLength: 300 });
    case "bool":
      return fc.boolean();
    case "int32":
      return fc.integer();
    case "uint32":
      return fc.nat({ max: 2 ** 32 - 1 });
    case "int64":
      return fc.oneof(fc.integer(), fc.integer({ ...big, min: Number.MIN_SAFE_INTEGER }));
    case "uint64":
      return fc.oneof(fc.nat(), fc.integer({ ...big, min: 0 }));
    case "enum":
      return fc.constantFrom(...Object.keys(schema.enums[field.of ?? ""] ?? {}));
    case "map":
      return fc.dictionary(fc.string({ minLength: 1 }), fc.string(), { maxKeys: 4, noNullPrototype: true });
    case "message":
      return arbitrary(field.of ?? "");
    default:
      return field.type satisfies never;
  }
}

test.each(Object.keys(schema.messages))("%s is read by a general library as we wrote it, and the reverse", (name) => {
  const { serialize, deserialize } = judgeOf(name);
  fc.assert(
    fc.property(arbitrary(name), (message) => {
      const ours = codec.encode(name, message);
      expect(plain(deserialize(ours))).toEqual(plain(message));
      expect(plain(codec.decode(name, serialize(message)))).toEqual(plain(message));
    }),
    { numRuns: 40 },
  );
});

test("any bytes are either a message or refused as malformed, never another error", () => {
  const names = Object.keys(schema.messages);
  fc.assert(
    fc.property(fc.constantFrom(...names), fc.uint8Array({ maxLength: 60 }), (name, bytes) => {
      try {
        codec.decode(name, Buffer.from(bytes));
      } catch (error) {
        expect(error).toBeInstanceOf(MalformedMessageError);
      }
    }),
    { numRuns: 2000 },
  );
});

test("a message cut off at any byte but a field's end is refused", () => {
  const typed = createCodec<Messages>(schema);
  const whole = typed.encode("Output", { stream: "STREAM_STDERR", data: Buffer.from("abcdef"), offset: 0 });
  const outcomes = Array.from({ length: whole.length + 1 }, (_, size) => {
    try {
      return typed.decode("Output", whole.subarray(0, size)).data.byteLength;
    } catch {
      return "refused";
    }
  });
  // tag, value | tag, length, six bytes
  expect(outcomes).toEqual([0, "refused", 0, ...Array(7).fill("refused"), 6]);
});

test("fields and enum values of a newer contract are skipped", () => {
  const typed = createCodec<Messages>(schema);
  const newer = createCodec<Record<string, unknown>>({
    messages: {
      Output: [
        { number: 1, name: "stream", type: "int32" },
        { number: 2, name: "data", type: "bytes" },
        { number: 90, name: "number", type: "int64" },
        { number: 91, name: "text", type: "string" },
      ],
    },
    enums: {},
  });
  const bytes = newer.encode("Output", { stream: 77, data: Buffer.from("x"), number: -5, text: "later" });
  expect(plain(typed.decode("Output", bytes))).toEqual({ stream: "STREAM_UNSPECIFIED", data: [0x78], offset: 0 });
});

test("the last member of a oneof wins", () => {
  const typed = createCodec<Messages>(schema);
  const exited = { cause: "CAUSE_EXITED", outOfMemory: false, leftoverProcesses: 0, message: "" } as const;
  const bytes = Buffer.concat([
    typed.encode("Exited", { ...exited, exitCode: 0 }),
    typed.encode("Exited", { ...exited, signal: "SIGKILL" }),
  ]);
  expect(typed.decode("Exited", bytes)).toEqual({ ...exited, signal: "SIGKILL" });
});

test("a variable called __proto__ is a variable like any other", () => {
  const env = Object.fromEntries([["__proto__", "value"]]);
  const request = { runUid: "", attempt: 0, bootId: "", workingDir: "", script: "", interpreter: [], args: [] };
  const typed = createCodec<Messages>(schema);
  const back = typed.decode("ExecuteRequest", typed.encode("ExecuteRequest", { ...request, env, platformEnv: {} }));
  expect(Object.entries(back.env)).toEqual([["__proto__", "value"]]);
});

test("numbers that a double cannot hold are refused, not rounded", () => {
  const typed = createCodec<Messages>(schema);
  const beyond = Buffer.from("18ffffffffffffffffff01", "hex"); // from_seq = 2^64 - 1
  expect(() => typed.decode("WatchRequest", beyond)).toThrow(MalformedMessageError);
  expect(() => typed.encode("WatchRequest", { runUid: "", attempt: 1, fromSeq: 2 ** 60 })).toThrow(RangeError);
});

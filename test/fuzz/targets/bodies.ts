import assert from "node:assert/strict";
import fc from "fast-check";
import { StatusError } from "#kube/transport.ts";
import { readBody } from "#local/http/body.ts";
import { exampleObjects, exampleTexts } from "../examples.ts";
import { mutatedBytes } from "../mutate.ts";
import { defineTarget } from "../target.ts";

const field = (number: number, ...content: (Buffer | string)[]) => {
  const bytes = Buffer.concat(content.map((part) => Buffer.from(part as string)));
  return Buffer.concat([Buffer.of(number * 8 + 2, bytes.length), bytes]);
};
const varint = (number: number, ...bytes: number[]) => Buffer.of(number * 8, ...bytes);
/** An object in Kubernetes' protobuf form. */
const object = (kind: string, ...content: Buffer[]) =>
  Buffer.concat([
    Buffer.from("k8s\0"),
    field(1, field(1, "v1"), field(2, kind)),
    field(2, Buffer.concat(content)),
    Buffer.from([0x1a, 0x00, 0x22, 0x00]),
  ]);
const meta = field(
  1,
  field(1, "n"),
  field(8, varint(1, 0x80, 0x94, 0xeb, 0xdc, 0x03)),
  field(11, field(1, "a"), field(2, "b")),
);
const protobuf = [
  object("Namespace", meta, field(2, field(1, "kubernetes"))),
  object("Secret", meta, field(2, field(1, "key"), field(2, "\u0001\u0002")), field(3, "Opaque")),
  object(
    "Service",
    meta,
    field(2, field(1, field(1, "http"), varint(3, 80), field(4, varint(1, 1), field(3, "web"))), varint(20, 0)),
  ),
  object("ConfigMap", field(1, field(8, varint(1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f)))),
  object("DeleteOptions", varint(1, 30), field(2, field(1, "u")), varint(3, 1)),
];
const examples: Readonly<Record<string, readonly Buffer[]>> = {
  "application/vnd.kubernetes.protobuf": protobuf,
  "application/json": exampleObjects.map((value) => Buffer.from(JSON.stringify(value))),
  "application/yaml": exampleTexts.map((text) => Buffer.from(text)),
};
const tokens = [
  ...'{}[]":,&*-\n\\',
  '"__proto__":',
  "<<: *a",
  "&a ",
  "*a",
  "!!set ",
  "1e999",
  "[".repeat(3000),
  "\xff".repeat(9),
];

export const bodies = (read: typeof readBody = readBody) =>
  defineTarget({
    name: "bodies",
    holds: "any bytes that are sent to the local API server are a JSON value, or a 4xx that says why; soon",
    outcomes: ["a value", "refused"],
    inputs: fc.oneof(
      ...Object.entries(examples).map(([type, texts]) =>
        fc.record({
          type: fc.constant(type),
          bytes: mutatedBytes(
            texts,
            tokens.map((token) => Buffer.from(token, "latin1")),
          ),
        }),
      ),
    ),
    show: ({ type, bytes }) => `${type} ${JSON.stringify(bytes.toString("latin1"))}`,
    check({ type, bytes }) {
      try {
        const { value, duplicates } = read("POST", bytes, type);
        // What is deeper than JSON can be written is refused where it is copied.
        if (!bytes.includes("[".repeat(3000)))
          assert.deepEqual(JSON.parse(JSON.stringify(value ?? null)), value ?? null);
        for (const text of duplicates()) assert.notEqual(text, "");
        return "a value";
      } catch (error) {
        if (!(error instanceof StatusError) || error.code < 400 || error.code >= 500) throw error;
        assert.notEqual(error.message, "");
        return "refused";
      }
    },
  });

import { expect, test } from "vitest";
import { decodeProtobuf, UnknownMessageError } from "./decode.ts";
import { WireError } from "./wire.ts";

/** A varint. */
function varint(value: number | bigint): number[] {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  do {
    bytes.push(Number(rest & 0x7fn) | (rest > 0x7fn ? 0x80 : 0));
    rest >>= 7n;
  } while (rest > 0n);
  return bytes;
}

const number = (field: number, value: number | bigint) => Buffer.from([...varint(field << 3), ...varint(value)]);
const bytes = (field: number, ...parts: (Buffer | string)[]) => {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part)));
  return Buffer.concat([Buffer.from([...varint((field << 3) | 2), ...varint(body.length)]), body]);
};

/** An object as Go clients send it. */
const object = (apiVersion: string, kind: string, ...fields: Buffer[]) =>
  Buffer.concat([
    Buffer.from("k8s\0"),
    bytes(1, bytes(1, apiVersion), bytes(2, kind)),
    bytes(2, ...fields),
    bytes(3, ""),
    bytes(4, ""),
  ]);

test("an object is what it would be as JSON", () => {
  const metadata = bytes(
    1,
    bytes(1, "a"),
    bytes(2, ""), // Go writes texts that are empty
    bytes(3, "default"),
    number(7, 0),
    bytes(8), // a time that is none
    number(10, 0), // a pointer to zero
    bytes(11, bytes(1, "app"), bytes(2, "ä")),
    bytes(11, bytes(1, "empty")),
    bytes(
      13,
      bytes(1, "Run"),
      bytes(3, "r"),
      bytes(4, "uid"),
      bytes(5, "kruntimes.io/v1alpha1"),
      number(6, 1),
      number(7, 0),
    ),
    bytes(14, "one"),
    bytes(14, "two"),
    bytes(17, "managed fields are not read"),
  );
  const secret = object(
    "v1",
    "Secret",
    metadata,
    bytes(2, bytes(1, "key"), bytes(2, Buffer.from([0, 255]))),
    bytes(3, "Opaque"),
    number(5, 0),
  );
  expect(decodeProtobuf(secret)).toEqual({
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name: "a",
      namespace: "default",
      deletionGracePeriodSeconds: 0,
      labels: { app: "ä", empty: "" },
      ownerReferences: [
        {
          kind: "Run",
          name: "r",
          uid: "uid",
          apiVersion: "kruntimes.io/v1alpha1",
          controller: true,
          blockOwnerDeletion: false,
        },
      ],
      finalizers: ["one", "two"],
    },
    data: { key: "AP8=" },
    type: "Opaque",
    immutable: false,
  });
});

test("numbers, times and ports have their own forms", () => {
  const service = object(
    "v1",
    "Service",
    bytes(1, bytes(8, number(1, 1_767_225_600), number(2, 5)), number(10, -1)),
    bytes(
      2,
      bytes(1, number(3, 80), bytes(4, number(1, 0), number(2, 8080)), number(5, 0)),
      bytes(1, number(3, 443), bytes(4, number(1, 1), bytes(3, "https"))),
      number(12, 0),
      number(13, 1),
      number(20, 0),
    ),
  );
  expect(decodeProtobuf(service)).toMatchObject({
    metadata: { creationTimestamp: "2026-01-01T00:00:00Z", deletionGracePeriodSeconds: -1 },
    spec: {
      ports: [
        { port: 80, targetPort: 8080 },
        { port: 443, targetPort: "https" },
      ],
      publishNotReadyAddresses: true,
      allocateLoadBalancerNodePorts: false,
    },
  });
  expect(decodeProtobuf(service)).not.toHaveProperty("spec.healthCheckNodePort");
});

test("a kind that is not read in this form is named", () => {
  const error = expect.objectContaining({ name: UnknownMessageError.name, message: "Pod" });
  expect(() => decodeProtobuf(object("v1", "Pod"))).toThrow(error);
});

test.each([
  ["JSON", Buffer.from('{"kind":"Secret"}')],
  ["a message that is cut off", object("v1", "Secret", bytes(1, bytes(1, "abc"))).subarray(0, -8)],
  ["a number without end", Buffer.concat([Buffer.from("k8s\0"), Buffer.alloc(12, 0xff)])],
  ["a form that does not exist", Buffer.concat([Buffer.from("k8s\0"), Buffer.from([0x0b])])],
  ["a time beyond all years", object("v1", "Secret", bytes(1, bytes(8, number(1, 2n ** 62n))))],
  ["a number in place of a message", object("v1", "Secret", number(1, 5))],
])("%s is refused", (_sentence, body) => {
  expect(() => decodeProtobuf(body)).toThrow(WireError);
});

import { isObject, type JsonObject, setOwn } from "#local/apiserver/json.ts";
import { messages } from "./messages.ts";
import { readFields, WireError, type WireField } from "./wire.ts";

/** What Kubernetes puts before a protobuf object. */
const magic = Buffer.from("k8s\0");

/** The kind of an object is not among those that are read. */
export class UnknownMessageError extends Error {
  override readonly name = "UnknownMessageError";
}

interface Field {
  readonly name: string;
  readonly type: string;
  readonly list: boolean;
  readonly pointer: boolean;
}

const kinds = new Map(
  Object.entries(messages).map(([name, fields]) => [
    name,
    new Map(Object.entries(fields).map(([number, text]) => [Number(number), parseField(text)])),
  ]),
);

function parseField(text: string): Field {
  const [, name = "", type = "text", list, pointer] = /^(\w+)(?::(\w+))?(\[\])?(\?)?$/.exec(text) ?? [];
  return { name, type, list: list !== undefined, pointer: pointer !== undefined };
}

/**
 * An object in Kubernetes' protobuf form as the JSON that would say the same.
 *
 * @throws WireError when the bytes are no such object, UnknownMessageError for a kind that is not read in this form
 */
export function decodeProtobuf(bytes: Buffer): JsonObject {
  if (!bytes.subarray(0, magic.length).equals(magic)) throw new WireError("the body does not begin like one");
  const { typeMeta, raw } = decodeMessage("Unknown", bytes.subarray(magic.length));
  const { apiVersion = "", kind = "" } = isObject(typeMeta) ? typeMeta : {};
  if (typeof kind !== "string" || !kinds.has(kind)) throw new UnknownMessageError(String(kind));
  const content = typeof raw === "string" ? Buffer.from(raw, "base64") : Buffer.alloc(0);
  return { apiVersion, kind, ...decodeMessage(kind, content) };
}

function decodeMessage(type: string, bytes: Buffer): JsonObject {
  const fields = kinds.get(type);
  const result: JsonObject = {};
  for (const wire of readFields(bytes)) {
    const field = fields?.get(wire.number);
    if (field === undefined) continue;
    const value = decodeValue(field, wire);
    if (value === undefined) continue;
    const old = result[field.name];
    if (field.list) result[field.name] = [...(Array.isArray(old) ? old : []), value];
    else result[field.name] = isObject(value) && isObject(old) ? { ...old, ...value } : value;
  }
  return result;
}

function decodeValue({ type, list, pointer }: Field, { value }: WireField): unknown {
  const keepsZero = list || pointer;
  switch (type) {
    case "int": {
      const number = Number(BigInt.asIntN(64, asNumber(value)));
      return number !== 0 || keepsZero ? number : undefined;
    }
    case "bool": {
      const flag = asNumber(value) !== 0n;
      return flag || keepsZero ? flag : undefined;
    }
    case "text": {
      const text = asBytes(value).toString("utf8");
      return text !== "" || keepsZero ? text : undefined;
    }
    case "bytes":
      return asBytes(value).toString("base64");
    case "map":
      return entry(asBytes(value), "utf8");
    case "bytesMap":
      return entry(asBytes(value), "base64");
    case "Time":
      return decodeTime(asBytes(value));
    case "IntOrString":
      return decodeIntOrString(asBytes(value));
    default:
      return decodeMessage(type, asBytes(value));
  }
}

/** One entry of a map: a message with the key as field 1 and the value as field 2. */
function entry(bytes: Buffer, encoding: "utf8" | "base64"): JsonObject {
  let key = "";
  let value = "";
  for (const field of readFields(bytes)) {
    if (field.number === 1) key = asBytes(field.value).toString("utf8");
    if (field.number === 2) value = asBytes(field.value).toString(encoding);
  }
  const result: JsonObject = {};
  setOwn(result, key, value);
  return result;
}

/** Seconds since the epoch that RFC 3339 can say. */
const years = { first: Date.parse("0000-01-01T00:00:00Z") / 1000, end: Date.UTC(10_000, 0) / 1000 };

/** A time without seconds is none. */
function decodeTime(bytes: Buffer): string | undefined {
  const seconds = [...readFields(bytes)].find(({ number }) => number === 1)?.value;
  if (seconds === undefined) return undefined;
  const time = Number(BigInt.asIntN(64, asNumber(seconds)));
  if (!(time >= years.first && time < years.end)) throw new WireError("a time is none of the years 0 to 9999");
  return `${new Date(time * 1000).toISOString().slice(0, 19)}Z`;
}

/** 1 says which of the two counts: 0 the number in 2, 1 the text in 3. */
function decodeIntOrString(bytes: Buffer): number | string {
  const fields = new Map([...readFields(bytes)].map(({ number, value }) => [number, value]));
  if (fields.get(1) === 1n) return asBytes(fields.get(3) ?? Buffer.alloc(0)).toString("utf8");
  return Number(BigInt.asIntN(32, asNumber(fields.get(2) ?? 0n)));
}

function asBytes(value: WireField["value"]): Buffer {
  if (typeof value === "bigint") throw new WireError("a number stands where bytes belong");
  return value;
}

function asNumber(value: WireField["value"]): bigint {
  if (typeof value !== "bigint") throw new WireError("bytes stand where a number belongs");
  return value;
}

/**
 * Messages to bytes and back, driven by the generated tables. Small on purpose: a general protobuf library costs the executor
 * about 10 MB, and each megabyte makes every spawn slower. The tests hold it against such a library.
 */
import type { Field, Schema } from "#runtime/proto/field.ts";
import { WireReader } from "#runtime/proto/wire-reader.ts";
import { WireWriter } from "#runtime/proto/wire-writer.ts";

type Values = Record<string, unknown>;

export interface Codec<Messages> {
  /** Zero values are left out, as proto3 has it, except where a oneof says that the field was set. */
  encode<Name extends keyof Messages & string>(name: Name, message: Messages[Name]): Buffer;
  /**
   * Absent fields get their zero value, those of a oneof and messages stay absent; unknown fields are skipped. Bytes are
   * parts of the given buffer.
   *
   * @throws {MalformedMessageError}
   */
  decode<Name extends keyof Messages & string>(name: Name, bytes: Buffer): Messages[Name];
}

/** `Messages` must be the types generated from the same file as the schema; that is what makes the casts below true. */
export function createCodec<Messages>(schema: Schema): Codec<Messages> {
  const shapes = new Map(Object.entries(schema.messages).map(([name, fields]) => [name, shapeOf(fields)]));
  const enums = new Map(Object.entries(schema.enums).map(([name, values]) => [name, enumOf(values)]));

  /** The writer goes backwards, and so do fields and items, to come out in order. */
  function write(name: string, values: Values, writer: WireWriter): void {
    for (const field of known(shapes, name).backwards) {
      const value = values[field.name];
      if (value === undefined) continue;
      if (field.type === "map") writeMap(writer, field, value as Record<string, string>);
      else if (field.repeated) {
        const items = value as readonly unknown[];
        for (let at = items.length - 1; at >= 0; at--) writeValue(writer, field, items[at]);
      } else if (field.oneof !== undefined || !isZero(field, value)) writeValue(writer, field, value);
    }
  }

  function writeValue(writer: WireWriter, field: Field, value: unknown): void {
    switch (field.type) {
      case "message": {
        const before = writer.length;
        write(field.of ?? "", value as Values, writer);
        writer.varint(writer.length - before);
        break;
      }
      case "bytes":
        writer.bytes(value as Uint8Array);
        break;
      case "string":
        writer.string(value as string);
        break;
      case "enum":
        writer.varint(known(known(enums, field.of ?? "").numbers, value as string));
        break;
      default:
        writer.varint(Number(value));
    }
    writer.tag(field.number, wireTypeOf(field));
  }

  function read(name: string, bytes: Buffer): Values {
    const shape = known(shapes, name);
    const values = zeros(shape);
    const reader = new WireReader(bytes);
    while (!reader.done) {
      const { number, wireType } = reader.tag();
      const field = shape.byNumber.get(number);
      if (field === undefined || wireType !== wireTypeOf(field)) reader.skip(wireType);
      else store(shape, values, field, readValue(reader, field));
    }
    return values;
  }

  function readValue(reader: WireReader, field: Field): unknown {
    switch (field.type) {
      case "message":
        return read(field.of ?? "", reader.bytes());
      case "map":
        return readEntry(reader.bytes());
      case "enum": // a value of a newer contract is "unspecified" here
        return known(enums, field.of ?? "").names.get(reader.int32()) ?? field.zero;
      default:
        return reader[field.type]();
    }
  }

  return {
    encode(name, message) {
      const writer = new WireWriter();
      write(name, message as Values, writer);
      return writer.finish();
    },
    decode: <Name extends keyof Messages & string>(name: Name, bytes: Buffer) => read(name, bytes) as Messages[Name],
  };
}

interface Shape {
  readonly fields: readonly Field[];
  /** The same from the last to the first. */
  readonly backwards: readonly Field[];
  readonly byNumber: ReadonlyMap<number, Field>;
}

function shapeOf(fields: readonly Field[]): Shape {
  return { fields, backwards: fields.toReversed(), byNumber: new Map(fields.map((field) => [field.number, field])) };
}

function enumOf(values: Readonly<Record<string, number>>) {
  const numbers = new Map(Object.entries(values));
  const names = new Map(Object.entries(values).map(([name, number]) => [number, name]));
  return { numbers, names };
}

function known<T>(map: ReadonlyMap<string, T>, name: string): T {
  const found = map.get(name);
  if (found === undefined) throw new Error(`runtime.proto has no ${JSON.stringify(name)}; run npm run generate`);
  return found;
}

function zeros(shape: Shape): Values {
  const values: Values = {};
  for (const field of shape.fields) {
    if (field.repeated) values[field.name] = [];
    else if (field.type === "map") values[field.name] = {};
    else if (field.oneof === undefined && field.type !== "message") values[field.name] = zeroOf(field);
  }
  return values;
}

const noBytes = Buffer.alloc(0);

function zeroOf(field: Field): unknown {
  if (field.type === "string") return "";
  if (field.type === "bytes") return noBytes;
  if (field.type === "bool") return false;
  if (field.type === "enum") return field.zero;
  return 0;
}

function store(shape: Shape, values: Values, field: Field, value: unknown): void {
  if (field.type === "map") {
    const [key, entry] = value as readonly [string, string];
    // Not an assignment: a variable named __proto__ must become a variable.
    Object.defineProperty(values[field.name], key, {
      value: entry,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  } else if (field.repeated) {
    (values[field.name] as unknown[]).push(value);
  } else {
    if (field.oneof !== undefined) {
      for (const other of shape.fields) if (other.oneof === field.oneof) delete values[other.name];
    }
    values[field.name] = value;
  }
}

function isZero(field: Field, value: unknown): boolean {
  if (field.type === "message") return false;
  if (field.type === "bytes") return (value as Uint8Array).byteLength === 0;
  return value === zeroOf(field);
}

function wireTypeOf(field: Field): number {
  return field.type === "string" || field.type === "bytes" || field.type === "message" || field.type === "map" ? 2 : 0;
}

/** A map is a repeated message of key (1) and value (2). */
function writeMap(writer: WireWriter, field: Field, entries: Readonly<Record<string, string>>): void {
  for (const [key, value] of Object.entries(entries).reverse()) {
    const before = writer.length;
    writer.string(value);
    writer.tag(2, 2);
    writer.string(key);
    writer.tag(1, 2);
    writer.varint(writer.length - before);
    writer.tag(field.number, 2);
  }
}

function readEntry(bytes: Buffer): readonly [string, string] {
  const reader = new WireReader(bytes);
  let key = "";
  let value = "";
  while (!reader.done) {
    const { number, wireType } = reader.tag();
    if (number === 1 && wireType === 2) key = reader.string();
    else if (number === 2 && wireType === 2) value = reader.string();
    else reader.skip(wireType);
  }
  return [key, value];
}

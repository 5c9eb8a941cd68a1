/**
 * Makes the tables and types of `runtime/proto/gen/` from `runtime/proto/runtime.proto`, so that no process has to parse it. Run
 * by itself it writes them; `npm run generate` and its freshness check use the exported functions.
 */
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Field, FieldType, Method, Schema } from "#runtime/proto/field.ts";
import {
  type EnumValueDescriptor,
  type FileDescriptor,
  type MessageDescriptor,
  type MethodDescriptor,
  readDescriptor,
} from "./proto-descriptor.ts";

const root = new URL("../", import.meta.url);
const source = "runtime/proto/runtime.proto";
const header = `// Generated from ${source} by scripts/generate-proto.ts; do not edit.\n`;

/** Path (from the root of the repository) and content of every generated file. */
export function generatedProtoFiles(): ReadonlyMap<string, string> {
  const file = readDescriptor(fileURLToPath(new URL(source, root)));
  const enumNames = new Map(file.enumType.map((type) => [type.name, type.value]));
  const messages = Object.fromEntries(file.messageType.map((type) => [type.name, fieldsOf(type, file, enumNames)]));
  const enums = Object.fromEntries(
    file.enumType.map((type) => [type.name, Object.fromEntries(type.value.map(({ name, number }) => [name, number]))]),
  );
  const services = Object.fromEntries(
    file.service.map((service) => [
      service.name,
      Object.fromEntries(service.method.map((method) => [method.name, methodOf(method, service.name, file)])),
    ]),
  );
  return new Map([
    ["runtime/proto/gen/schema.gen.ts", schemaText({ messages, enums }, services)],
    ["runtime/proto/gen/messages.gen.ts", typesText({ messages, enums })],
  ]);
}

/** Paths of the generated files that differ from what the .proto file says; empty when all are fresh. */
export async function staleProtoFiles(): Promise<readonly string[]> {
  const stale: string[] = [];
  for (const [path, content] of generatedProtoFiles()) {
    const present = await readFile(new URL(path, root), "utf8").catch(() => undefined);
    if (present !== content) stale.push(path);
  }
  return stale;
}

/** Writes the generated files. */
export async function writeProtoFiles(): Promise<void> {
  for (const [path, content] of generatedProtoFiles()) await writeFile(new URL(path, root), content);
}

function schemaText(schema: Schema, services: Readonly<Record<string, Readonly<Record<string, Method>>>>): string {
  const fields = Object.entries(schema.messages).map(
    ([name, list]) =>
      `    ${name}: [${list.map((field) => `\n      ${JSON.stringify(field)},`).join("")}${list.length === 0 ? "" : "\n    "}],`,
  );
  const enums = Object.entries(schema.enums).map(([name, values]) => `    ${name}: ${JSON.stringify(values)},`);
  const methods = Object.entries(services).map(
    ([name, list]) =>
      `  ${name}: {${Object.entries(list)
        .map(([method, entry]) => `\n    ${method}: ${JSON.stringify(entry)},`)
        .join("")}\n  },`,
  );
  return `${header}import type { Method, Schema } from "#runtime/proto/field.ts";

export const schema: Schema = {
  messages: {
${fields.join("\n")}
  },
  enums: {
${enums.join("\n")}
  },
};

export const services = {
${methods.join("\n")}
} as const satisfies Record<string, Record<string, Method>>;
`;
}

function typesText(schema: Schema): string {
  const enums = Object.entries(schema.enums).map(
    ([name, values]) =>
      `export type ${name} =${Object.keys(values)
        .map((value) => `\n  | "${value}"`)
        .join("")};\n`,
  );
  const messages = Object.entries(schema.messages).map(([name, fields]) =>
    fields.length === 0
      ? `export type ${name} = Readonly<Record<string, never>>;\n`
      : `export interface ${name} {${fields.map((field) => `\n  ${memberText(field)}`).join("")}\n}\n`,
  );
  const index = Object.keys(schema.messages).map((name) => `\n  readonly ${name}: ${name};`);
  return `${header}
${[...enums, ...messages].join("\n")}
/** Every message by its name. */
export interface Messages {${index.join("")}
}
`;
}

const scalars: Readonly<Partial<Record<FieldType, string>>> = {
  string: "string",
  bytes: "Uint8Array",
  bool: "boolean",
  int32: "number",
  uint32: "number",
  int64: "number",
  uint64: "number",
  map: "Readonly<Record<string, string>>",
};

function memberText(field: Field): string {
  const type = scalars[field.type] ?? field.of ?? "";
  if (field.repeated) return `readonly ${field.name}: readonly ${type}[];`;
  const absent = field.oneof !== undefined || field.type === "message";
  return absent ? `readonly ${field.name}?: ${type} | undefined;` : `readonly ${field.name}: ${type};`;
}

/** Numbers of google.protobuf.FieldDescriptorProto.Type. */
const types: Readonly<Record<number, FieldType>> = {
  3: "int64",
  4: "uint64",
  5: "int32",
  8: "bool",
  9: "string",
  11: "message",
  12: "bytes",
  13: "uint32",
  14: "enum",
};
const repeatedLabel = 3;

function fieldsOf(
  message: MessageDescriptor,
  file: FileDescriptor,
  enums: ReadonlyMap<string, readonly EnumValueDescriptor[]>,
): readonly Field[] {
  return message.field.map((field) => {
    const place = `${message.name}.${field.name}`;
    const name = camelCase(field.name);
    const nested = message.nestedType.find((type) => type.name === field.typeName.split(".").at(-1));
    if (nested !== undefined) {
      if (!nested.options?.mapEntry) throw new Error(`${place}: declare nested messages at the top level`);
      if (nested.field.some((part) => types[part.type] !== "string"))
        throw new Error(`${place}: only map<string, string>`);
      return { number: field.number, name, type: "map" };
    }
    const type = types[field.type];
    if (type === undefined) throw new Error(`${place}: the codec has no field type ${field.type}`);
    const repeated = field.label === repeatedLabel;
    if (repeated && type !== "string" && type !== "bytes" && type !== "message") {
      throw new Error(`${place}: the codec has no packed lists`);
    }
    if (field.proto3Optional) throw new Error(`${place}: use a oneof in place of optional`);
    const of = field.typeName.split(".").at(-1) ?? "";
    const zero = enums.get(of)?.find(({ number }) => number === 0)?.name;
    if (type === "message" && !file.messageType.some((known) => known.name === of)) {
      throw new Error(`${place}: ${field.typeName} is not declared in this file`);
    }
    if (type === "enum" && zero === undefined) throw new Error(`${place}: ${field.typeName} has no value 0`);
    const oneof = field.oneofIndex === undefined ? undefined : message.oneofDecl[field.oneofIndex]?.name;
    return {
      number: field.number,
      name,
      type,
      ...(type === "message" || type === "enum" ? { of } : {}),
      ...(zero === undefined ? {} : { zero }),
      ...(repeated ? { repeated } : {}),
      ...(oneof === undefined ? {} : { oneof }),
    };
  });
}

function methodOf(method: MethodDescriptor, service: string, file: FileDescriptor): Method {
  if (method.clientStreaming) throw new Error(`${service}.${method.name}: streams of the client are not supported`);
  return {
    path: `/${file.package}.${service}/${method.name}`,
    request: method.inputType.split(".").at(-1) ?? "",
    response: method.outputType.split(".").at(-1) ?? "",
    responseStream: method.serverStreaming,
  };
}

function camelCase(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

if (import.meta.main) await writeProtoFiles();

/** Reads a .proto file into google.protobuf.FileDescriptorProto: proto-loader parses, our own codec decodes what it gives. */
import { loadSync } from "@grpc/proto-loader";
import { createCodec } from "#runtime/proto/codec.ts";
import type { Schema } from "#runtime/proto/field.ts";

export interface FileDescriptor {
  readonly package: string;
  readonly messageType: readonly MessageDescriptor[];
  readonly enumType: readonly { readonly name: string; readonly value: readonly EnumValueDescriptor[] }[];
  readonly service: readonly { readonly name: string; readonly method: readonly MethodDescriptor[] }[];
}

export interface MessageDescriptor {
  readonly name: string;
  readonly field: readonly FieldDescriptor[];
  readonly nestedType: readonly MessageDescriptor[];
  readonly oneofDecl: readonly { readonly name: string }[];
  readonly options?: { readonly mapEntry: boolean };
}

export interface FieldDescriptor {
  readonly name: string;
  readonly number: number;
  readonly label: number;
  readonly type: number;
  readonly typeName: string;
  readonly oneofIndex?: number;
  readonly proto3Optional: boolean;
}

export interface EnumValueDescriptor {
  readonly name: string;
  readonly number: number;
}

export interface MethodDescriptor {
  readonly name: string;
  readonly inputType: string;
  readonly outputType: string;
  readonly clientStreaming: boolean;
  readonly serverStreaming: boolean;
}

/** The part of google/protobuf/descriptor.proto that the types above name. */
const descriptorSchema: Schema = {
  messages: {
    FileDescriptor: [
      { number: 2, name: "package", type: "string" },
      { number: 4, name: "messageType", type: "message", of: "MessageDescriptor", repeated: true },
      { number: 5, name: "enumType", type: "message", of: "Enum", repeated: true },
      { number: 6, name: "service", type: "message", of: "Service", repeated: true },
    ],
    MessageDescriptor: [
      { number: 1, name: "name", type: "string" },
      { number: 2, name: "field", type: "message", of: "FieldDescriptor", repeated: true },
      { number: 3, name: "nestedType", type: "message", of: "MessageDescriptor", repeated: true },
      { number: 7, name: "options", type: "message", of: "MessageOptions" },
      { number: 8, name: "oneofDecl", type: "message", of: "Named", repeated: true },
    ],
    MessageOptions: [{ number: 7, name: "mapEntry", type: "bool" }],
    Named: [{ number: 1, name: "name", type: "string" }],
    FieldDescriptor: [
      { number: 1, name: "name", type: "string" },
      { number: 3, name: "number", type: "int32" },
      { number: 4, name: "label", type: "int32" },
      { number: 5, name: "type", type: "int32" },
      { number: 6, name: "typeName", type: "string" },
      { number: 9, name: "oneofIndex", type: "int32", oneof: "itself: 0 is not absent" },
      { number: 17, name: "proto3Optional", type: "bool" },
    ],
    Enum: [
      { number: 1, name: "name", type: "string" },
      { number: 2, name: "value", type: "message", of: "EnumValueDescriptor", repeated: true },
    ],
    EnumValueDescriptor: [
      { number: 1, name: "name", type: "string" },
      { number: 2, name: "number", type: "int32" },
    ],
    Service: [
      { number: 1, name: "name", type: "string" },
      { number: 2, name: "method", type: "message", of: "MethodDescriptor", repeated: true },
    ],
    MethodDescriptor: [
      { number: 1, name: "name", type: "string" },
      { number: 2, name: "inputType", type: "string" },
      { number: 3, name: "outputType", type: "string" },
      { number: 5, name: "clientStreaming", type: "bool" },
      { number: 6, name: "serverStreaming", type: "bool" },
    ],
  },
  enums: {},
};

/** @throws when the file has an error; the message names the line. */
export function readDescriptor(path: string): FileDescriptor {
  const definition = loadSync(path, { keepCase: true });
  const codec = createCodec<{ FileDescriptor: FileDescriptor }>(descriptorSchema);
  for (const entry of Object.values(definition)) {
    if (!("fileDescriptorProtos" in entry) || !Array.isArray(entry.fileDescriptorProtos)) continue; // a service
    const [bytes] = entry.fileDescriptorProtos;
    if (bytes !== undefined) return codec.decode("FileDescriptor", bytes);
  }
  throw new Error(`${path} declares no message`);
}

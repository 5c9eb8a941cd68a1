/** The contract as gRPC definitions, for servers and clients. */
import type { MethodDefinition } from "@grpc/grpc-js";
import { createCodec } from "#runtime/proto/codec.ts";
import type { Messages } from "#runtime/proto/gen/messages.gen.ts";
import { schema } from "#runtime/proto/gen/schema.gen.ts";

const codec = createCodec<Messages>(schema);

/** A method of the generated table, with the names of its messages as literal types. */
export interface TypedMethod {
  readonly path: string;
  readonly request: keyof Messages;
  readonly response: keyof Messages;
  readonly responseStream: boolean;
}

export type RequestOf<M extends TypedMethod> = Messages[M["request"]];
export type ResponseOf<M extends TypedMethod> = Messages[M["response"]];

/** What grpc-js needs to know of a method. */
export function definitionOf<M extends TypedMethod>(method: M): MethodDefinition<RequestOf<M>, ResponseOf<M>> {
  return {
    path: method.path,
    requestStream: false,
    responseStream: method.responseStream,
    requestSerialize: (message) => codec.encode(method.request, message),
    requestDeserialize: (bytes) => codec.decode(method.request, bytes),
    responseSerialize: (message) => codec.encode(method.response, message),
    responseDeserialize: (bytes) => codec.decode(method.response, bytes),
  };
}

/** A time of the contract, which counts microseconds, in milliseconds with a fraction. */
export function fromMicros(micros: number): number {
  return micros / 1000;
}

/** The reverse of {@link fromMicros}. */
export function toMicros(ms: number): number {
  return Math.round(ms * 1000);
}

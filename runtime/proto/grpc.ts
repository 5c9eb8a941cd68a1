/** The contract as gRPC definitions, for servers and clients. */
import type { MethodDefinition } from "@grpc/grpc-js";
import { createCodec } from "#runtime/proto/codec.ts";
import type { Messages } from "#runtime/proto/gen/messages.gen.ts";
import { schema } from "#runtime/proto/gen/schema.gen.ts";

const codec = createCodec<Messages>(schema);

type Name = keyof Messages;

/** A method of the generated table, with the names of its messages as literal types. */
export interface TypedMethod<Request extends Name, Response extends Name> {
  readonly path: string;
  readonly request: Request;
  readonly response: Response;
  readonly responseStream: boolean;
}

/** What grpc-js needs to know of a method. */
export function definitionOf<Request extends Name, Response extends Name>(
  method: TypedMethod<Request, Response>,
): MethodDefinition<Messages[Request], Messages[Response]> {
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

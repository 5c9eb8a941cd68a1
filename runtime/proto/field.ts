/** The shape of the generated tables: what the codec and the gRPC layer must know of `runtime.proto`. */

export type FieldType =
  | "string"
  | "bytes"
  | "bool"
  | "int32"
  | "uint32"
  | "int64"
  | "uint64"
  | "enum"
  | "message"
  | "map";

export interface Field {
  readonly number: number;
  /** In TypeScript spelling: `run_uid` is `runUid`. */
  readonly name: string;
  /** `map` is map<string, string>, the only kind of map the contract has. */
  readonly type: FieldType;
  /** Name of the message or enum. */
  readonly of?: string;
  /** Of an enum: the name of its value 0, which stands for absent and for unknown. */
  readonly zero?: string;
  readonly repeated?: true;
  /** Name of the oneof it belongs to; such a field is absent unless it was set, even when it holds a zero value. */
  readonly oneof?: string;
}

export interface Method {
  readonly path: string;
  readonly request: string;
  readonly response: string;
  readonly responseStream: boolean;
}

export interface Schema {
  readonly messages: Readonly<Record<string, readonly Field[]>>;
  readonly enums: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

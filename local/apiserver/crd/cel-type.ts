import { reserved } from "../cel/parser.ts";
import {
  bool,
  bytes,
  type CelType,
  double,
  durationType,
  dyn,
  int,
  listOf,
  mapOf,
  type ObjectField,
  string,
  timestampType,
} from "../cel/types.ts";
import type { SchemaSource } from "./types.ts";

/** Reserved words of CEL get underscores around when they are field names. */
const taken: ReadonlySet<string> = new Set([...reserved, "true", "false", "null", "in"]);

/**
 * How an expression spells a member that is no identifier, or is reserved; undefined where it cannot be spelled
 * (k8s.io/apiserver cel.Escape).
 */
export function escapeName(name: string): string | undefined {
  if (taken.has(name)) return `__${name}__`;
  if (!/^[a-zA-Z_.\-/][a-zA-Z0-9_.\-/]*$/.test(name)) return undefined;
  return name
    .replaceAll("__", "__underscores__")
    .replaceAll(".", "__dot__")
    .replaceAll("-", "__dash__")
    .replaceAll("/", "__slash__");
}

/** What every object has, at the root and in embedded resources; more of metadata is not visible to rules. */
const metadata: CelType = {
  kind: "object",
  name: "object",
  fields: new Map([
    ["name", { type: string, property: "name" }],
    ["generateName", { type: string, property: "generateName" }],
  ]),
};

const types = new WeakMap<SchemaSource, CelType>();

/** The type that expressions see; the same object for the same node, so that types compare by identity. */
export function celTypeOf(source: SchemaSource, root = false): CelType {
  let type = types.get(source);
  if (type === undefined) {
    type = build(source, root);
    types.set(source, type);
  }
  return type;
}

function build(source: SchemaSource, root: boolean): CelType {
  if (source["x-kubernetes-int-or-string"] === true) return dyn;
  switch (source.type) {
    case "integer":
      return int;
    case "number":
      return double;
    case "boolean":
      return bool;
    case "string":
      return stringType(source.format);
    case "array": {
      const listType = source["x-kubernetes-list-type"];
      const unordered = listType === "set" || listType === "map";
      return listOf(source.items === undefined ? dyn : celTypeOf(source.items), unordered);
    }
    default:
      return objectType(source, root);
  }
}

function stringType(format: string | undefined): CelType {
  switch (format) {
    case "date":
    case "date-time":
      return timestampType;
    case "duration":
      return durationType;
    case "byte":
      return bytes;
    default:
      return string;
  }
}

function objectType(source: SchemaSource, root: boolean): CelType {
  if (typeof source.additionalProperties === "object") return mapOf(string, celTypeOf(source.additionalProperties));
  const fields = new Map<string, ObjectField>();
  if (root || source["x-kubernetes-embedded-resource"] === true) {
    fields.set("apiVersion", { type: string, property: "apiVersion" });
    fields.set("kind", { type: string, property: "kind" });
    fields.set("metadata", { type: metadata, property: "metadata" });
  }
  for (const [property, child] of Object.entries(source.properties ?? {})) {
    const name = escapeName(property);
    // A member without a type (preserve-unknown-fields) is not visible to expressions.
    if (name === undefined || isOpaque(child) || (fields.has(name) && name === "metadata")) continue;
    fields.set(name, { type: celTypeOf(child), property });
  }
  return { kind: "object", name: "object", fields };
}

function isOpaque(source: SchemaSource): boolean {
  return source.type === undefined && source["x-kubernetes-int-or-string"] !== true;
}

import type { TSchema } from "@sinclair/typebox";
import type { CelRule } from "../schema.ts";

/** A node of a structural schema: the subset of OpenAPI v3 that a CustomResourceDefinition may hold (apiextensions.k8s.io/v1). */
export interface Structural {
  description?: string;
  type?: "object" | "array" | "string" | "integer" | "number" | "boolean";
  format?: string;
  enum?: readonly string[];
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  minProperties?: number;
  maxProperties?: number;
  default?: unknown;
  anyOf?: readonly Structural[];
  required?: readonly string[];
  properties?: Record<string, Structural>;
  additionalProperties?: Structural;
  items?: Structural;
  "x-kubernetes-int-or-string"?: true;
  "x-kubernetes-preserve-unknown-fields"?: true;
  "x-kubernetes-list-type"?: "atomic" | "set" | "map";
  "x-kubernetes-list-map-keys"?: readonly string[];
  "x-kubernetes-validations"?: readonly CelRule[];
}

/** Keywords that are copied as they are, in the order in which a reader wants them. */
const before = [
  "description",
  "type",
  "format",
  "enum",
  "pattern",
  "minLength",
  "maxLength",
  "minimum",
  "maximum",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
  "default",
  "x-kubernetes-int-or-string",
  "x-kubernetes-preserve-unknown-fields",
  "x-kubernetes-list-type",
  "x-kubernetes-list-map-keys",
  "x-kubernetes-validations",
  "anyOf",
  "required",
] as const;

const nested = ["properties", "additionalProperties", "items"] as const;

const known: ReadonlySet<string> = new Set([...before, ...nested]);

/**
 * The structural schema of a TypeBox type. Members keep their order, keywords get a fixed one, so the text is stable.
 *
 * @throws Error when the type uses a keyword that a structural schema has not; the message has the path of the node.
 */
export function structural(schema: TSchema, path = "$"): Structural {
  const foreign = Object.keys(schema).filter((keyword) => !known.has(keyword));
  if (foreign.length > 0) throw new Error(`${path}: a structural schema has no ${foreign.join(", ")}`);
  const node: Record<string, unknown> = {};
  for (const keyword of before) {
    const value: unknown = schema[keyword];
    const says = value !== undefined && !(keyword === "required" && Array.isArray(value) && value.length === 0);
    if (says) node[keyword] = structuredClone(value);
  }
  const { properties, additionalProperties, items } = schema as Nested;
  return {
    ...node,
    ...(properties && { properties: mapMembers(properties, (name, member) => structural(member, `${path}.${name}`)) }),
    ...(additionalProperties && { additionalProperties: structural(additionalProperties, `${path}.*`) }),
    ...(items && { items: structural(items, `${path}[]`) }),
  };
}

interface Nested {
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly additionalProperties?: TSchema;
  readonly items?: TSchema;
}

function mapMembers(
  members: Readonly<Record<string, TSchema>>,
  fn: (name: string, member: TSchema) => Structural,
): Record<string, Structural> {
  return Object.fromEntries(Object.entries(members).map(([name, member]) => [name, fn(name, member)]));
}

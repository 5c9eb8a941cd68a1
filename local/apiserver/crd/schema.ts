import { describeAll, type FieldError } from "../field-errors.ts";
import { copyJson, freezeJson } from "../json.ts";
import { celTypeOf } from "./cel-type.ts";
import { type Check, compileChecks } from "./checks.ts";
import { applyDefaults } from "./default.ts";
import { prune } from "./prune.ts";
import { compileRules, type Rule } from "./rules.ts";
import type { SchemaSource } from "./types.ts";
import { validateNode } from "./validate.ts";

/** One node of a CRD's schema, with everything prepared that can be prepared once. */
export interface SchemaNode {
  readonly source: SchemaSource;
  /** Types that a value may have, in the order in which messages name them; empty for any. */
  readonly types: readonly string[];
  readonly nullable: boolean;
  readonly properties: ReadonlyMap<string, SchemaNode>;
  /** Schema of members that are not declared; undefined when there may be none (or all, see below). */
  readonly additional: SchemaNode | undefined;
  /** Members that are not declared are kept as they are. */
  readonly open: boolean;
  readonly items: SchemaNode | undefined;
  readonly required: readonly string[];
  /** Whole object of its own kind: apiVersion, kind and metadata are always part of it. */
  readonly embedded: boolean;
  readonly listType: "atomic" | "set" | "map";
  readonly listKeys: readonly string[];
  readonly checks: readonly Check[];
  readonly rules: readonly Rule[];
  /** Some node at or below this one has rules. */
  readonly rulesWithin: boolean;
  /** Some node at or below this one has a rule about `oldSelf`. */
  readonly transitionsWithin: boolean;
  /** Some node at or below this one is a set or a list map. */
  readonly listTypesWithin: boolean;
  /** Some node at or below this one has a default. */
  readonly defaultsWithin: boolean;
}

/** Where a node stands, for messages and for what is allowed there. */
interface Place {
  readonly path: string;
  /** Old and new values of this place can be told to belong together. */
  readonly correlatable: boolean;
  /** Below allOf, anyOf, oneOf or not. */
  readonly logical: boolean;
  readonly root: boolean;
}

const known = new Set([
  "type",
  "description",
  "title",
  "format",
  "nullable",
  "default",
  "example",
  "externalDocs",
  "enum",
  "pattern",
  "minLength",
  "maxLength",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minItems",
  "maxItems",
  "uniqueItems",
  "minProperties",
  "maxProperties",
  "required",
  "properties",
  "additionalProperties",
  "items",
  "allOf",
  "anyOf",
  "oneOf",
  "not",
  "x-kubernetes-preserve-unknown-fields",
  "x-kubernetes-embedded-resource",
  "x-kubernetes-int-or-string",
  "x-kubernetes-list-type",
  "x-kubernetes-list-map-keys",
  "x-kubernetes-map-type",
  "x-kubernetes-validations",
]);
const typeNames = new Set(["object", "array", "string", "integer", "number", "boolean"]);

/**
 * Prepares the schema of a whole object.
 *
 * @throws Error with the path inside the schema when it is not structural or uses what is not supported.
 */
export function compileSchema(source: SchemaSource): SchemaNode {
  const frozen = freezeJson(copyJson(source)) as SchemaSource; // defaults are handed out by reference
  return compileNode(frozen, { path: "openAPIV3Schema", correlatable: true, logical: false, root: true });
}

function compileNode(source: SchemaSource, place: Place): SchemaNode {
  checkStructure(source, place);
  const { path } = place;
  const intOrString = source["x-kubernetes-int-or-string"] === true;
  const below = (name: string, change: Partial<Place> = {}): Place => ({
    ...place,
    ...change,
    root: false,
    path: `${path}.${name}`,
  });
  const properties = new Map(
    Object.entries(source.properties ?? {}).map(([name, child]) => [
      name,
      compileNode(child, below(`properties[${name}]`)),
    ]),
  );
  const extra = source.additionalProperties;
  const additional = typeof extra === "object" ? compileNode(extra, below("additionalProperties")) : undefined;
  const listType = source["x-kubernetes-list-type"] ?? "atomic";
  const correlatable = place.correlatable && listType === "map";
  const items = source.items === undefined ? undefined : compileNode(source.items, below("items", { correlatable }));
  const logical = (name: string, sources: readonly SchemaSource[] | undefined): SchemaNode[] =>
    (sources ?? []).map((child, index) => compileNode(child, below(`${name}[${index}]`, { logical: true })));

  const rules = compileRules(source["x-kubernetes-validations"] ?? [], {
    path,
    type: celTypeOf(source, place.root),
    typeName: typeOf(source),
    correlatable: place.correlatable,
    hasField: (names) => leadsToField(source, names),
  });
  const children = [
    ...properties.values(),
    ...(additional === undefined ? [] : [additional]),
    ...(items === undefined ? [] : [items]),
  ];
  const node: SchemaNode = {
    source,
    types: intOrString ? ["integer", "string"] : source.type === undefined ? [] : [source.type],
    nullable: source.nullable === true,
    properties,
    additional,
    open: source["x-kubernetes-preserve-unknown-fields"] === true || extra === true,
    items,
    required: source.required ?? [],
    embedded: place.root || source["x-kubernetes-embedded-resource"] === true,
    listType,
    listKeys: source["x-kubernetes-list-map-keys"] ?? [],
    checks: compileChecks(source, path, {
      allOf: logical("allOf", source.allOf),
      anyOf: logical("anyOf", source.anyOf),
      oneOf: logical("oneOf", source.oneOf),
      not: source.not === undefined ? undefined : compileNode(source.not, below("not", { logical: true })),
    }),
    rules,
    rulesWithin: rules.length > 0 || children.some((child) => child.rulesWithin),
    transitionsWithin: rules.some((rule) => rule.usesOldSelf) || children.some((child) => child.transitionsWithin),
    listTypesWithin: listType !== "atomic" || children.some((child) => child.listTypesWithin),
    defaultsWithin: source.default !== undefined || children.some((child) => child.defaultsWithin),
  };
  if (source.default !== undefined) checkDefault(node, path);
  return node;
}

/** A default must be valid itself, or every object that relies on it would be refused. */
function checkDefault(node: SchemaNode, path: string): void {
  const value = applyDefaults(node, node.source.default);
  const errors: FieldError[] = [];
  validateNode(node, value, undefined, "default", errors);
  const unknown: string[] = [];
  prune(node, value, "default", unknown);
  if (errors.length > 0) throw new Error(`${path}.${describeAll(errors)}`);
  if (unknown.length > 0)
    throw new Error(`${path}.default: Invalid value: must not have unknown fields: ${unknown.join(", ")}`);
}

function leadsToField(source: SchemaSource, names: readonly string[]): boolean {
  let node: SchemaSource | undefined = source;
  for (const name of names) {
    const extra: SchemaSource["additionalProperties"] = node.additionalProperties;
    node = node.properties?.[name] ?? (typeof extra === "object" ? extra : undefined);
    if (node === undefined) return false;
  }
  return true;
}

function typeOf(source: SchemaSource): string {
  return source.type ?? (source["x-kubernetes-int-or-string"] ? "" : "object");
}

/** The rules of structural schemas that the API server enforces on CRDs. */
function checkStructure(source: SchemaSource, { path, logical, root }: Place): void {
  const fail = (problem: string): Error => new Error(`${path}${problem}`);
  for (const key of Object.keys(source)) {
    if (!known.has(key)) throw fail(`.${key}: Unsupported value: this keyword is not allowed in the schema of a CRD`);
  }
  if (root && source.type !== "object") throw fail(`.type: Invalid value: must be object at the root`);
  if (source.type !== undefined && !typeNames.has(source.type)) {
    throw fail(
      `.type: Unsupported value: ${JSON.stringify(source.type)}: supported values: ${[...typeNames].join(", ")}`,
    );
  }
  const untyped =
    source["x-kubernetes-int-or-string"] === true || source["x-kubernetes-preserve-unknown-fields"] === true;
  if (!logical && source.type === undefined && !untyped)
    throw fail(".type: Required value: must not be empty for specified object fields");
  if (source["x-kubernetes-int-or-string"] === true && source.type !== undefined) {
    throw fail(".type: Invalid value: must be empty if x-kubernetes-int-or-string is true");
  }
  if (source.type === "array" && source.items === undefined && !logical)
    throw fail(".items: Required value: must be specified");
  if (source.properties !== undefined && source.additionalProperties !== undefined) {
    throw fail(".additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive");
  }
  if (source.additionalProperties === false)
    throw fail(".additionalProperties: Forbidden: must not be false: unknown members are pruned");
  if (source.uniqueItems === true) throw fail(".uniqueItems: Forbidden: use x-kubernetes-list-type: set");
  if (logical) {
    for (const key of [
      "default",
      "additionalProperties",
      "nullable",
      "description",
      "x-kubernetes-validations",
    ] as const) {
      if (source[key] !== undefined && source[key] !== false)
        throw fail(`.${key}: Forbidden: must not be inside allOf, anyOf, oneOf or not`);
    }
  }
  checkListType(source, fail);
}

function checkListType(source: SchemaSource, fail: (problem: string) => Error): void {
  const listType = source["x-kubernetes-list-type"];
  const keys = source["x-kubernetes-list-map-keys"];
  if (listType === undefined) {
    if (keys !== undefined) throw fail(".x-kubernetes-list-map-keys: Forbidden: needs x-kubernetes-list-type: map");
    return;
  }
  if (source.type !== "array") throw fail(".type: Invalid value: must be array if x-kubernetes-list-type is specified");
  if (listType === "map") {
    if (keys === undefined || keys.length === 0)
      throw fail(".x-kubernetes-list-map-keys: Required value: must not be empty");
    for (const key of keys) {
      const property = source.items?.properties?.[key];
      if (property === undefined) {
        throw fail(
          `.x-kubernetes-list-map-keys: Invalid value: ${JSON.stringify(key)}: entries must all be names of item properties`,
        );
      }
      const hasDefault = property.default !== undefined;
      if (!hasDefault && source.items?.required?.includes(key) !== true) {
        throw fail(
          `.items.properties[${key}]: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property`,
        );
      }
    }
  }
}

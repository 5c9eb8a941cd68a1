/** Static types of expressions, as far as rules over OpenAPI schemas have them. */
export type CelType =
  | { readonly kind: "int" | "double" | "string" | "bool" | "null" | "bytes" | "timestamp" | "duration" | "dyn" }
  | { readonly kind: "list"; readonly item: CelType; readonly unordered: boolean }
  | { readonly kind: "map"; readonly key: CelType; readonly value: CelType }
  | { readonly kind: "optional"; readonly of: CelType }
  | ObjectType;

/** An object of known fields. */
export interface ObjectType {
  readonly kind: "object";
  /** For messages, e.g. `object`. */
  readonly name: string;
  /** By the name that expressions use (escaped where it is no identifier). */
  readonly fields: ReadonlyMap<string, ObjectField>;
}

/** One field of an object. */
export interface ObjectField {
  readonly type: CelType;
  /** The member as it stands in the JSON. */
  readonly property: string;
}

/** Whole numbers, exact up to 2^53. */
export const int: CelType = { kind: "int" };
/** Fractions. */
export const double: CelType = { kind: "double" };
/** Texts. */
export const string: CelType = { kind: "string" };
/** Conditions. */
export const bool: CelType = { kind: "bool" };
/** Known only when it runs. */
export const dyn: CelType = { kind: "dyn" };
/** Texts of format `byte`: can be compared, nothing else. */
export const bytes: CelType = { kind: "bytes" };
/** Texts of format `date-time` or `date`. */
export const timestampType: CelType = { kind: "timestamp" };
/** Texts of format `duration`. */
export const durationType: CelType = { kind: "duration" };

/** A list; `unordered` for sets and list maps, whose order does not count when they are compared. */
export const listOf = (item: CelType, unordered = false): CelType => ({ kind: "list", item, unordered });
/** A map of any keys. */
export const mapOf = (key: CelType, value: CelType): CelType => ({ kind: "map", key, value });
/** A value that may be absent. */
export const optionalOf = (of: CelType): CelType => ({ kind: "optional", of });

/** The type as messages call it. */
export function describeType(type: CelType): string {
  switch (type.kind) {
    case "list":
      return `list(${describeType(type.item)})`;
    case "map":
      return `map(${describeType(type.key)}, ${describeType(type.value)})`;
    case "optional":
      return `optional_type(${describeType(type.of)})`;
    case "object":
      return type.name;
    default:
      return type.kind;
  }
}

/** The type both have in common, or undefined when values of one can never be values of the other. */
export function join(a: CelType, b: CelType): CelType | undefined {
  if (a.kind === "dyn") return b;
  if (b.kind === "dyn") return a;
  // Fields may be nullable, so null goes with everything.
  if (a.kind === "null") return b;
  if (b.kind === "null") return a;
  if (a.kind === "list" && b.kind === "list") {
    const item = join(a.item, b.item);
    return item === undefined ? undefined : listOf(item, a.unordered || b.unordered);
  }
  if (a.kind === "map" && b.kind === "map") {
    const key = join(a.key, b.key);
    const value = join(a.value, b.value);
    return key === undefined || value === undefined ? undefined : mapOf(key, value);
  }
  if (a.kind === "optional" && b.kind === "optional") {
    const of = join(a.of, b.of);
    return of === undefined ? undefined : optionalOf(of);
  }
  if (a.kind === "object" && b.kind === "object") return a === b ? a : undefined;
  return a.kind === b.kind ? a : undefined;
}

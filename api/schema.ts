/**
 * The few schema forms that our kinds are built from. Every one of them is at once a TypeBox type (so that
 * TypeScript types follow from it) and a node of a Kubernetes structural schema (so that the CRD is the same text).
 */
import { type SchemaOptions, type Static, type TSchema, type TUnsafe, Type } from "@sinclair/typebox";
import { maxConditionMessageLength } from "./text.ts";

/** A CEL rule as in `x-kubernetes-validations`. */
export interface CelRule {
  readonly rule: string;
  readonly message: string;
  readonly fieldPath?: string;
  readonly reason?: "FieldValueInvalid" | "FieldValueForbidden" | "FieldValueRequired" | "FieldValueDuplicate";
  readonly optionalOldSelf?: true;
}

/** One of a closed set of strings. */
export function Enum<const T extends readonly string[]>(values: T, options: SchemaOptions = {}): TUnsafe<T[number]> {
  return Type.Unsafe<T[number]>({ ...options, type: "string", enum: [...values] });
}

/** A map with free keys; `maxProperties` bounds it. */
export function MapOf<T extends TSchema>(value: T, options: SchemaOptions = {}): TUnsafe<Record<string, Static<T>>> {
  return Type.Unsafe<Record<string, Static<T>>>({ ...options, type: "object", additionalProperties: value });
}

/** An object with any members: kept as it is, not described further. CEL rules see the object, not its members. */
export function Opaque(options: SchemaOptions = {}): TUnsafe<Record<string, unknown>> {
  return Type.Unsafe<Record<string, unknown>>({
    ...options,
    type: "object",
    "x-kubernetes-preserve-unknown-fields": true,
  });
}

/** Any JSON value. It has no type, so CEL rules cannot name such a field, nor a map or list of them. */
export function AnyValue(options: SchemaOptions = {}): TUnsafe<unknown> {
  return Type.Unsafe<unknown>({ ...options, "x-kubernetes-preserve-unknown-fields": true });
}

/** A quantity (`2`, `"500m"`). */
export function Quantity(options: SchemaOptions = {}): TUnsafe<number | string> {
  return Type.Unsafe<number | string>({
    ...options,
    "x-kubernetes-int-or-string": true,
    anyOf: [{ type: "integer" }, { type: "string" }],
  });
}

/** A list whose items are told apart by `keys`. */
export function ListMap<T extends TSchema>(item: T, keys: readonly string[], options: SchemaOptions = {}) {
  return Type.Array(item, { ...options, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [...keys] });
}

/** A list that is replaced as a whole (cheapest for the API server to track). */
export function AtomicList<T extends TSchema>(item: T, options: SchemaOptions = {}) {
  return Type.Array(item, { ...options, "x-kubernetes-list-type": "atomic" });
}

/** An RFC 3339 time, with microseconds where latency matters. */
export const Time = (description: string) => Type.String({ description, format: "date-time" });

const segment = "([^/.\\x00][^/\\x00]*|\\.[^/.\\x00][^/\\x00]*|\\.\\.[^/\\x00]+)";

/** Patterns that several fields share; the reference calls them by a word. */
export const patterns = {
  duration: "^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$",
  subdomain: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
  label: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
  relativePath: `^${segment}(/${segment})*$`,
  dataKey: "^\\.?[-_a-zA-Z0-9][-._a-zA-Z0-9]*$",
} as const;

/** A duration as Go writes it: `90s`, `5m`, `1h30m`, `250ms`. */
export const Duration = (description: string) =>
  Type.String({ description, pattern: patterns.duration, maxLength: 32 });

/** The name of another object (RFC 1123 subdomain). */
export const ObjectName = (description: string) =>
  Type.String({ description, minLength: 1, maxLength: 253, pattern: patterns.subdomain });

/** A key of a Secret or ConfigMap: also the name of a file, so never `..` nor what begins with it. */
export const DataKey = (description: string) =>
  Type.String({ description, minLength: 1, maxLength: 253, pattern: patterns.dataKey });

/** A name that also fits into a label (RFC 1123 label). */
export const LabelName = (description: string) =>
  Type.String({ description, minLength: 1, maxLength: 63, pattern: patterns.label });

/**
 * A path below a directory: no leading `/`, no empty, `.` or `..` segment. RE2 has no look-ahead, so the reserved
 * directory `.kruntimes` is refused by admission and not by this pattern.
 */
export const RelativePath = (description: string) =>
  Type.String({ description, minLength: 1, maxLength: 4096, pattern: patterns.relativePath });

/** The conditions of a status, told apart by type. */
export const Conditions = () =>
  ListMap(
    Type.Object({
      type: Type.String({ description: "What the condition is about.", maxLength: 316 }),
      status: Enum(["True", "False", "Unknown"], { description: "Whether it holds." }),
      reason: Type.String({ description: "One word from the reasons registry.", maxLength: 1024 }),
      message: Type.String({ description: "A sentence for people.", maxLength: maxConditionMessageLength }),
      lastTransitionTime: Time("When the status last changed."),
      observedGeneration: Type.Optional(Type.Integer({ description: "Generation the condition was set for." })),
    }),
    ["type"],
    { description: "Conditions for waiting and trouble.", maxItems: 16 },
  );

export const ObservedGeneration = () =>
  Type.Optional(Type.Integer({ description: "The generation that this status was computed from.", format: "int64" }));

/** Rules that a field of a spec never changes, appears or disappears. */
export function immutable(...fields: readonly string[]): CelRule[] {
  return fields.map((field) => ({
    rule: `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || self.${field} == oldSelf.${field})`,
    message: `${field} cannot be changed; create a new object instead`,
    fieldPath: `.${field}`,
    reason: "FieldValueForbidden",
  }));
}

import { data } from "@actions/expressions";

/** A JSON value as the expression engine holds it. */
export function toData(value: unknown): data.ExpressionData {
  if (value === null || value === undefined) return new data.Null();
  if (typeof value === "string") return new data.StringData(value);
  if (typeof value === "number") return new data.NumberData(value);
  if (typeof value === "boolean") return new data.BooleanData(value);
  if (Array.isArray(value)) return new data.Array(...value.map(toData));
  const dictionary = new data.Dictionary();
  // The engine keeps its index in a plain object, in which `constructor` and the like seem to be there already.
  Reflect.set(dictionary, "indexMap", Object.create(null));
  for (const [name, member] of Object.entries(value)) dictionary.add(name, toData(member));
  return dictionary;
}

/** The JSON value that the engine holds. */
export function fromData(value: data.ExpressionData): unknown {
  switch (value.kind) {
    case data.Kind.Array:
      return value.values().map(fromData);
    case data.Kind.Dictionary:
      return Object.fromEntries(value.pairs().map(({ key, value: member }) => [key, fromData(member)]));
    case data.Kind.Null:
      return null;
    case data.Kind.Boolean:
      return value.value;
    case data.Kind.Number:
      return value.number();
    default:
      return value.coerceString();
  }
}

/** Whether the engine's value is an object or a list: it has no text of its own. */
export function isStructured(value: data.ExpressionData): boolean {
  return value.kind === data.Kind.Array || value.kind === data.Kind.Dictionary;
}

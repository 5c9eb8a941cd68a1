import { badRequest } from "../errors.ts";
import type { Kind, StoredObject } from "../types.ts";
import { parseFieldSelector } from "./field.ts";
import { parseLabelSelector, SelectorError } from "./label.ts";

/** Whether an object belongs to a list or watch. */
export type Match = (object: StoredObject) => boolean;

/** Selects everything; told apart by identity. */
export const matchAll: Match = () => true;

/**
 * Label and field selector of a request as one predicate; {@link matchAll} itself when there are none.
 *
 * @throws StatusError 400 when a selector cannot be parsed or names a field that the kind does not index.
 */
export function compileSelectors(
  kind: Kind,
  labelSelector: string | undefined,
  fieldSelector: string | undefined,
): Match {
  const parts: Match[] = [];
  if (labelSelector !== undefined && labelSelector !== "") {
    const matches = parsing(`unable to parse requirement: `, () => parseLabelSelector(labelSelector));
    parts.push((object) => matches(object.metadata.labels));
  }
  if (fieldSelector !== undefined && fieldSelector !== "") {
    for (const { field, equal, value } of parsing("", () => parseFieldSelector(fieldSelector))) {
      const read = fieldReader(kind, field);
      parts.push((object) => (read(object) === value) === equal);
    }
  }
  const [first, ...rest] = parts;
  if (first === undefined) return matchAll;
  return rest.length === 0 ? first : (object) => parts.every((matches) => matches(object));
}

function fieldReader(kind: Kind, field: string): (object: StoredObject) => string {
  if (field === "metadata.name") return (object) => object.metadata.name;
  if (field === "metadata.namespace" && kind.namespaced) return (object) => object.metadata.namespace ?? "";
  const read = kind.selectable.get(field);
  if (read === undefined) throw badRequest(kind.unknownField(field));
  return read;
}

function parsing<T>(prefix: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof SelectorError) throw badRequest(`${prefix}${error.message}`);
    throw error;
  }
}

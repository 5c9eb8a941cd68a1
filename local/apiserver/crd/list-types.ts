import { duplicate, type FieldError } from "../field-errors.ts";
import { isObject, type JsonObject } from "../json.ts";
import type { SchemaNode } from "./schema.ts";

/** `x-kubernetes-list-type`: items of a set are unique, items of a map are unique by their keys. */

/** Reports each item of a set or list map that was there before. */
export function validateListType(
  node: SchemaNode,
  items: readonly unknown[],
  path: string,
  errors: FieldError[],
): void {
  const seen = new Set<string>();
  items.forEach((item, index) => {
    const identity = node.listType === "map" ? keysOf(node, item) : item;
    if (identity === undefined) return; // no object: the type check has said so
    const text = canonical(identity);
    if (seen.has(text)) errors.push(duplicate(`${path}[${index}]`, identity));
    seen.add(text);
  });
}

/** Items of a list by their keys, for looking up many. */
export function indexByKeys(node: SchemaNode, items: readonly unknown[]): (item: unknown) => unknown {
  const index = new Map<string, unknown>();
  for (const item of items) {
    const keys = keysOf(node, item);
    if (keys !== undefined) index.set(canonical(keys), item);
  }
  return (item) => {
    const keys = keysOf(node, item);
    return keys === undefined ? undefined : index.get(canonical(keys));
  };
}

function keysOf(node: SchemaNode, item: unknown): JsonObject | undefined {
  if (!isObject(item)) return undefined;
  const keys: JsonObject = {};
  for (const key of node.listKeys) {
    if (item[key] !== undefined) keys[key] = item[key];
    else if (node.items?.properties.get(key)?.source.default !== undefined) {
      keys[key] = node.items.properties.get(key)?.source.default;
    }
  }
  return keys;
}

/** JSON text that is the same for equal values, whatever the order of members. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? "null";
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`);
  return `{${members.join(",")}}`;
}

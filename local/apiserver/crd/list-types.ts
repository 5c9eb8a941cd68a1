import { duplicate, type FieldError } from "../field-errors.ts";
import { getOwn, isObject, type JsonObject } from "../json.ts";
import type { SchemaNode } from "./schema.ts";
import { childPath, entryPath } from "./validate.ts";

/** `x-kubernetes-list-type`: items of a set are unique, items of a map are unique by their keys. */

/**
 * Reports items that are there twice, at or below a node; a part that is the very same object as before is not looked at.
 */
export function validateListTypes(
  node: SchemaNode,
  value: unknown,
  old: unknown,
  path: string,
  errors: FieldError[],
): void {
  if (!node.listTypesWithin || (value === old && typeof value === "object")) return;
  if (Array.isArray(value)) {
    if (node.listType !== "atomic") reportDuplicates(node, value, path, errors);
    const { items } = node;
    if (items?.listTypesWithin !== true) return;
    const before = Array.isArray(old) ? old : [];
    value.forEach((item, index) => {
      validateListTypes(items, item, before[index], `${path}[${index}]`, errors);
    });
  } else if (isObject(value)) {
    const before = isObject(old) ? old : {};
    for (const key of Object.keys(value)) {
      const property = node.properties.get(key);
      const child = property ?? node.additional;
      if (child === undefined) continue;
      const at = property === undefined ? entryPath(path, key) : childPath(path, key);
      validateListTypes(child, getOwn(value, key), getOwn(before, key), at, errors);
    }
  }
}

/** Each value once, at its second appearance. */
function reportDuplicates(node: SchemaNode, items: readonly unknown[], path: string, errors: FieldError[]): void {
  const seen = new Map<string, number>();
  items.forEach((item, index) => {
    const identity = node.listType === "map" ? keysOf(node, item) : item;
    if (identity === undefined) return; // no object: the type check has said so
    const text = canonical(identity);
    const times = seen.get(text) ?? 0;
    if (times === 1) errors.push(duplicate(`${path}[${index}]`, identity));
    seen.set(text, times + 1);
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

import { getOwn, isObject, type JsonObject, setOwn } from "../json.ts";
import type { SchemaNode } from "./schema.ts";

/**
 * The value with the defaults of its schema filled in. Nulls in members that are not nullable count as absent, as on
 * the real server. Parts that need nothing are returned as they are; defaults are shared, so the result must be
 * treated as frozen.
 */
export function applyDefaults(node: SchemaNode, value: unknown): unknown {
  if (Array.isArray(value)) {
    const { items } = node;
    if (items === undefined) return value;
    let changed = false;
    const result = value.map((item: unknown) => {
      const filled =
        item === null && !items.nullable && items.source.default !== undefined
          ? items.source.default
          : applyDefaults(items, item);
      changed ||= filled !== item;
      return filled;
    });
    return changed ? result : value;
  }
  return isObject(value) ? fillObject(node, value) : value;
}

function fillObject(node: SchemaNode, value: JsonObject): JsonObject {
  const result: JsonObject = {};
  let changed = false;
  for (const key of Object.keys(value)) {
    const member = getOwn(value, key);
    const child = node.properties.get(key) ?? node.additional;
    if (child === undefined) {
      setOwn(result, key, member);
      continue;
    }
    if (member === null && !child.nullable) {
      changed = true; // dropped here; a default of a declared member follows below
      if (child === node.additional && child.source.default !== undefined) setOwn(result, key, child.source.default);
      continue;
    }
    const filled = applyDefaults(child, member);
    changed ||= filled !== member;
    setOwn(result, key, filled);
  }
  if (node.defaultsWithin) {
    for (const [key, child] of node.properties) {
      if (child.source.default === undefined || Object.hasOwn(result, key)) continue;
      setOwn(result, key, applyDefaults(child, child.source.default));
      changed = true;
    }
  }
  return changed ? result : value;
}

import { getOwn, isObject, type JsonObject, setOwn } from "../json.ts";
import type { SchemaNode } from "./schema.ts";

/**
 * The value without members that its schema does not have. Parts that lose nothing are returned as they are.
 *
 * @param unknown gets the path of each member that was dropped.
 */
export function prune(node: SchemaNode, value: unknown, path: string, unknown: string[]): unknown {
  if (Array.isArray(value)) {
    const { items } = node;
    if (items === undefined) return value;
    let changed = false;
    const pruned = value.map((item: unknown, index) => {
      const result = prune(items, item, `${path}[${index}]`, unknown);
      changed ||= result !== item;
      return result;
    });
    return changed ? pruned : value;
  }
  return isObject(value) ? pruneObject(node, value, path, unknown) : value;
}

/** Members that every embedded object has, whatever its schema says. */
const typeMembers = new Set(["apiVersion", "kind", "metadata"]);

function pruneObject(node: SchemaNode, value: JsonObject, path: string, unknown: string[]): JsonObject {
  const pruned: JsonObject = {};
  let changed = false;
  for (const key of Object.keys(value)) {
    const member = getOwn(value, key);
    const at = path === "" ? key : `${path}.${key}`;
    const child = node.properties.get(key) ?? node.additional;
    if (node.embedded && typeMembers.has(key)) {
      setOwn(pruned, key, member); // read and checked apart
    } else if (child !== undefined) {
      const result = prune(child, member, at, unknown);
      changed ||= result !== member;
      setOwn(pruned, key, result);
    } else if (node.open) {
      setOwn(pruned, key, member);
    } else {
      unknown.push(at);
      changed = true;
    }
  }
  return changed ? pruned : value;
}

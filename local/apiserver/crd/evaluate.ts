import { type FieldError, invalid, noField } from "../field-errors.ts";
import { getOwn, isObject, type JsonObject } from "../json.ts";
import { indexByKeys } from "./list-types.ts";
import type { SchemaNode } from "./schema.ts";
import { childPath, entryPath } from "./validate.ts";

/**
 * Evaluates the rules of a node and of everything below it.
 *
 * @param old the value before, where it can be told which it was; undefined at creation. Rules that do not look at it are
 * skipped for parts that are the very same object as before.
 */
export function evaluateRules(
  node: SchemaNode,
  value: unknown,
  old: unknown,
  path: string,
  errors: FieldError[],
): void {
  if (!node.rulesWithin || value === undefined || value === null) return;
  const before = old === null ? undefined : old;
  const unchanged = value === before && typeof value === "object";
  if (unchanged && !node.transitionsWithin) return;
  for (const rule of node.rules) {
    if (unchanged && !rule.usesOldSelf) continue;
    const error = rule.check(value, before, path);
    if (error !== undefined) errors.push(error);
  }
  if (Array.isArray(value)) evaluateItems(node, value, before, path, errors);
  else if (isObject(value)) evaluateMembers(node, value, before, path, errors);
}

function evaluateMembers(node: SchemaNode, value: JsonObject, old: unknown, path: string, errors: FieldError[]): void {
  const before = isObject(old) ? old : {};
  for (const [name, child] of node.properties) {
    if (child.rulesWithin)
      evaluateRules(child, getOwn(value, name), getOwn(before, name), childPath(path, name), errors);
  }
  if (node.additional?.rulesWithin !== true) return;
  for (const key of Object.keys(value)) {
    evaluateRules(node.additional, getOwn(value, key), getOwn(before, key), entryPath(path, key), errors);
  }
}

function evaluateItems(
  node: SchemaNode,
  value: readonly unknown[],
  old: unknown,
  path: string,
  errors: FieldError[],
): void {
  const { items } = node;
  if (items?.rulesWithin !== true) return;
  const correlate = node.listType === "map" && Array.isArray(old) ? indexByKeys(node, old) : () => undefined;
  value.forEach((item, index) => {
    evaluateRules(items, item, correlate(item), `${path}[${index}]`, errors);
  });
}

const blocking = new Set(["NotSupported", "Required", "TooLong", "TooMany", "TypeInvalid"]);

/**
 * What stands in for the rules when the object is too broken to evaluate them on; undefined when they can be
 * evaluated.
 */
export function rulesBlockedBy(errors: readonly FieldError[]): FieldError | undefined {
  if (!errors.some((error) => blocking.has(error.type))) return undefined;
  return invalid(
    noField,
    null,
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
  );
}

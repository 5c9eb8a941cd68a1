import { equalJson, getOwn, isObject, type JsonObject, setOwn } from "../json.ts";
import { inOrder } from "./element-order.ts";
import { PatchApplyError, PatchSyntaxError } from "./json-patch.ts";
import type { MergeNode } from "./merge-keys.ts";

/**
 * Strategic merge patch: a merge patch in which some lists are merged item by item. Members that begin with `$` are
 * directives of the patch and never end up in the object.
 */

const deletePrefix = "$deleteFromPrimitiveList/";
const orderPrefix = "$setElementOrder/";
const retainKeys = "$retainKeys";
const directive = "$patch";

/**
 * The object that a patch makes of another. Neither is changed.
 *
 * @throws PatchSyntaxError for a patch that cannot be read, PatchApplyError for one that does not fit
 */
export function strategicMerge(current: unknown, patch: unknown, node: MergeNode): unknown {
  if (!isObject(patch)) throw new PatchSyntaxError("a strategic merge patch of an object is an object");
  return mergeObject(isObject(current) ? current : {}, patch, node);
}

function mergeObject(current: JsonObject, patch: JsonObject, node: MergeNode | undefined): JsonObject {
  switch (getOwn(patch, directive)) {
    case undefined:
    case "merge":
      break;
    case "replace":
      return withoutDirectives(patch) as JsonObject;
    case "delete":
      return {};
    default:
      throw new PatchSyntaxError(
        `unknown patch type ${JSON.stringify(patch[directive])}: use replace, delete or merge`,
      );
  }
  const result = retained(current, patch);
  for (const [name, value] of Object.entries(patch)) {
    if (!name.startsWith("$")) mergeMember(result, name, value, patch, node?.members?.[name]);
  }
  for (const name of Object.keys(patch)) applyListDirective(result, name, patch, node);
  return result;
}

/** The current members, without those that `$retainKeys` does not list. */
function retained(current: JsonObject, patch: JsonObject): JsonObject {
  const keys = getOwn(patch, retainKeys);
  const result: JsonObject = {};
  if (keys !== undefined && !isTexts(keys)) throw new PatchSyntaxError(`${retainKeys} is a list of names`);
  for (const name of Object.keys(current)) {
    if (keys === undefined || keys.includes(name)) setOwn(result, name, current[name]);
  }
  return result;
}

function mergeMember(
  result: JsonObject,
  name: string,
  value: unknown,
  patch: JsonObject,
  node: MergeNode | undefined,
): void {
  if (value === null) {
    delete result[name];
    return;
  }
  const old = getOwn(result, name);
  if (isObject(value)) setOwn(result, name, isObject(old) ? mergeObject(old, value, node) : withoutDirectives(value));
  else if (Array.isArray(value) && node?.list !== undefined && Array.isArray(old)) {
    setOwn(result, name, mergeList(old, value, node, getOwn(patch, `${orderPrefix}${name}`), name));
  } else setOwn(result, name, withoutDirectives(value));
}

/** `$deleteFromPrimitiveList/x`, and `$setElementOrder/x` of a list that the patch does not change otherwise. */
function applyListDirective(result: JsonObject, key: string, patch: JsonObject, node: MergeNode | undefined): void {
  const value = patch[key];
  if (key.startsWith(deletePrefix)) {
    const name = key.slice(deletePrefix.length);
    if (!Array.isArray(value)) throw new PatchSyntaxError(`${key} is a list of values`);
    const old = getOwn(result, name);
    if (Array.isArray(old))
      setOwn(
        result,
        name,
        old.filter((item) => !value.some((gone) => equalJson(gone, item))),
      );
  } else if (key.startsWith(orderPrefix)) {
    const name = key.slice(orderPrefix.length);
    const old = getOwn(result, name);
    const list = node?.members?.[name]?.list;
    if (list === undefined || Object.hasOwn(patch, name) || !Array.isArray(old)) return;
    setOwn(result, name, inOrder(old, old, readOrder(value, name), list));
  }
}

function mergeList(
  old: readonly unknown[],
  patch: readonly unknown[],
  node: MergeNode,
  order: unknown,
  name: string,
): unknown[] {
  const { list } = node;
  const merged =
    list === "values" || list === undefined ? union(old, patch) : mergeItems(old, patch, list.key, node, name);
  return order === undefined || list === undefined ? merged : inOrder(merged, old, readOrder(order, name), list);
}

function union(old: readonly unknown[], patch: readonly unknown[]): unknown[] {
  const added = patch.filter((item, index) => !old.includes(item) && patch.indexOf(item) === index);
  return [...old, ...added];
}

function mergeItems(
  old: readonly unknown[],
  patch: readonly unknown[],
  key: string,
  node: MergeNode,
  name: string,
): unknown[] {
  const items = patch.map((item) => {
    if (!isObject(item)) throw new PatchApplyError(`${name}: items of this list are objects`);
    return item;
  });
  if (items.some((item) => item[directive] === "replace")) {
    return items.filter((item) => item[directive] !== "replace").map(withoutDirectives);
  }
  const result: unknown[] = [...old];
  for (const item of items) {
    const id = getOwn(item, key);
    if (id === undefined) {
      throw new PatchApplyError(`${name}: ${JSON.stringify(item)} does not contain declared merge key: ${key}`);
    }
    const at = result.findIndex((candidate) => isObject(candidate) && equalJson(candidate[key], id));
    const found = result[at];
    if (item[directive] === "delete") {
      if (at >= 0) result.splice(at, 1);
    } else if (isObject(found)) result[at] = mergeObject(found, item, node.item);
    else result.push(withoutDirectives(item));
  }
  return result;
}

function readOrder(value: unknown, name: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new PatchSyntaxError(`${orderPrefix}${name} is a list`);
  return value;
}

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string");

/** A value of the patch as part of the object: without directives, and without the nulls that delete nothing. */
function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.filter((item) => !isObject(item) || !Object.hasOwn(item, directive)).map(withoutDirectives);
  }
  if (!isObject(value)) return value;
  const result: JsonObject = {};
  for (const [name, member] of Object.entries(value)) {
    if (!name.startsWith("$") && member !== null) setOwn(result, name, withoutDirectives(member));
  }
  return result;
}

/** Plain JSON values: the only thing the server stores, and how it copies, compares and freezes them. */

import { isObject } from "#kube/json.ts";

export { deepFreeze as freezeJson, equalJson, isObject } from "#kube/json.ts";

/** A JSON object whose members are not known. */
export type JsonObject = Record<string, unknown>;

/** Whether a value is an object all of whose members are texts. */
export function isStringMap(value: unknown): value is Record<string, string> {
  return isObject(value) && Object.values(value).every((item) => typeof item === "string");
}

/** Sets an own member even where the key is `__proto__`, which a plain assignment would take for the prototype. */
export function setOwn(target: JsonObject, key: string, value: unknown): void {
  if (key === "__proto__") {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    target[key] = value;
  }
}

/** Reads an own member; never one of the prototype's (`constructor`, `toString`). */
export function getOwn(target: JsonObject, key: string): unknown {
  return Object.hasOwn(target, key) ? target[key] : undefined;
}

/** How much of a body may still be copied; see {@link copyJson}. */
export interface Budget {
  bytes: number;
}

/** The body is larger, or nested deeper, than the server takes. */
export class JsonLimitError extends Error {
  override readonly name = "JsonLimitError";
  readonly limit: "size" | "depth";

  constructor(limit: "size" | "depth") {
    super(limit === "size" ? "the JSON value is too large" : "the JSON value is nested too deeply");
    this.limit = limit;
  }
}

/** Deeper values would endanger the stack of every recursive walk; real manifests stay below 100. */
const maxDepth = 512;

/**
 * A copy that shares nothing with its source, with the meaning JSON text would give it: members that are undefined or
 * functions vanish, `toJSON` is honoured, NaN and infinities become null.
 *
 * @param budget is charged with about the length of the JSON text.
 * @throws JsonLimitError when the budget is spent or the nesting passes 512.
 */
export function copyJson(value: unknown, budget: Budget = { bytes: Number.POSITIVE_INFINITY }, depth = 0): unknown {
  if (depth > maxDepth) throw new JsonLimitError("depth");
  switch (typeof value) {
    case "string":
      charge(budget, value.length + 2);
      return value;
    case "number":
      charge(budget, 8);
      return Number.isFinite(value) ? value : null;
    case "boolean":
      charge(budget, 5);
      return value;
    case "object":
      break;
    default:
      return null;
  }
  if (value === null) return null;
  if (Array.isArray(value)) {
    charge(budget, 2 + value.length);
    return value.map((item) => copyJson(item, budget, depth + 1));
  }
  if ("toJSON" in value && typeof value.toJSON === "function") return copyJson(value.toJSON(), budget, depth + 1);
  const source = value as JsonObject;
  const copy: JsonObject = {};
  for (const key of Object.keys(source)) {
    const item = source[key];
    if (item === undefined || typeof item === "function" || typeof item === "symbol") continue;
    charge(budget, key.length + 4);
    setOwn(copy, key, copyJson(item, budget, depth + 1));
  }
  return copy;
}

function charge(budget: Budget, bytes: number): void {
  budget.bytes -= bytes;
  if (budget.bytes < 0) throw new JsonLimitError("size");
}

/** The value at a path of member names, undefined where the path ends early. */
export function getPath(value: unknown, path: readonly string[]): unknown {
  let current = value;
  for (const key of path) {
    if (!isObject(current)) return undefined;
    current = getOwn(current, key);
  }
  return current;
}

/**
 * `next` with every part that equals the one in `old` replaced by that one. Unchanged parts can then be told by
 * identity, are stored once, and need no second validation.
 */
export function shareJson(next: unknown, old: unknown): unknown {
  if (next === old) return old;
  if (Array.isArray(next)) {
    if (!Array.isArray(old)) return next;
    let same = next.length === old.length;
    const shared = next.map((item: unknown, index) => {
      const part = shareJson(item, old[index]);
      same &&= part === old[index];
      return part;
    });
    return same ? old : shared;
  }
  if (!isObject(next) || !isObject(old)) return next;
  const keys = Object.keys(next);
  let same = keys.length === Object.keys(old).length;
  const shared: JsonObject = {};
  for (const key of keys) {
    const before = getOwn(old, key);
    const part = shareJson(getOwn(next, key), before);
    same &&= part === before && Object.hasOwn(old, key);
    setOwn(shared, key, part);
  }
  return same ? old : shared;
}

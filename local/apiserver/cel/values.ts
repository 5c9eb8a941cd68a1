import { isObject } from "../json.ts";
import { CelError } from "./errors.ts";

/**
 * Values are the JSON values of the object itself: numbers stand for int and double (the static type tells which),
 * members that are absent are absent. Map literals are `Map`s, because their keys need not be strings.
 */

/** A value or nothing: what `oldSelf` is under `optionalOldSelf`. */
export class Optional {
  readonly present: boolean;
  readonly value: unknown;

  constructor(value: unknown) {
    this.present = value !== undefined;
    this.value = value;
  }
}

/** Equality of values of one type: by content, whatever the order of members. */
export function equalValues(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => equalValues(item, b[index]));
  }
  if (a instanceof Optional) {
    return b instanceof Optional && a.present === b.present && equalValues(a.value, b.value);
  }
  if (Array.isArray(b) || b instanceof Optional) return false;
  const keys = keysOf(a);
  if (keys.length !== keysOf(b).length) return false;
  return keys.every((key) => hasKey(b, key) && equalValues(entryOf(a, key), entryOf(b, key)));
}

/** Equality of lists that are sets: the order does not count. */
export function equalUnordered(a: unknown, b: unknown): boolean {
  if (!Array.isArray(a) || !Array.isArray(b)) return equalValues(a, b);
  return a.length === b.length && a.every((item) => b.some((other) => equalValues(item, other)));
}

/** Keys of a map or object. @throws CelError for anything else. */
export function keysOf(map: unknown): unknown[] {
  if (map instanceof Map) return [...map.keys()];
  if (isObject(map)) return Object.keys(map);
  throw new CelError("no such overload");
}

/** Whether a map or object has a key. @throws CelError for anything else. */
export function hasKey(map: unknown, key: unknown): boolean {
  if (map instanceof Map) return map.has(key);
  if (isObject(map)) return typeof key === "string" && Object.hasOwn(map, key);
  throw new CelError("no such overload");
}

/** @throws CelError when the key is missing. */
export function entryOf(map: unknown, key: unknown): unknown {
  if (!hasKey(map, key)) throw new CelError(`no such key: ${String(key)}`);
  return map instanceof Map ? map.get(key) : (map as Record<string, unknown>)[key as string];
}

/** What `in` means: an item of a list, or a key of a map. */
export function contains(container: unknown, value: unknown): boolean {
  if (Array.isArray(container)) return container.some((item) => equalValues(item, value));
  return hasKey(container, value);
}

/** What indexing means. @throws CelError */
export function at(container: unknown, index: unknown): unknown {
  if (!Array.isArray(container)) return entryOf(container, index);
  if (typeof index !== "number" || !Number.isInteger(index)) throw new CelError("no such overload");
  if (index < 0 || index >= container.length) throw new CelError(`index out of bounds: ${index}`);
  return container[index];
}

/** Code points of a string, items of a list, entries of a map. */
export function sizeOf(value: unknown): number {
  if (typeof value === "string") {
    let count = 0;
    for (const _ of value) count += 1;
    return count;
  }
  return Array.isArray(value) ? value.length : keysOf(value).length;
}

/** What a macro walks over: items of a list, keys of a map. */
export function rangeOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : keysOf(value);
}

/**
 * Ordering of two values of one type: numbers, strings (by code point), booleans (false first).
 *
 * @throws CelError for anything else.
 */
export function compareValues(a: unknown, b: unknown): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === "boolean" && typeof b === "boolean") return Number(a) - Number(b);
  if (typeof a === "string" && typeof b === "string") return Buffer.compare(Buffer.from(a), Buffer.from(b));
  throw new CelError("no such overload");
}

/** What JSON documents need beyond `JSON`: copies without text, merge patches. */
import { jsonEqual } from "#api/json.ts";
import type { Json } from "#api/meta.ts";

export { jsonEqual as equalJson } from "#api/json.ts";

type Members = Record<string, unknown>;

/** Whether a value is an object in the sense of JSON: no array, not null. */
export function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * A deep copy of a JSON value, as if it had travelled over the wire: undefined members are left out, `toJSON` is
 * honoured. Costs about a microsecond for 30 members.
 */
export function copyJson<T>(value: T): T {
  return copy(value) as T;
}

function copy(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return scalar(value);
  if (Array.isArray(value)) return value.map((item) => copy(item) ?? null);
  if (typeof (value as { toJSON?: unknown }).toJSON === "function") return (value as { toJSON(): unknown }).toJSON();
  const result: Members = {};
  for (const name of Object.keys(value)) {
    const member = copy((value as Members)[name]);
    if (member !== undefined) set(result, name, member);
  }
  return result;
}

/** What `JSON.stringify` makes of a value that is no object. */
function scalar(value: unknown): unknown {
  if (typeof value === "number") return Number.isFinite(value) ? value + 0 : null;
  if (typeof value === "bigint") throw new TypeError("a bigint is no JSON value");
  return typeof value === "function" || typeof value === "symbol" ? undefined : value;
}

/** Sets an own member even when it is called `__proto__`. */
function set(object: Members, name: string, value: unknown): void {
  if (name === "__proto__") {
    Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
  } else object[name] = value;
}

/**
 * JSON merge patch (RFC 7386): null removes a member, objects merge, everything else replaces. Neither argument is
 * changed; untouched parts are shared with `target`.
 */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result: Members = {};
  if (isObject(target)) for (const name of Object.keys(target)) set(result, name, target[name]);
  for (const name of Object.keys(patch)) {
    const value = patch[name];
    if (value === undefined) continue;
    if (value === null) delete result[name];
    else set(result, name, mergePatch(Object.hasOwn(result, name) ? result[name] : undefined, value));
  }
  return result;
}

/**
 * The smallest merge patch that turns `from` into `to`, or undefined when they are equal. Arrays are replaced whole.
 * Nulls inside `to` cannot be expressed by a merge patch and come out as removals.
 */
export function diffMergePatch(from: unknown, to: unknown): Json | undefined {
  if (!isObject(from) || !isObject(to)) return jsonEqual(from, to) ? undefined : (copyJson(to ?? null) as Json);
  const patch: { [name: string]: Json } = {};
  for (const name of Object.keys(from)) {
    if (from[name] !== undefined && memberOf(to, name) === undefined) set(patch, name, null);
  }
  for (const name of Object.keys(to)) {
    if (to[name] === undefined) continue;
    const old = memberOf(from, name);
    // A new object is sent whole, not as a difference to nothing, so that empty objects arrive too.
    const change = old === undefined ? (copyJson(to[name]) as Json) : diffMergePatch(old, to[name]);
    if (change !== undefined) set(patch, name, change);
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

/** A member of its own: every object has a `toString`, which is none of its JSON. */
const memberOf = (object: Readonly<Record<string, unknown>>, name: string) =>
  Object.hasOwn(object, name) ? object[name] : undefined;

/** Freezes a JSON value with everything in it, and returns it. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) deepFreeze(member);
  }
  return value;
}

import { equalJson, getOwn, isObject, type JsonObject, setOwn } from "../json.ts";

/** JSON patch (RFC 6902). */

/** One operation of a patch, checked for its shape. */
export type Operation =
  | { readonly op: "add" | "replace" | "test"; readonly path: string; readonly value: unknown }
  | { readonly op: "remove"; readonly path: string }
  | { readonly op: "move" | "copy"; readonly from: string; readonly path: string };

/** The patch is no JSON patch at all: wrong shape, unknown operation, malformed pointer. */
export class PatchSyntaxError extends Error {
  override readonly name = "PatchSyntaxError";
}

/** The patch does not fit the document: a missing path, an index out of bounds, a failed test. */
export class PatchApplyError extends Error {
  override readonly name = "PatchApplyError";
}

/**
 * Reads a patch document.
 *
 * @throws PatchSyntaxError
 */
export function parseJsonPatch(patch: unknown): Operation[] {
  if (!Array.isArray(patch)) throw new PatchSyntaxError("a JSON patch is an array of operations");
  return patch.map((item: unknown, index) => parseOperation(item, index));
}

function parseOperation(item: unknown, index: number): Operation {
  const at = `operation ${index}`;
  if (!isObject(item)) throw new PatchSyntaxError(`${at} is not an object`);
  const path = pointerOf(item, "path", at);
  switch (item.op) {
    case "add":
    case "replace":
    case "test":
      if (!Object.hasOwn(item, "value")) throw new PatchSyntaxError(`${at} (${item.op} ${path}) has no value`);
      return { op: item.op, path, value: item.value };
    case "remove":
      return { op: "remove", path };
    case "move":
    case "copy":
      return { op: item.op, path, from: pointerOf(item, "from", at) };
    default:
      throw new PatchSyntaxError(
        `${at}: unexpected kind ${JSON.stringify(item.op)}; use add, remove, replace, move, copy or test`,
      );
  }
}

function pointerOf(item: JsonObject, member: "path" | "from", at: string): string {
  const pointer = item[member];
  if (typeof pointer !== "string") throw new PatchSyntaxError(`${at} has no ${member}`);
  if (pointer !== "" && !pointer.startsWith("/")) {
    throw new PatchSyntaxError(`${at}: ${member} ${JSON.stringify(pointer)} does not start with "/"`);
  }
  return pointer;
}

/**
 * Applies a patch and returns the new document; the given one is not changed, and parts that no operation touches are
 * shared with it.
 *
 * @throws PatchApplyError when one operation does not apply; then none has an effect.
 */
export function applyJsonPatch(document: unknown, operations: readonly Operation[]): unknown {
  return operations.reduce((current, operation) => applyOperation(current, operation), document);
}

function applyOperation(document: unknown, operation: Operation): unknown {
  const path = parsePointer(operation.path);
  switch (operation.op) {
    case "add":
      return edit(document, path, "add", operation.path, operation.value);
    case "replace":
      return edit(document, path, "replace", operation.path, operation.value);
    case "remove":
      return edit(document, path, "remove", operation.path, undefined);
    case "test": {
      const found = lookup(document, path);
      // Kubernetes' patch library takes a missing member and null for the same in a test.
      if (!equalJson(found.exists ? found.value : null, operation.value)) {
        throw new PatchApplyError(`testing path ${operation.path} value failed`);
      }
      return document;
    }
    case "copy":
      return edit(document, path, "add", operation.path, read(document, operation.from));
    case "move": {
      if (operation.path !== operation.from && operation.path.startsWith(`${operation.from}/`)) {
        throw new PatchApplyError(`cannot move ${operation.from} into itself at ${operation.path}`);
      }
      const value = read(document, operation.from);
      const without = edit(document, parsePointer(operation.from), "remove", operation.from, undefined);
      return edit(without, path, "add", operation.path, value);
    }
    default:
      return operation satisfies never;
  }
}

function parsePointer(pointer: string): string[] {
  if (pointer === "") return [];
  return pointer
    .slice(1)
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function read(document: unknown, pointer: string): unknown {
  const found = lookup(document, parsePointer(pointer));
  if (!found.exists) throw missing(pointer);
  return found.value;
}

function lookup(document: unknown, path: readonly string[]): { exists: boolean; value: unknown } {
  let current = document;
  for (const key of path) {
    if (Array.isArray(current)) {
      const index = arrayIndex(key, current.length - 1);
      if (index === undefined) return { exists: false, value: undefined };
      current = current[index];
    } else if (isObject(current) && Object.hasOwn(current, key)) {
      current = getOwn(current, key);
    } else {
      return { exists: false, value: undefined };
    }
  }
  return { exists: true, value: current };
}

/** Rebuilds the spine from the root to the edited place. */
function edit(
  target: unknown,
  path: readonly string[],
  how: "add" | "replace" | "remove",
  pointer: string,
  value: unknown,
): unknown {
  const [key, ...rest] = path;
  if (key === undefined) {
    if (how === "remove") throw new PatchApplyError("the whole document cannot be removed");
    return value;
  }
  if (Array.isArray(target)) {
    const last = rest.length === 0;
    const index =
      last && how === "add" && key === "-"
        ? target.length
        : arrayIndex(key, target.length - (last && how === "add" ? 0 : 1));
    if (index === undefined) throw missing(pointer);
    const copy = [...target];
    if (!last) copy[index] = edit(target[index], rest, how, pointer, value);
    else if (how === "add") copy.splice(index, 0, value);
    else if (how === "replace") copy[index] = value;
    else copy.splice(index, 1);
    return copy;
  }
  if (!isObject(target)) throw missing(pointer);
  const exists = Object.hasOwn(target, key);
  if (!exists && (rest.length > 0 || how !== "add")) throw missing(pointer);
  const copy = { ...target };
  if (rest.length > 0) setOwn(copy, key, edit(getOwn(target, key), rest, how, pointer, value));
  else if (how === "remove") delete copy[key];
  else setOwn(copy, key, value);
  return copy;
}

/** An index written without sign or leading zeros that is at most `max`. */
function arrayIndex(text: string, max: number): number | undefined {
  if (!/^(?:0|[1-9]\d*)$/.test(text)) return undefined;
  const index = Number(text);
  return index <= max ? index : undefined;
}

function missing(pointer: string): PatchApplyError {
  return new PatchApplyError(`the path ${JSON.stringify(pointer)} does not exist in the object`);
}

import { getPath, isObject, type JsonObject } from "#local/apiserver/json.ts";

/** Reading the fields of a built-in object that nobody has validated in depth. */

/** The text at a dotted path, `""` where there is none. */
export function text(object: unknown, path: string): string {
  const value = getPath(object, path.split("."));
  return typeof value === "string" ? value : "";
}

/** The number at a dotted path, 0 where there is none. */
export function number(object: unknown, path: string): number {
  const value = getPath(object, path.split("."));
  return typeof value === "number" ? value : 0;
}

/** The objects of a list at a dotted path. */
export function items(object: unknown, path: string): readonly JsonObject[] {
  const value = getPath(object, path.split("."));
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** The texts of a list at a dotted path. */
export function texts(object: unknown, path: string): readonly string[] {
  const value = getPath(object, path.split("."));
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

/** How many members the map at a dotted path has. */
export function size(object: unknown, path: string): number {
  const value = getPath(object, path.split("."));
  return isObject(value) ? Object.keys(value).length : 0;
}

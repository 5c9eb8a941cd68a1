import { type FieldError, required, typeInvalid } from "../field-errors.ts";
import { getOwn, isObject, type JsonObject } from "../json.ts";
import type { SchemaNode } from "./schema.ts";

/**
 * Collects everything about a value that its schema forbids, with the paths and words of the API server.
 *
 * @param old what stood here before; a part that is the very same object was found valid then and is not looked at
 * again (the real server's ratcheting).
 */
export function validateNode(node: SchemaNode, value: unknown, old: unknown, path: string, errors: FieldError[]): void {
  if (value === old && typeof value === "object" && value !== null) return;
  if (value === null && node.nullable) return;
  if (!hasType(node, value)) {
    const found = jsonType(value);
    errors.push(
      typeInvalid(path, found, `${path} in body must be of type ${node.types.join(",")}: ${JSON.stringify(found)}`),
    );
    return;
  }
  for (const check of node.checks) check(value, path, errors);
  if (Array.isArray(value)) validateArray(node, value, old, path, errors);
  else if (isObject(value)) validateObject(node, value, old, path, errors);
}

/** Path of a declared member. */
export function childPath(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

/** Path of a map entry as rules and list types name it: in brackets, because its key may hold anything. */
export function entryPath(path: string, key: string): string {
  return `${path}[${key}]`;
}

function hasType({ types }: SchemaNode, value: unknown): boolean {
  if (types.length === 0) return true;
  const found = jsonType(value);
  return types.some((type) => type === found || (type === "number" && found === "integer"));
}

function jsonType(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}

function validateObject(node: SchemaNode, value: JsonObject, old: unknown, path: string, errors: FieldError[]): void {
  const before = isObject(old) ? old : {};
  for (const name of node.required) {
    if (!Object.hasOwn(value, name)) errors.push(required(childPath(path, name)));
  }
  if (node.embedded) validateEmbedded(value, path, errors);
  for (const name of Object.keys(value)) {
    const property = node.properties.get(name);
    const child = property ?? node.additional;
    if (child === undefined) continue;
    // Both declared and additional members are joined with a dot by the real validator.
    validateNode(child, getOwn(value, name), getOwn(before, name), childPath(path, name), errors);
  }
}

function validateEmbedded(value: JsonObject, path: string, errors: FieldError[]): void {
  for (const name of ["apiVersion", "kind"]) {
    if (typeof value[name] !== "string" || value[name] === "") {
      errors.push(required(childPath(path, name), "must not be empty"));
    }
  }
}

function validateArray(node: SchemaNode, value: unknown[], old: unknown, path: string, errors: FieldError[]): void {
  if (node.items !== undefined) {
    const before = Array.isArray(old) ? old : [];
    for (let i = 0; i < value.length; i++) validateNode(node.items, value[i], before[i], `${path}[${i}]`, errors);
  }
}

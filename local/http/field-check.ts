import { mergePatch } from "#kube/json.ts";
import { decodeObject, decodingContext, readFieldValidation } from "#local/apiserver/decode.ts";
import { badRequest, invalidPatch } from "#local/apiserver/errors.ts";
import { invalid } from "#local/apiserver/field-errors.ts";
import type { Kind } from "#local/apiserver/index.ts";
import { isObject, type JsonObject, setOwn } from "#local/apiserver/json.ts";
import { type FieldType, type Models, modelOf } from "#local/openapi/models.ts";
import { type Body, duplicateText } from "./body.ts";

/** A body without the fields that its kind does not have, and the warnings about them. */
export interface Checked {
  readonly body: unknown;
  readonly warnings: readonly string[];
}

/**
 * What a body says twice, and its unknown fields. Those of built-in kinds are told apart here, since the API server itself does not
 * know them in depth; those of custom kinds are found there, by their schemas.
 *
 * @param method POST, PUT or PATCH; a JSON patch is not looked into
 * @throws StatusError 400 or 422 under `fieldValidation=Strict`
 */
export function checkFields(
  models: Models,
  kind: Kind,
  method: string,
  body: Body,
  fieldValidation: string | undefined,
): Checked {
  const mode = readFieldValidation(fieldValidation, optionsOf[method] ?? "UpdateOptions");
  const { value } = body;
  const unknown: string[] = [];
  const isLookedInto = !kind.custom && isObject(value);
  const known = isLookedInto ? prune(models, { form: "model", name: modelOf(kind) }, value, "", unknown) : value;
  if (mode === "Ignore") return { body: known, warnings: [] };
  const duplicates = body.duplicates();
  if (mode === "Warn") return { body: known, warnings: inOrder(kind, method, body, duplicates, unknown) };
  // Unknown fields alone are refused where they are found.
  if (kind.custom && duplicates.length > 0 && isObject(value)) {
    // A merge patch has the form of its object; what it takes away leaves no field.
    const { apiVersion, kind: name } = kind;
    const object = method === "PATCH" ? mergePatch({ apiVersion, kind: name }, value) : value;
    unknown.push(...decodeObject(kind, object).unknown);
  }
  if (duplicates.length + unknown.length === 0 || (kind.custom && duplicates.length === 0)) {
    return { body: known, warnings: [] };
  }
  const text = `strict decoding error: ${inOrder(kind, method, body, together(duplicates), unknown).join(", ")}`;
  throw method === "PATCH"
    ? invalidPatch([invalid("patch", JSON.stringify(value), text)])
    : badRequest(`${decodingContext(kind)}${text}`);
}

/** The reader of YAML tells its lines all together; that of JSON tells fields. */
function together(duplicates: readonly string[]): readonly string[] {
  const isYaml = duplicates.length > 0 && duplicates.every((text) => text.startsWith("line "));
  return isYaml ? [`yaml: unmarshal errors:\n${duplicates.map((one) => `  ${one}`).join("\n")}`] : duplicates;
}

/**
 * An API server reads an object of a built-in kind from JSON in one go, and tells what it finds where it finds it. Everything else it
 * reads twice: for duplicates first.
 */
function inOrder(
  kind: Kind,
  method: string,
  { places }: Body,
  duplicates: readonly string[],
  unknown: readonly string[],
): readonly string[] {
  const unknownText = (path: string) => `unknown field ${JSON.stringify(path)}`;
  const all = [...duplicates, ...unknown.map(unknownText)];
  if (kind.custom || method === "PATCH" || places === undefined || all.length < 2) return all;
  const found = new Map<string, number>();
  for (const [path, [first = 0, second = first]] of places()) {
    found.set(duplicateText(path), second);
    found.set(unknownText(path), first);
  }
  return all.sort((a, b) => (found.get(a) ?? 0) - (found.get(b) ?? 0));
}

/** What Kubernetes calls the parameters of a method. */
const optionsOf: Readonly<Record<string, string>> = { POST: "CreateOptions", PATCH: "PatchOptions" };

function prune(models: Models, type: FieldType, value: unknown, path: string, unknown: string[]): unknown {
  switch (type.form) {
    case "array":
      if (!Array.isArray(value)) return value;
      return value.map((item, index) => prune(models, type.items, item, `${path}[${index}]`, unknown));
    case "map":
      if (!isObject(value)) return value;
      return mapMembers(value, (name, member) => prune(models, type.values, member, `${path}.${name}`, unknown));
    case "model":
      return isObject(value) ? pruneModel(models, type.name, value, path, unknown) : value;
    default:
      return value;
  }
}

function pruneModel(models: Models, name: string, value: JsonObject, path: string, unknown: string[]): unknown {
  const model = models.get(name);
  if (model === undefined) return value;
  return mapMembers(value, (key, member) => {
    const field = model.fields.get(key);
    const at = path === "" ? key : `${path}.${key}`;
    if (field !== undefined) return prune(models, field.type, member, at, unknown);
    if (key.startsWith("$")) return member; // a directive of a patch
    unknown.push(at);
    return undefined;
  });
}

function mapMembers(value: JsonObject, change: (key: string, member: unknown) => unknown): JsonObject {
  const result: JsonObject = {};
  for (const [key, member] of Object.entries(value)) {
    const changed = change(key, member);
    if (changed !== undefined) setOwn(result, key, changed);
  }
  return result;
}

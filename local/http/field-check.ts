import { checkUnknown, decodingContext, readFieldValidation } from "#local/apiserver/decode.ts";
import { badRequest, invalidPatch } from "#local/apiserver/errors.ts";
import { invalid } from "#local/apiserver/field-errors.ts";
import type { Kind } from "#local/apiserver/index.ts";
import { isObject, type JsonObject, setOwn } from "#local/apiserver/json.ts";
import { type FieldType, type Models, modelOf } from "#local/openapi/models.ts";

/** A body without the fields that its kind does not have, and the warnings about them. */
export interface Checked {
  readonly body: unknown;
  readonly warnings: readonly string[];
}

/**
 * Unknown fields of built-in kinds, which the API server itself does not know in depth. Custom kinds are checked there, by
 * their schemas.
 *
 * @param method POST, PUT or PATCH; a JSON patch is not looked into
 * @throws StatusError 400 or 422 under `fieldValidation=Strict`
 */
export function checkFields(
  models: Models,
  kind: Kind,
  method: string,
  body: unknown,
  fieldValidation: string | undefined,
): Checked {
  const mode = readFieldValidation(fieldValidation, optionsOf[method] ?? "UpdateOptions");
  if (!isObject(body)) return { body, warnings: [] };
  const unknown: string[] = [];
  const known = prune(models, { form: "model", name: modelOf(kind) }, body, "", unknown);
  const refuse = (text: string) =>
    method === "PATCH"
      ? invalidPatch([invalid("patch", JSON.stringify(body), text)])
      : badRequest(`${decodingContext(kind)}${text}`);
  return { body: known, warnings: checkUnknown(unknown, mode, refuse) };
}

/**
 * What a body says twice.
 *
 * @returns warnings
 * @throws StatusError 400 or 422 under `fieldValidation=Strict`
 */
export function checkDuplicates(
  kind: Kind,
  method: string,
  body: unknown,
  duplicates: () => readonly string[],
  fieldValidation: string | undefined,
): readonly string[] {
  const mode = readFieldValidation(fieldValidation, optionsOf[method] ?? "UpdateOptions");
  if (mode === "Ignore") return [];
  const found = duplicates();
  if (found.length === 0 || mode === "Warn") return found;
  // The reader of YAML tells lines, all together; that of JSON tells fields.
  const isYaml = found.every((text) => text.startsWith("line "));
  const text = isYaml ? `yaml: unmarshal errors:\n${found.map((one) => `  ${one}`).join("\n")}` : found.join(", ");
  const said = `strict decoding error: ${text}`;
  throw method === "PATCH"
    ? invalidPatch([invalid("patch", JSON.stringify(body), said)])
    : badRequest(`${decodingContext(kind)}${said}`);
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

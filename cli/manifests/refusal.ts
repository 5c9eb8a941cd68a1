import { isKind, kinds } from "#api/crd/kinds.ts";
import { type FieldError, formatFieldError } from "#api/field-error.ts";
import { StatusError } from "#kube/transport.ts";
import { suggestion } from "../closest.ts";
import { type Manifest, nameOf } from "./manifest.ts";
import { inWords } from "./pattern-words.ts";
import type { Problem } from "./problem.ts";

/** How the API server spells a field that a kind does not have, under `fieldValidation=Strict`; it gives no causes then. */
const unknownField = /unknown field "((?:[^"\\]|\\.)*)"/g;

/** Words of field.Error that say nothing beyond what follows them. */
const emptyWords = /^(Forbidden|Invalid value: "(object|string)"): (?!\S+ in body )/;

/** What the API server adds when it leaves rules out because of the other problems; it goes without saying. */
const unchecked = "some validation rules were not checked";

/** A place in the text of the field before the message, and below it the line with a caret: see `located` of the compiler. */
const inText = /^(\d+):(\d+): ([\s\S]*?)(?:\. Correct the text here:)?(?:\n {4}[\s\S]*\n {4} *\^)?$/;

/** What is wrong with a field, as a problem of the file; a place in the text of the field becomes its place in the file. */
export function fieldProblem(manifest: Manifest, error: Pick<FieldError, "path" | "message" | "advice">): Problem {
  const { file, at } = manifest;
  const [, line, column, text] =
    inText.exec(formatFieldError({ ...error, type: "FieldValueInvalid" }).slice(error.path.length + 2)) ?? [];
  const name = `${nameOf(manifest)}: ${error.path}`;
  if (text === undefined)
    return { file, ...at(error.path), message: `${name}: ${error.message}`, advice: error.advice };
  return { file, ...at(error.path, { line: Number(line), column: Number(column) }), message: `${name}: ${text}` };
}

/** The answer of the API server to an object that it will not have, as problems of the file that the object comes from. */
export function refusalProblems(manifest: Manifest, error: unknown): Problem[] {
  const { file, at } = manifest;
  const problem = (path: string, message: string, advice?: string): Problem => ({
    file,
    ...at(path),
    message: `${nameOf(manifest)}: ${message}`,
    advice,
  });
  if (!(error instanceof StatusError)) throw error;
  if (error.reason === "AlreadyExists") {
    return [
      problem("metadata.name", "there is one of that name already", "Choose another name, or write generateName."),
    ];
  }
  const causes = (error.status.details?.causes ?? []).filter(({ message }) => !message?.includes(unchecked));
  if (error.code === 422 && causes.length > 0) {
    return causes.map(({ field = "", message: text = error.message }) => {
      const { message, advice } = inWords(text.replace(emptyWords, ""), manifest.scalar(field));
      if (field === "" || field === "<nil>") return problem("", message, advice);
      return fieldProblem(manifest, { path: field, message, ...(advice === undefined ? {} : { advice }) });
    });
  }
  const unknown = error.code === 400 ? [...error.message.matchAll(unknownField)].map(([, path = ""]) => path) : [];
  if (unknown.length === 0) return [problem("metadata.name", error.message)];
  return unknown.map((path) => problem(path, `${path}: there is no such field`, fieldAdvice(manifest, path)));
}

/** The field that was probably meant, or those that there are. */
function fieldAdvice({ resource, object }: Manifest, path: string): string | undefined {
  if (!isKind(resource.kind)) return undefined;
  const { spec, status } = kinds[resource.kind];
  let schema: unknown = { properties: { apiVersion: {}, kind: {}, metadata: {}, spec, status } };
  let value: unknown = object;
  const segments = segmentsOf(path);
  const last = segments.pop() ?? "";
  for (const segment of segments) {
    schema = child(schema, segment);
    value = (value as Record<string, unknown> | undefined)?.[segment];
  }
  const names = Object.keys((schema as { properties?: object } | undefined)?.properties ?? {});
  if (names.length === 0) return undefined;
  const free = names.filter((name) => !Object.hasOwn(Object(value), name));
  return suggestion(last, free) ?? `There are ${names.join(", ")}.`;
}

/** Members and indexes of a path; keys with dots do not matter here, since the schema has no such fields. */
const segmentsOf = (path: string): string[] => path.split(/[.[\]]+/).filter((segment) => segment !== "");

function child(schema: unknown, segment: string): unknown {
  const { properties, items, additionalProperties } = (schema ?? {}) as Record<string, unknown>;
  return (properties as Record<string, unknown> | undefined)?.[segment] ?? items ?? additionalProperties;
}

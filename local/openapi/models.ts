/**
 * The built-in kinds as the Kubernetes client library declares them: names, types and descriptions of every field. Its
 * declaration files are generated from Kubernetes' own API description, so nothing has to be kept a second time here.
 */

/** Type of a field, with the names of models where it leads to one. */
export type FieldType =
  | { readonly form: "string" | "integer" | "boolean" | "time" | "int-or-string" | "any" }
  | { readonly form: "array"; readonly items: FieldType }
  | { readonly form: "map"; readonly values: FieldType }
  | { readonly form: "model"; readonly name: string };

/** One field of a model. */
export interface Field {
  readonly name: string;
  readonly required: boolean;
  readonly description: string;
  readonly type: FieldType;
}

/** One type of the API. */
export interface Model {
  readonly name: string;
  readonly description: string;
  readonly fields: ReadonlyMap<string, Field>;
}

/** Gives the text of a model's declaration; undefined when there is none. */
export type ModelSource = (name: string) => string | undefined;

/** Models by name, each read once when it is first wanted. */
export interface Models {
  get(name: string): Model | undefined;
}

/** Models from their declarations. */
export function createModels(source: ModelSource): Models {
  const known = new Map<string, Model | undefined>();
  return {
    get(name) {
      if (!known.has(name)) {
        const text = source(name);
        known.set(name, text === undefined ? undefined : parseModel(name, text));
      }
      return known.get(name);
    },
  };
}

const classPattern =
  /\/\*\*\n((?:\*[^\n]*\n)*?)\*\/\nexport declare class \w+ \{\n([\s\S]*?)\n {4}static readonly discriminator/;
const fieldPattern =
  /(?: {4}\/\*\*\n((?: {4}\* [^\n]*\n)*?) {4}\*\/\n)?^ {4}'([^']+)'(\??): ([^;]*?(?:\{[^}]*\})?[^;]*);$/gm;

/**
 * Reads one declaration file.
 *
 * @throws Error when it does not have the form that the library's generator gives it
 */
export function parseModel(name: string, text: string): Model {
  const match = classPattern.exec(text);
  if (match === null) throw new Error(`the declaration of ${name} cannot be read`);
  const [, comment = "", body = ""] = match;
  const fields = new Map<string, Field>();
  for (const [, about = "", written = "", optional = "", type = ""] of body.matchAll(fieldPattern)) {
    const field = written.replace(/^_/, ""); // reserved words get an underscore in front
    fields.set(field, {
      name: field,
      required: optional === "",
      description: commentText(about),
      type: parseType(name, type.replace(/\s+/g, " ").trim()),
    });
  }
  return { name, description: commentText(comment), fields };
}

const commentText = (comment: string): string =>
  comment
    .split("\n")
    .map((line) => line.trim().replace(/^\* ?/, ""))
    .filter((line) => line !== "")
    .join(" ")
    .replace(/\\(['"])/g, "$1")
    .replace(/\*_\//g, "*/");

const simple: Readonly<Record<string, FieldType>> = {
  string: { form: "string" },
  number: { form: "integer" },
  boolean: { form: "boolean" },
  Date: { form: "time" },
  V1MicroTime: { form: "time" },
  IntOrString: { form: "int-or-string" },
  any: { form: "any" },
  object: { form: "any" },
};

function parseType(model: string, text: string): FieldType {
  const known = simple[text];
  if (known !== undefined) return known;
  const array = /^Array<(.+)>$/.exec(text)?.[1];
  if (array !== undefined) return { form: "array", items: parseType(model, array) };
  const values = /^\{ \[key: string\]: (.+); \}$/.exec(text)?.[1];
  if (values !== undefined) return { form: "map", values: parseType(model, values) };
  if (/^[A-Z]\w*$/.test(text)) return { form: "model", name: text };
  throw new Error(`the declaration of ${model} has a type that cannot be read: ${text}`);
}

/** Name of the model of a built-in kind. */
export function modelOf(kind: { readonly group: string; readonly kind: string }): string {
  if (kind.kind !== "Event") return `V1${kind.kind}`;
  return kind.group === "" ? "CoreV1Event" : "EventsV1Event";
}

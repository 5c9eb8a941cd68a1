import type { Column } from "#api/crd/kinds.ts";
import type { KubeObject } from "#api/meta.ts";
import { apiVersionOf } from "#kube/builtin.ts";
import type { ResourceType } from "#kube/resource.ts";
import { age } from "#local/table/human-duration.ts";
import { printable } from "#workflows/text.ts";
import { suggestion } from "../closest.ts";
import { CliError } from "../errors.ts";
import { compilePath, compileTemplate } from "./json-path.ts";
import { tableLines } from "./table.ts";

/** How objects are shown. */
export type Format =
  | { readonly as: "table"; readonly wide: boolean }
  | { readonly as: "json" | "yaml" | "name" }
  | { readonly as: "jsonpath"; readonly text: (value: unknown) => string };

const names = ["json", "yaml", "wide", "name", "jsonpath=..."];

/** What `-o` takes, for the help. */
export const formatHelp = "json, yaml, wide, name or jsonpath=TEMPLATE (default: a table)";

/**
 * Reads the value of `-o`.
 * @throws CliError
 */
export function parseFormat(text: string | undefined): Format {
  if (text === undefined) return { as: "table", wide: false };
  if (text === "wide") return { as: "table", wide: true };
  if (text === "json" || text === "yaml" || text === "name") return { as: text };
  if (text.startsWith("jsonpath=")) return { as: "jsonpath", text: compileTemplate(text.slice("jsonpath=".length)) };
  throw new CliError(`there is no output format ${text}`, {
    advice: suggestion(text, names) ?? `Write -o with one of ${names.join(", ")}.`,
  });
}

export interface ShowOptions {
  readonly resource: ResourceType<KubeObject>;
  readonly format: Format;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Whether objects are of several namespaces. */
  readonly allNamespaces?: boolean;
  /** A list was asked for, not an object: data formats show a List then, however many there are. */
  readonly list: boolean;
}

/** The objects in the format, with the line end. */
export async function show(objects: readonly KubeObject[], options: ShowOptions): Promise<string> {
  const { format, resource } = options;
  switch (format.as) {
    case "table":
      return lines(await table(objects, options, format.wide));
    case "name":
      return lines(objects.map(({ metadata }) => `${resource.kind.toLowerCase()}.${resource.group}/${metadata.name}`));
    case "json":
      return `${JSON.stringify(data(objects, options), undefined, 2)}\n`;
    case "yaml":
      return (await import("yaml")).stringify(data(objects, options), { lineWidth: 0, aliasDuplicateObjects: false });
    case "jsonpath":
      return format.text(data(objects, options));
  }
}

const lines = (texts: readonly string[]) => texts.map((text) => `${text}\n`).join("");

/** Items of lists come without their type, which is what tells people what they look at. */
function data(objects: readonly KubeObject[], { resource, list }: ShowOptions): unknown {
  const typed = objects.map((object) => ({ apiVersion: apiVersionOf(resource), kind: resource.kind, ...object }));
  return list || typed.length !== 1 ? { apiVersion: "v1", kind: "List", metadata: {}, items: typed } : typed[0];
}

/** The columns of `kubectl get`. */
async function table(
  objects: readonly KubeObject[],
  { resource, now, allNamespaces = false }: ShowOptions,
  wide: boolean,
): Promise<string[]> {
  // Columns stand beside the schemas, and what describes schemas is large.
  const { kinds } = await import("#api/crd/kinds.ts");
  const kind = Object.values(kinds).find((entry) => entry.resource.plural === resource.plural);
  const columns = (kind?.columns ?? []).filter(({ priority }) => wide || priority === undefined).map(readerOf);
  const headers = [...(allNamespaces ? ["NAMESPACE"] : []), "NAME", ...columns.map(({ header }) => header)];
  const rows = objects.map((object) => [
    ...(allNamespaces ? [object.metadata.namespace ?? ""] : []),
    object.metadata.name,
    ...columns.map(({ read }) => read(object, now)),
  ]);
  return tableLines(headers, rows);
}

function readerOf({ name, type, jsonPath }: Column) {
  const find = compilePath(jsonPath);
  const read = (object: KubeObject, now: number): string => {
    const [value] = find(object);
    if (type === "date") return age(value, now);
    return value === undefined || value === null ? "" : printable(String(value));
  };
  return { header: name.toUpperCase(), read };
}

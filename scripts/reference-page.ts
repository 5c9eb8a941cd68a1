import { customResourceDefinition } from "#api/crd/crd.ts";
import type { KindEntry } from "#api/crd/kinds.ts";
import { type Structural, structural } from "#api/crd/structural.ts";
import { type CelRule, patterns } from "#api/schema.ts";
import { unsupportedEntries } from "#api/unsupported.ts";
import { cell, code, table } from "./markdown.ts";

/** File name of the page of a kind. */
export function pageName({ resource }: KindEntry): string {
  return `${resource.kind.replace(/(?<=[a-z])(?=[A-Z])/g, "-").toLowerCase()}.md`;
}

/** The page of a kind: every field with type, bounds, default and description, then rules, columns and conditions. */
export function kindPage(entry: KindEntry): string {
  const crd = customResourceDefinition(entry);
  const [version] = crd.spec.versions;
  const { kind, plural } = entry.resource;
  return [
    `# ${kind}`,
    "",
    entry.description,
    "",
    ...table(
      ["", ""],
      [
        ["API version", `\`${crd.spec.group}/${version.name}\``],
        ["Resource", [plural, ...entry.shortNames].map(code).join(", ")],
        ["Subresources", Object.keys(version.subresources).map(code).join(", ")],
        ["Field selectors", ["metadata.name", ...entry.selectable.map((path) => path.slice(1))].map(code).join(", ")],
        ...(entry.name === undefined ? [] : [["Name", nameText(entry)]]),
      ],
    ),
    "",
    ...fieldSection("Spec", "spec", structural(entry.spec)),
    ...fieldSection("Status", "status", structural(entry.status)),
    ...ruleSection(entry),
    ...section(
      "Refused",
      "These fields are declared, and refused at creation with the advice.",
      ["Field", "Why", "Advice"],
      refusals(entry),
    ),
    ...section(
      "Columns",
      "Columns of `kubectl get`; those in brackets with `-o wide` only.",
      ["Column", "Source", "Meaning"],
      entry.columns.map(({ name, priority, jsonPath, description }) => [
        priority === 1 ? `(${name})` : name,
        code(jsonPath),
        cell(description),
      ]),
    ),
    ...section(
      "Conditions",
      "",
      ["Type", "Meaning"],
      Object.entries(entry.conditions).map(([type, meaning]) => [code(type), cell(meaning)]),
    ),
  ].join("\n");
}

function section(title: string, intro: string, head: readonly string[], rows: readonly string[][]): string[] {
  if (rows.length === 0) return [];
  return [`## ${title}`, "", ...(intro === "" ? [] : [intro, ""]), ...table(head, rows), ""];
}

function nameText({ name }: KindEntry): string {
  return `at most ${name?.maxLength} characters: ${cell(name?.why ?? "")}`;
}

function fieldSection(title: string, path: string, node: Structural): string[] {
  const head = ["Field", "Type", "Bounds", "Default", "Description"];
  const intro = `${node.description} Fields marked with * are required.`;
  return section(title, intro, head, fieldRows(path, node));
}

/** A row for each field below a node, in the order of the schema. */
function fieldRows(path: string, node: Structural): string[][] {
  return Object.entries(node.properties ?? {}).flatMap(([name, field]) => {
    const at = `${path}.${name}`;
    const star = node.required?.includes(name) ? " *" : "";
    const standard = field.default === undefined ? "" : code(JSON.stringify(field.default));
    const row = [code(at) + star, cell(typeOf(field)), bounds(field), standard, cell(field.description ?? "")];
    return [row, ...innerRows(at, field)];
  });
}

function innerRows(path: string, node: Structural): string[][] {
  if (node.properties !== undefined) return fieldRows(path, node);
  if (node.items !== undefined) return innerRows(`${path}[]`, node.items);
  return node.additionalProperties === undefined ? [] : innerRows(`${path}.*`, node.additionalProperties);
}

function typeOf(node: Structural): string {
  if (node["x-kubernetes-int-or-string"]) return "integer or string";
  if (node.items !== undefined) return `list of ${typeOf(node.items)}`;
  if (node.additionalProperties !== undefined) return `map of ${typeOf(node.additionalProperties)}`;
  if (node.format === "date-time") return "time";
  return node.type ?? "any";
}

/** Bounds of a field, and of the values of its map or list. */
function bounds(node: Structural): string {
  const inner = node.items ?? node.additionalProperties;
  const values = inner === undefined || inner.properties !== undefined ? "" : bounds(inner);
  return [...ownBounds(node), ...(values === "" ? [] : [`each: ${values}`])].join("; ");
}

const patternWords: ReadonlyMap<string, string> = new Map([
  [patterns.duration, "a duration: `250ms`, `90s`, `5m`, `1h30m`"],
  [patterns.subdomain, "a DNS name"],
  [patterns.label, "a DNS label"],
  [patterns.dataKey, "letters, digits, `-`, `_` and `.`, not beginning with `..`"],
  [patterns.relativePath, "a path without leading `/`, `.` and `..`"],
]);

function ownBounds(node: Structural): string[] {
  const range = (min: number | undefined, max: number | undefined, unit: string): string[] => {
    if (min === undefined && max === undefined) return [];
    if (max === undefined) return [`at least ${min}${unit}`];
    return [min === undefined ? `at most ${max}${unit}` : `${min} to ${max}${unit}`];
  };
  return [
    ...(node.enum === undefined ? [] : [node.enum.map(code).join(", ")]),
    ...range(node.minimum, node.maximum, ""),
    ...range(node.minLength, node.maxLength, " characters"),
    ...range(node.minItems, node.maxItems, " items"),
    ...range(node.minProperties, node.maxProperties, " members"),
    ...(node.pattern === undefined ? [] : [patternWords.get(node.pattern) ?? code(node.pattern)]),
  ];
}

function ruleSection({ spec, status }: KindEntry): string[] {
  const rows = [...rulesOf("spec", structural(spec)), ...rulesOf("status", structural(status))].map(
    ([path, { rule, message }]) => [code(path), cell(message), code(rule)],
  );
  return section("Rules", "The API server checks these rules (CEL).", ["Field", "Meaning", "Rule"], rows);
}

function rulesOf(path: string, node: Structural): (readonly [string, CelRule])[] {
  return [
    ...(node["x-kubernetes-validations"] ?? []).map((rule) => [path + (rule.fieldPath ?? ""), rule] as const),
    ...Object.entries(node.properties ?? {}).flatMap(([name, member]) => rulesOf(`${path}.${name}`, member)),
    ...(node.items === undefined ? [] : rulesOf(`${path}[]`, node.items)),
    ...(node.additionalProperties === undefined ? [] : rulesOf(`${path}.*`, node.additionalProperties)),
  ];
}

function refusals({ resource }: KindEntry): string[][] {
  return unsupportedEntries
    .filter(({ kind }) => kind === resource.kind)
    .map(({ path, message, advice }) => [code(path.replace(/\.(steps|env)\.\*/g, ".$1[]")), message, cell(advice)]);
}

import { expect, test } from "vitest";
import { kinds } from "./crd/kinds.ts";
import { type Structural, structural } from "./crd/structural.ts";
import { formatFieldError } from "./field-error.ts";
import type { KubeObject } from "./meta.ts";
import { newlyUnsupported, type Unsupported, unsupported, unsupportedEntries } from "./unsupported.ts";

/** Values among which every condition of the table finds one that it means. */
const samples: readonly unknown[] = [{}, ["a"], "Drain", "Custom", "S3"];

/** An object in which the field of the entry has that value; lists and maps on the way have one member. */
function objectWith(entry: Unsupported, value: unknown): { object: KubeObject; path: string } {
  const segments = entry.path.split(".");
  let node = value;
  let path = "";
  for (const [index, segment] of [...segments.entries()].reverse()) {
    const inList = segment === "*" && ["steps", "env"].includes(segments[index - 1] ?? "");
    node = segment !== "*" ? { [segment]: node } : inList ? [node] : { build: node };
    path = `${inList ? "[0]" : segment === "*" ? ".build" : `.${segment}`}${path}`;
  }
  return { object: { metadata: { name: "a" }, ...(node as object) }, path: path.slice(1) };
}

test.each(unsupportedEntries.map((entry) => [`${entry.kind} ${entry.path}`, entry] as const))(
  "%s is refused with its path and advice",
  (_, entry) => {
    const value = samples.find((sample) => entry.when?.(sample) ?? true);
    const { object, path } = objectWith(entry, value);
    const error = unsupported(entry.kind, object).find((candidate) => candidate.path === path);
    expect(error).toMatchObject({ type: "FieldValueNotSupported", message: entry.message, advice: entry.advice });
    expect(entry.advice).toMatch(/^[A-Z].*\.$/);
    expect(newlyUnsupported(entry.kind, object, structuredClone(object))).toEqual([]);
    expect(newlyUnsupported(entry.kind, { metadata: { name: "a" } }, object)).toContainEqual(error);
  },
);

test("a value that is honoured is not refused", () => {
  const run = {
    metadata: { name: "a" },
    spec: { runtime: "bash", termination: { mode: "Immediate" }, mode: { task: {} } },
  };
  const runtime = {
    metadata: { name: "a" },
    spec: { server: { type: "Injected" }, artifactStore: { driver: "Filesystem" }, secrets: [], configMaps: [] },
  };
  expect(unsupported("Run", run)).toEqual([]);
  expect(unsupported("Runtime", runtime)).toEqual([]);
});

test("the path names the very job and step", () => {
  const steps = [
    { name: "a", run: "true" },
    { name: "b", run: "true", id: "x" },
  ];
  const workflow = { metadata: { name: "a" }, spec: { jobs: { lint: { steps: [] }, "build-it": { steps } } } };
  expect(unsupported("Workflow", workflow).map(formatFieldError)).toEqual([
    "spec.jobs.build-it.steps[1].id: not supported. Use name; it is the id of the step.",
  ]);
});

test("a change of a refused value is refused, though it was there before", () => {
  const of = (name: string) => ({ metadata: { name: "a" }, spec: { name, jobs: {} } });
  expect(newlyUnsupported("Workflow", of("x"), of("y"))).toHaveLength(1);
  expect(newlyUnsupported("Workflow", of("y"), of("y"))).toEqual([]);
});

test("every key that is declared only to be refused has an entry", () => {
  const declared = Object.entries(kinds).flatMap(([kind, { spec }]) =>
    refusedFields(structural(spec), "spec").map((path) => `${kind} ${path}`),
  );
  const listed = new Set(unsupportedEntries.map(({ kind, path }) => `${kind} ${path}`));
  expect(declared.length).toBeGreaterThan(20);
  expect(declared.filter((field) => !listed.has(field))).toEqual([]);
});

function refusedFields(node: Structural, path: string): string[] {
  if (node.description === "Not supported; refused at creation.") return [path];
  return [
    ...Object.entries(node.properties ?? {}).flatMap(([name, member]) => refusedFields(member, `${path}.${name}`)),
    ...(node.additionalProperties ? refusedFields(node.additionalProperties, `${path}.*`) : []),
    ...(node.items ? refusedFields(node.items, `${path}.*`) : []),
  ];
}

test("every entry points at a field of its kind", () => {
  for (const { kind, path } of unsupportedEntries) {
    let node: Structural | undefined = { properties: { spec: structural(kinds[kind].spec) } };
    for (const segment of path.split(".")) {
      node = segment === "*" ? (node?.items ?? node?.additionalProperties) : node?.properties?.[segment];
    }
    expect(node, `${kind} ${path}`).toBeDefined();
  }
});

import { Type } from "@sinclair/typebox";
import { expect, test } from "vitest";
import type { CelRule } from "../schema.ts";
import { customResourceDefinition } from "./crd.ts";
import { type Kind, kinds } from "./kinds.ts";
import { type Structural, structural } from "./structural.ts";
import { parseRule } from "./testing/rule-tokens.ts";
import { schemaFaults, walk } from "./testing/schema-faults.ts";

const every = Object.entries(kinds).map(([kind, entry]) => [kind as Kind, entry] as const);
const schemaOf = (kind: Kind) => customResourceDefinition(kinds[kind]).spec.versions[0].schema.openAPIV3Schema;

test.each(every)("the schema of %s is structural, bounded, and described to the last field", (kind) => {
  const schema = schemaOf(kind);
  const { spec = {}, status = {} } = schema.properties ?? {};
  expect(schemaFaults(spec)).toEqual([]);
  expect(schemaFaults(status)).toEqual([]);
  expect(schema.required).toEqual(["spec"]);
  expect(walk(schema).length).toBeGreaterThan(15);
});

test.each(every)("every CEL rule of %s keeps to cheap operations and to fields that the server can see", (kind) => {
  for (const { node, path } of walk(schemaOf(kind))) {
    for (const { rule, message, fieldPath } of node["x-kubernetes-validations"] ?? []) {
      const { chains, faults } = parseRule(rule);
      expect(faults, `${path}: ${rule}`).toEqual([]);
      for (const [, ...members] of chains)
        expect(unseen(node, members), `${path}: ${members.join(".")}`).toBeUndefined();
      expect(message, path).toMatch(/\S[^.]$/);
      if (fieldPath !== undefined) expect(unseen(node, fieldPath.slice(1).split(".")), fieldPath).toBeUndefined();
    }
  }
});

/** The first member of a chain that CEL could not read: not described, or without a type. */
function unseen(root: Structural, members: readonly string[]): string | undefined {
  let node: Structural = root;
  for (const member of members) {
    const next = node.properties?.[member];
    if (next === undefined) return member;
    if (next.type === undefined && next["x-kubernetes-int-or-string"] !== true) return `${member} has no type`;
    // The server leaves out maps and lists of values without a type as well.
    const inner = next.additionalProperties ?? next.items;
    if (inner !== undefined && inner.type === undefined && !inner["x-kubernetes-int-or-string"])
      return `${member} is untyped inside`;
    node = next;
  }
  return undefined;
}

test.each([
  ["self.name.matches('a')", "method matches"],
  ["self.items.all(x, x > 1)", "method all"],
  ["self.list[0] == 1", "only literal maps are indexed"],
  ["self.a > 1", 'cannot read "> 1"'],
  ["self.a - 1 == 0", 'cannot read "- 1 == 0"'],
  ["string(self.a) == ''", "name string"],
  ["now == self.a", "name now"],
  ['self.a == "x"', 'cannot read ""x""'],
])("a rule with more than that is seen: %s", (rule, fault) => {
  expect(parseRule(rule).faults).toContain(fault);
});

test("the form of the transition rules is allowed", () => {
  const rule =
    "!oldSelf.hasValue() ? self.phase == 'Pending' : self.phase in {'Pending': ['Pending', 'Bound']}[oldSelf.value().phase] || " +
    "(oldSelf.value().phase in {'Failed': ['Pending']} && self.attempt == oldSelf.value().attempt + 1)";
  expect(parseRule(rule)).toEqual({
    faults: [],
    chains: [
      ["oldSelf"],
      ["self", "phase"],
      ["self", "phase"],
      ["oldSelf", "phase"],
      ["oldSelf", "phase"],
      ["self", "attempt"],
      ["oldSelf", "attempt"],
    ],
  });
});

test("faults of a schema are found", () => {
  const described = (node: Structural): Structural => ({ description: "x", ...node });
  const cases: Record<string, Structural> = {
    "no type": {},
    "a is without description": { type: "object", properties: { a: { type: "boolean" } } },
    "required b": { type: "object", required: ["b"], properties: { a: described({ type: "boolean" }) } },
    "key not required": {
      type: "array",
      maxItems: 1,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["k"],
      items: { type: "object", properties: { k: described({ type: "string", maxLength: 1 }) } },
    },
    "text without bound": { type: "string" },
    "default would be pruned": {
      type: "object",
      default: { b: true },
      properties: { a: described({ type: "boolean" }) },
    },
    "default outside enum": { type: "string", enum: ["A"], default: "B" },
    "free and named": { type: "object", properties: {}, additionalProperties: { type: "boolean" }, maxProperties: 1 },
    "anyOf alone": { type: "string", maxLength: 1, anyOf: [{ type: "integer" }] },
    "set of lists": {
      type: "array",
      maxItems: 1,
      "x-kubernetes-list-type": "set",
      items: { type: "array", maxItems: 1, items: { type: "boolean" } },
    },
  };
  for (const [name, node] of Object.entries(cases)) expect(schemaFaults(node), name).not.toEqual([]);
});

test("a schema keyword that CRDs do not have is refused where it stands", () => {
  const schema = Type.Object({ list: Type.Array(Type.Object({ id: Type.String({ contentEncoding: "base64" }) })) });
  expect(() => structural(schema)).toThrow("$.list[].id: a structural schema has no contentEncoding");
});

test("nothing of TypeBox is left, and the order is that of the source", () => {
  const schema = Type.Object({ b: Type.Optional(Type.Integer({ minimum: 1 })), a: Type.String({ maxLength: 3 }) });
  expect(JSON.stringify(structural(schema))).toBe(
    '{"type":"object","required":["a"],"properties":{"b":{"type":"integer","minimum":1},"a":{"type":"string","maxLength":3}}}',
  );
});

test("the definition of Run", () => {
  const { metadata, spec } = customResourceDefinition(kinds.Run);
  const [version] = spec.versions;
  expect(metadata.name).toBe("runs.kruntimes.io");
  expect(spec.names).toEqual({
    kind: "Run",
    listKind: "RunList",
    plural: "runs",
    singular: "run",
    shortNames: ["rn"],
    categories: ["kruntimes"],
  });
  expect(version.additionalPrinterColumns.map((column) => [column.name, column.priority ?? 0])).toEqual([
    ["Runtime", 0],
    ["Phase", 0],
    ["Reason", 0],
    ["Pod", 0],
    ["Age", 0],
    ["Attempt", 1],
    ["Duration", 1],
    ["Message", 1],
  ]);
  expect(version.selectableFields).toEqual([
    { jsonPath: ".spec.runtime" },
    { jsonPath: ".status.phase" },
    { jsonPath: ".status.assignedPod" },
  ]);
  expect(version.subresources).toEqual({ status: {} });
  const { spec: specSchema, status } = version.schema.openAPIV3Schema.properties ?? {};
  expect(specSchema?.required).toEqual(["runtime"]);
  expect(status).toMatchObject({ type: "object", required: ["phase"], default: { phase: "Pending" } });
});

test("columns and selectors read fields that exist", () => {
  for (const [kind, entry] of every) {
    const schema = schemaOf(kind);
    const paths = [...entry.columns.map((column) => column.jsonPath), ...entry.selectable];
    for (const path of paths.filter((candidate) => !/^\.metadata\.|\[/.test(candidate))) {
      expect(unseen(schema, path.slice(1).split(".")), `${kind} ${path}`).toBeUndefined();
    }
    for (const [, type] of paths.join(" ").matchAll(/@\.type=="(\w+)"/g)) {
      expect(Object.keys(entry.conditions), kind).toContain(type);
    }
  }
});

test("only a Runtime can be scaled", () => {
  const scaled = every.filter(([, entry]) => customResourceDefinition(entry).spec.versions[0].subresources.scale);
  expect(scaled.map(([kind]) => kind)).toEqual(["Runtime"]);
});

test("a transition rule joins the rules of the status", () => {
  const rule: CelRule = { rule: "self.phase == 'Pending'", message: "no", optionalOldSelf: true };
  const [version] = customResourceDefinition(kinds.PersistentWorkspace, rule).spec.versions;
  const { status } = version.schema.openAPIV3Schema.properties ?? {};
  const rules = status?.["x-kubernetes-validations"];
  expect(rules).toHaveLength(2);
  expect(rules?.at(-1)).toEqual(rule);
  expect(JSON.stringify(schemaOf("PersistentWorkspace"))).not.toContain("optionalOldSelf");
});

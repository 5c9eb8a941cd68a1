import { expect, test } from "vitest";
import { widgetCrd } from "../testing/setup.ts";
import { loadCustomKinds } from "./load.ts";
import type { CustomResourceDefinition, SchemaSource } from "./types.ts";

const withSpec = (spec: SchemaSource): CustomResourceDefinition => widgetCrd({ type: "object", properties: { spec } });

const specOf = (...rules: NonNullable<SchemaSource["x-kubernetes-validations"]>): SchemaSource => ({
  type: "object",
  properties: { a: { type: "string" }, list: { type: "array", items: { type: "string" } } },
  "x-kubernetes-validations": rules,
});

const refused: Record<string, { crd: CustomResourceDefinition; problem: string }> = {
  "a node without a type": {
    crd: withSpec({ properties: {} }),
    problem: "openAPIV3Schema.properties[spec].type: Required value",
  },
  "a root that is no object": { crd: widgetCrd({ type: "string" }), problem: "must be object at the root" },
  "an unknown type": { crd: withSpec({ type: "text" }), problem: 'Unsupported value: "text"' },
  "an array without items": { crd: withSpec({ type: "array" }), problem: ".items: Required value" },
  "properties beside additionalProperties": {
    crd: withSpec({ type: "object", properties: {}, additionalProperties: { type: "string" } }),
    problem: "mutual exclusive",
  },
  uniqueItems: {
    crd: withSpec({ type: "array", items: { type: "string" }, uniqueItems: true }),
    problem: "use x-kubernetes-list-type: set",
  },
  "a keyword of another dialect": {
    crd: withSpec({ type: "object", ...({ $ref: "#/x" } as object) }),
    problem: "$ref: Unsupported value",
  },
  "a default inside anyOf": {
    crd: withSpec({ type: "object", anyOf: [{ properties: { a: { default: 1 } } }] }),
    problem: "must not be inside allOf, anyOf, oneOf or not",
  },
  "a default that is invalid itself": {
    crd: withSpec({ type: "object", properties: { a: { type: "integer", default: "x" } } }),
    problem: "properties[a].default: Invalid value",
  },
  "a pattern that RE2 does not take": {
    crd: withSpec({ type: "string", pattern: "a(?=b)" }),
    problem: "must be a valid regular expression",
  },
  "a list map without keys": {
    crd: withSpec({ type: "array", "x-kubernetes-list-type": "map", items: { type: "object" } }),
    problem: "x-kubernetes-list-map-keys: Required value",
  },
  "a list map key that is no member": {
    crd: withSpec({
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      items: { type: "object" },
    }),
    problem: "entries must all be names of item properties",
  },
  "a list map key that may be absent": {
    crd: withSpec({
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      items: { type: "object", properties: { name: { type: "string" } } },
    }),
    problem: "must have a default or be a required property",
  },
  "a rule with a typing mistake": {
    crd: withSpec(specOf({ rule: "self.b == 'x'" })),
    problem:
      "CustomResourceDefinition widgets.example.com: openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: compilation failed: 1:5: undefined field 'b'",
  },
  "a rule that is no condition": { crd: withSpec(specOf({ rule: "self.a" })), problem: "must evaluate to a bool" },
  "an empty rule": { crd: withSpec(specOf({ rule: " " })), problem: "rule is required" },
  "a message expression that is no text": {
    crd: withSpec(specOf({ rule: "true", messageExpression: "1" })),
    problem: "messageExpression: Invalid value: must evaluate to a string",
  },
  "an unknown reason": {
    crd: withSpec(specOf({ rule: "true", reason: "Nope" as "FieldValueInvalid" })),
    problem: 'reason: Unsupported value: "Nope"',
  },
  "a field path that is no path": {
    crd: withSpec(specOf({ rule: "true", fieldPath: "a b" })),
    problem: "must be a JSON path",
  },
  "a field path to nowhere": {
    crd: withSpec(specOf({ rule: "true", fieldPath: ".b" })),
    problem: "does not refer to a valid field",
  },
  "optionalOldSelf without oldSelf": {
    crd: withSpec(specOf({ rule: "self.a == 'x'", optionalOldSelf: true })),
    problem: "may not be set to true when oldSelf is not used",
  },
  "oldSelf where old and new items cannot be told": {
    crd: withSpec({
      type: "array",
      items: { type: "string", "x-kubernetes-validations": [{ rule: "self == oldSelf" }] },
    }),
    problem: "oldSelf cannot be used on the uncorrelatable portion",
  },
  "a member that expressions cannot see": {
    crd: withSpec({
      type: "object",
      properties: { raw: { "x-kubernetes-preserve-unknown-fields": true } },
      "x-kubernetes-validations": [{ rule: "has(self.raw)" }],
    }),
    problem: "undefined field 'raw'",
  },
  "a name that does not follow from plural and group": {
    crd: { ...widgetCrd(), metadata: { name: "widget.example.com" } },
    problem: "widgets.example.com",
  },
};

test.each(Object.entries(refused))("refuses to load %s", (_, { crd, problem }) => {
  expect(() => loadCustomKinds([crd])).toThrow(problem);
});

function withVersion(change: Partial<CustomResourceDefinition["spec"]["versions"][number]>): CustomResourceDefinition {
  const crd = widgetCrd();
  const [version] = crd.spec.versions;
  if (version === undefined) throw new Error("no version");
  return { ...crd, spec: { ...crd.spec, versions: [{ ...version, ...change }] } };
}

const refusedVersions: Record<string, { crd: CustomResourceDefinition; problem: string }> = {
  "a selectable field that does not exist": {
    crd: withVersion({ selectableFields: [{ jsonPath: ".spec.nope" }] }),
    problem: 'Invalid value: ".spec.nope"',
  },
  "a selectable field that is an object": {
    crd: withVersion({ selectableFields: [{ jsonPath: ".spec" }] }),
    problem: "must point to a field of type string, boolean or integer",
  },
  "nine selectable fields": {
    crd: withVersion({ selectableFields: Array.from({ length: 9 }, () => ({ jsonPath: ".spec.color" })) }),
    problem: "must have at most 8 items",
  },
  "no schema": { crd: withVersion({ schema: {} }), problem: "schemas are required" },
  "no storage version": { crd: withVersion({ storage: false }), problem: "exactly one version must have storage" },
};

test.each(Object.entries(refusedVersions))("refuses to load %s", (_, { crd, problem }) => {
  expect(() => loadCustomKinds([crd])).toThrow(problem);
});

test("names that are no identifiers are spelled with escapes in rules", () => {
  const crd = withSpec({
    type: "object",
    properties: {
      "runs-on": { type: "string" },
      namespace: { type: "string" },
      "a.b/c": { type: "string" },
      __x: { type: "string" },
    },
    "x-kubernetes-validations": [
      { rule: "self.runs__dash__on != self.__namespace__ && self.a__dot__b__slash__c != self.__underscores__x" },
    ],
  });
  expect(loadCustomKinds([crd])).toHaveLength(1);
});

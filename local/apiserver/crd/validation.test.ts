import { expect, test } from "vitest";
import { refusal, setup, type Widget, widgetCrd, widgets } from "../testing/setup.ts";
import type { SchemaSource } from "./types.ts";

/** What the API server says about custom objects, word for word. */

const create = (schema: SchemaSource, spec: unknown): Promise<Widget> => {
  const { client } = setup({ crds: [widgetCrd({ type: "object", properties: { spec: schema } })] });
  const metadata = { name: "a", namespace: "default" };
  return client
    .of(widgets)
    .create({ metadata, ...(spec === undefined ? {} : { spec: spec as Widget["spec"] }) } as Widget);
};

const object = (properties: Record<string, SchemaSource>, more: SchemaSource = {}): SchemaSource => ({
  type: "object",
  properties,
  ...more,
});

interface Case {
  readonly schema: SchemaSource;
  readonly spec: unknown;
  /** Everything after `Widget.example.com "a" is invalid: `. */
  readonly message: string;
  readonly causes?: { reason: string; field: string; message: string }[];
}

const refused: Record<string, Case> = {
  "a wrong type": {
    schema: object({ n: { type: "integer" } }),
    spec: { n: "x" },
    message: 'spec.n: Invalid value: "string": spec.n in body must be of type integer: "string"',
    causes: [
      {
        reason: "FieldValueTypeInvalid",
        field: "spec.n",
        message: 'Invalid value: "string": spec.n in body must be of type integer: "string"',
      },
    ],
  },
  "a fraction for an integer": {
    schema: object({ n: { type: "integer" } }),
    spec: { n: 1.5 },
    message: 'spec.n: Invalid value: "number": spec.n in body must be of type integer: "number"',
  },
  "null where nothing is nullable, inside a list": {
    schema: object({ l: { type: "array", items: { type: "string" } } }),
    spec: { l: [null] },
    message: 'spec.l[0]: Invalid value: "null": spec.l[0] in body must be of type string: "null"',
  },
  "a boolean for int-or-string": {
    schema: object({ p: { "x-kubernetes-int-or-string": true } }),
    spec: { p: true },
    message: 'spec.p: Invalid value: "boolean": spec.p in body must be of type integer,string: "boolean"',
  },
  "a missing member": {
    schema: object({ a: { type: "string" } }, { required: ["a"] }),
    spec: {},
    message: "spec.a: Required value",
    causes: [{ reason: "FieldValueRequired", field: "spec.a", message: "Required value" }],
  },
  "a value outside an enumeration": {
    schema: object({ a: { type: "string", enum: ["X", "Y"] } }),
    spec: { a: "Z" },
    message: 'spec.a: Unsupported value: "Z": supported values: "X", "Y"',
    causes: [
      {
        reason: "FieldValueNotSupported",
        field: "spec.a",
        message: 'Unsupported value: "Z": supported values: "X", "Y"',
      },
    ],
  },
  "a text that is too long": {
    schema: object({ a: { type: "string", maxLength: 3 } }),
    spec: { a: "abcd" },
    message: "spec.a: Too long: may not be more than 3 bytes",
  },
  "a text that is too short": {
    schema: object({ a: { type: "string", minLength: 3 } }),
    spec: { a: "ab" },
    message: 'spec.a: Invalid value: "ab": spec.a in body should be at least 3 chars long',
  },
  "a text that does not match": {
    schema: object({ a: { type: "string", pattern: "^x+$" } }),
    spec: { a: "y" },
    message: "spec.a: Invalid value: \"y\": spec.a in body should match '^x+$'",
  },
  "a time that is none": {
    schema: object({ a: { type: "string", format: "date-time" } }),
    spec: { a: "yesterday" },
    message: 'spec.a: Invalid value: "yesterday": spec.a in body must be of type date-time: "yesterday"',
  },
  "a day that does not exist": {
    schema: object({ a: { type: "string", format: "date-time" } }),
    spec: { a: "2026-02-30T00:00:00Z" },
    message:
      'spec.a: Invalid value: "2026-02-30T00:00:00Z": spec.a in body must be of type date-time: "2026-02-30T00:00:00Z"',
  },
  "a number below the minimum": {
    schema: object({ n: { type: "integer", minimum: 1 } }),
    spec: { n: 0 },
    message: "spec.n: Invalid value: 0: spec.n in body should be greater than or equal to 1",
  },
  "a number at an excluded minimum": {
    schema: object({ n: { type: "number", minimum: 1, exclusiveMinimum: true } }),
    spec: { n: 1 },
    message: "spec.n: Invalid value: 1: spec.n in body should be greater than 1",
  },
  "a number above the maximum": {
    schema: object({ n: { type: "integer", maximum: 9 } }),
    spec: { n: 10 },
    message: "spec.n: Invalid value: 10: spec.n in body should be less than or equal to 9",
  },
  "a number at an excluded maximum": {
    schema: object({ n: { type: "integer", maximum: 9, exclusiveMaximum: true } }),
    spec: { n: 9 },
    message: "spec.n: Invalid value: 9: spec.n in body should be less than 9",
  },
  "no multiple": {
    schema: object({ n: { type: "integer", multipleOf: 5 } }),
    spec: { n: 7 },
    message: "spec.n: Invalid value: 7: spec.n in body should be a multiple of 5",
  },
  "a number beyond 32 bits": {
    schema: object({ n: { type: "integer", format: "int32" } }),
    spec: { n: 2 ** 31 },
    message: 'spec.n: Invalid value: 2147483648: spec.n in body must be of type int32: "2147483648"',
  },
  "too many items": {
    schema: object({ l: { type: "array", maxItems: 1, items: { type: "string" } } }),
    spec: { l: ["a", "b"] },
    message: "spec.l: Too many: 2: must have at most 1 item",
  },
  "too few items": {
    schema: object({ l: { type: "array", minItems: 1, items: { type: "string" } } }),
    spec: { l: [] },
    message: "spec.l: Invalid value: 0: spec.l in body should have at least 1 items",
  },
  "too many members": {
    schema: object({ m: { type: "object", maxProperties: 1, additionalProperties: { type: "string" } } }),
    spec: { m: { a: "1", b: "2" } },
    message: "spec.m: Too many: 2: must have at most 1 item",
  },
  "too few members": {
    schema: object({ m: { type: "object", minProperties: 1, additionalProperties: { type: "string" } } }),
    spec: { m: {} },
    message: "spec.m: Invalid value: 0: spec.m in body should have at least 1 properties",
  },
  "a value of a map": {
    schema: object({ m: { type: "object", additionalProperties: { type: "integer" } } }),
    spec: { m: { a: "x" } },
    message: 'spec.m.a: Invalid value: "string": spec.m.a in body must be of type integer: "string"',
  },
  "an item of a set twice": {
    schema: object({ s: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } } }),
    spec: { s: ["a", "b", "a"] },
    message: 'spec.s[2]: Duplicate value: "a"',
    causes: [{ reason: "FieldValueDuplicate", field: "spec.s[2]", message: 'Duplicate value: "a"' }],
  },
  "an item of a set three times, told once": {
    schema: object({ s: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } } }),
    spec: { s: ["a", "a", "a"] },
    message: 'spec.s[1]: Duplicate value: "a"',
  },
  "an item of a set inside a map": {
    schema: object({
      m: {
        type: "object",
        additionalProperties: { type: "array", "x-kubernetes-list-type": "set", items: { type: "integer" } },
      },
    }),
    spec: { m: { "x.y": [1, 1] } },
    message: "spec.m[x.y][1]: Duplicate value: 1",
  },
  "an item of a list map twice": {
    schema: object({
      l: {
        type: "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        items: { type: "object", required: ["name"], properties: { name: { type: "string" }, v: { type: "integer" } } },
      },
    }),
    spec: {
      l: [
        { name: "a", v: 1 },
        { name: "a", v: 2 },
      ],
    },
    message: 'spec.l[1]: Duplicate value: {"name":"a"}',
  },
  "none of anyOf": {
    schema: object(
      { a: { type: "string" }, b: { type: "string" } },
      { anyOf: [{ required: ["a"] }, { required: ["b"] }] },
    ),
    spec: {},
    message: '[<nil>: Invalid value: "": "spec" must validate at least one schema (anyOf), spec.a: Required value]',
  },
  "none of oneOf": {
    schema: object(
      { a: { type: "string" }, b: { type: "string" } },
      { oneOf: [{ required: ["a"] }, { required: ["b"] }] },
    ),
    spec: {},
    message:
      '[<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found none valid, spec.a: Required value]',
  },
  "two of oneOf": {
    schema: object(
      { a: { type: "string" }, b: { type: "string" } },
      { oneOf: [{ required: ["a"] }, { required: ["b"] }] },
    ),
    spec: { a: "1", b: "2" },
    message:
      '<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found 2 valid alternatives',
  },
  "what not forbids": {
    schema: object({ a: { type: "string" } }, { not: { required: ["a"] } }),
    spec: { a: "1" },
    message: '<nil>: Invalid value: "": "spec" must not validate the schema (not)',
  },
  "one of allOf": {
    schema: object({ n: { type: "integer", allOf: [{ minimum: 1 }, { maximum: 3 }] } }),
    spec: { n: 5 },
    message:
      '[spec.n: Invalid value: 5: spec.n in body should be less than or equal to 3, <nil>: Invalid value: "": "spec.n" must validate all the schemas (allOf)]',
  },
  "an embedded resource without a type": {
    schema: object({ o: { type: "object", "x-kubernetes-embedded-resource": true } }),
    spec: { o: {} },
    message: "[spec.o.apiVersion: Required value: must not be empty, spec.o.kind: Required value: must not be empty]",
  },
  "everything at once": {
    schema: object(
      { a: { type: "string" }, n: { type: "integer" }, s: { type: "string", enum: ["x"] } },
      { required: ["a"] },
    ),
    spec: { n: "1", s: "y" },
    message:
      '[spec.a: Required value, spec.n: Invalid value: "string": spec.n in body must be of type integer: "string", spec.s: Unsupported value: "y": supported values: "x"]',
  },
  "a rule with a message": {
    schema: object(
      { a: { type: "integer" } },
      { "x-kubernetes-validations": [{ rule: "self.a > 1", message: "too small" }] },
    ),
    spec: { a: 1 },
    message: 'spec: Invalid value: "object": too small',
    causes: [{ reason: "FieldValueInvalid", field: "spec", message: 'Invalid value: "object": too small' }],
  },
  "a rule without a message": {
    schema: object({ a: { type: "integer", "x-kubernetes-validations": [{ rule: "self > 1" }] } }),
    spec: { a: 1 },
    message: 'spec.a: Invalid value: "integer": failed rule: self > 1',
  },
  "a rule with a computed message": {
    schema: object(
      { a: { type: "integer" } },
      {
        "x-kubernetes-validations": [
          { rule: "self.a > 1", messageExpression: "'a is ' + string(self.a)", message: "too small" },
        ],
      },
    ),
    spec: { a: 1 },
    message: 'spec: Invalid value: "object": a is 1',
  },
  "a computed message that fails falls back": {
    schema: object(
      { a: { type: "integer" }, b: { type: "string" } },
      { "x-kubernetes-validations": [{ rule: "self.a > 1", messageExpression: "self.b", message: "too small" }] },
    ),
    spec: { a: 1 },
    message: 'spec: Invalid value: "object": too small',
  },
  "a rule with reason and field path": {
    schema: object(
      { a: { type: "integer" } },
      {
        "x-kubernetes-validations": [
          { rule: "self.a > 1", message: "no", reason: "FieldValueForbidden", fieldPath: ".a" },
        ],
      },
    ),
    spec: { a: 1 },
    message: "spec.a: Forbidden: no",
    causes: [{ reason: "FieldValueForbidden", field: "spec.a", message: "Forbidden: no" }],
  },
  "a rule that asks for a field": {
    schema: object(
      { a: { type: "integer" } },
      {
        "x-kubernetes-validations": [
          { rule: "has(self.a)", message: "say a", reason: "FieldValueRequired", fieldPath: ".a" },
        ],
      },
    ),
    spec: {},
    message: "spec.a: Required value: say a",
  },
  "a rule that finds a duplicate": {
    schema: object({}, { "x-kubernetes-validations": [{ rule: "false", reason: "FieldValueDuplicate" }] }),
    spec: {},
    message: 'spec: Duplicate value: "object"',
  },
  "a rule that fails to evaluate": {
    schema: object(
      { a: { type: "string" } },
      { "x-kubernetes-validations": [{ rule: "self.a == 'x'", message: "a must be x" }] },
    ),
    spec: {},
    message: 'spec: Invalid value: "object": no such key: a evaluating rule: a must be x',
  },
  "a rule in a list": {
    schema: object({
      l: {
        type: "array",
        items: {
          type: "object",
          properties: { n: { type: "integer" } },
          "x-kubernetes-validations": [{ rule: "self.n > 0", message: "positive" }],
        },
      },
    }),
    spec: { l: [{ n: 1 }, { n: 0 }] },
    message: 'spec.l[1]: Invalid value: "object": positive',
  },
  "a rule in a map": {
    schema: object({
      m: {
        type: "object",
        additionalProperties: {
          type: "integer",
          "x-kubernetes-validations": [{ rule: "self > 0", message: "positive" }],
        },
      },
    }),
    spec: { m: { "a.b": 0 } },
    message: 'spec.m[a.b]: Invalid value: "integer": positive',
  },
  "rules wait until the object has its shape": {
    schema: object(
      { a: { type: "integer" }, b: { type: "string" } },
      { required: ["b"], "x-kubernetes-validations": [{ rule: "self.a > 1", message: "too small" }] },
    ),
    spec: { a: 1 },
    message:
      "[spec.b: Required value, <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]",
  },
  "rules wait until enumerations hold": {
    schema: object(
      { a: { type: "string", enum: ["x"] } },
      { "x-kubernetes-validations": [{ rule: "false", message: "never" }] },
    ),
    spec: { a: "y" },
    message:
      '[spec.a: Unsupported value: "y": supported values: "x", <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]',
  },
  "rules are evaluated beside errors of value": {
    schema: object(
      { a: { type: "integer", minimum: 5 } },
      { "x-kubernetes-validations": [{ rule: "self.a > 1", message: "too small" }] },
    ),
    spec: { a: 1 },
    message:
      '[spec.a: Invalid value: 1: spec.a in body should be greater than or equal to 5, spec: Invalid value: "object": too small]',
  },
};

test.each(Object.entries(refused))("refuses %s", async (_, { schema, spec, message, causes }) => {
  const error = await refusal(create(schema, spec));
  expect(error.message).toBe(`Widget.example.com "a" is invalid: ${message}`);
  expect(error.status).toMatchObject({
    code: 422,
    reason: "Invalid",
    status: "Failure",
    details: { name: "a", group: "example.com", kind: "Widget", ...(causes === undefined ? {} : { causes }) },
  });
});

const accepted: Record<string, { schema: SchemaSource; spec: unknown; want: unknown }> = {
  "a whole number written as a fraction": {
    schema: object({ n: { type: "integer" } }),
    spec: { n: 1.0 },
    want: { n: 1 },
  },
  "an integer for a number": { schema: object({ n: { type: "number" } }), spec: { n: 1 }, want: { n: 1 } },
  "null where it is allowed": {
    schema: object({ a: { type: "string", nullable: true } }),
    spec: { a: null },
    want: { a: null },
  },
  "a null that is not allowed counts as absent": {
    schema: object({ a: { type: "string" }, b: { type: "string" } }),
    spec: { a: null, b: "x" },
    want: { b: "x" },
  },
  "a null that is not allowed gives way to the default": {
    schema: object({ a: { type: "string", default: "d" } }),
    spec: { a: null },
    want: { a: "d" },
  },
  "a null that is allowed keeps the default out": {
    schema: object({ a: { type: "string", nullable: true, default: "d" } }),
    spec: { a: null },
    want: { a: null },
  },
  "defaults, also inside defaults": {
    schema: object({ a: { type: "object", default: {}, properties: { b: { type: "integer", default: 3 } } } }),
    spec: {},
    want: { a: { b: 3 } },
  },
  "defaults in lists and maps": {
    schema: object({
      l: { type: "array", items: object({ x: { type: "integer", default: 1 } }) },
      m: { type: "object", additionalProperties: object({ y: { type: "integer", default: 2 } }) },
    }),
    spec: { l: [{}, { x: 5 }], m: { k: {} } },
    want: { l: [{ x: 1 }, { x: 5 }], m: { k: { y: 2 } } },
  },
  "members that nobody declared are dropped": {
    schema: object({ a: { type: "string" }, l: { type: "array", items: object({ x: { type: "integer" } }) } }),
    spec: { a: "x", b: 1, l: [{ x: 1, y: 2 }] },
    want: { a: "x", l: [{ x: 1 }] },
  },
  "members that nobody declared are kept where the schema says so": {
    schema: object({ a: object({ known: object({}) }, { "x-kubernetes-preserve-unknown-fields": true }) }),
    spec: { a: { b: { c: 1 }, known: { dropped: 1 } } },
    want: { a: { b: { c: 1 }, known: {} } },
  },
  "int-or-string as either": {
    schema: object({ p: { "x-kubernetes-int-or-string": true }, q: { "x-kubernetes-int-or-string": true } }),
    spec: { p: 1, q: "http" },
    want: { p: 1, q: "http" },
  },
  "an embedded resource keeps its type and metadata": {
    schema: object({ o: object({}, { "x-kubernetes-embedded-resource": true }) }),
    spec: { o: { apiVersion: "v1", kind: "X", metadata: { name: "n" }, spec: 1 } },
    want: { o: { apiVersion: "v1", kind: "X", metadata: { name: "n" } } },
  },
  "lengths count characters": {
    schema: object({ a: { type: "string", maxLength: 2, minLength: 2 } }),
    spec: { a: "😀😀" },
    want: { a: "😀😀" },
  },
  "a transition rule does not concern a new object": {
    schema: object({ a: { type: "integer" } }, { "x-kubernetes-validations": [{ rule: "self.a == oldSelf.a" }] }),
    spec: { a: 1 },
    want: { a: 1 },
  },
  "a rule does not concern a member that is absent or null": {
    schema: object({
      a: { type: "string", "x-kubernetes-validations": [{ rule: "false" }] },
      b: { type: "string", nullable: true, "x-kubernetes-validations": [{ rule: "false" }] },
    }),
    spec: { b: null },
    want: { b: null },
  },
};

test.each(Object.entries(accepted))("takes %s", async (_, { schema, spec, want }) => {
  expect((await create(schema, spec)).spec).toEqual(want);
});

test("rules at the root see the name", async () => {
  const { client } = setup({
    crds: [
      widgetCrd({
        type: "object",
        properties: { spec: { type: "object" } },
        "x-kubernetes-validations": [{ rule: "self.metadata.name.size() <= 3", message: "name is too long" }],
      }),
    ],
  });
  const error = await refusal(client.of(widgets).create({ metadata: { name: "abcd", namespace: "default" } }));
  expect(error.message).toBe('Widget.example.com "abcd" is invalid: <nil>: Invalid value: "object": name is too long');
});

test("a rule at the root may blame a field", async () => {
  const { client } = setup({
    crds: [
      widgetCrd({
        type: "object",
        properties: { spec: { type: "object", properties: { a: { type: "integer" } } } },
        "x-kubernetes-validations": [{ rule: "self.spec.a > 1", message: "too small", fieldPath: ".spec.a" }],
      }),
    ],
  });
  const error = await refusal(
    client.of(widgets).create({ metadata: { name: "a", namespace: "default" }, spec: { a: 1 } }),
  );
  expect(error.message).toBe('Widget.example.com "a" is invalid: spec.a: Invalid value: "object": too small');
});

test("in a write to /status messages begin at the status, and fields do not", async () => {
  const { client } = setup({
    crds: [
      widgetCrd({
        type: "object",
        properties: {
          spec: { type: "object" },
          status: {
            type: "object",
            required: ["phase"],
            properties: {
              phase: { type: "string", maxLength: 3 },
              n: { type: "integer" },
              set: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
            },
          },
        },
      }),
    ],
  });
  const api = client.of(widgets);
  const made = await api.create({ metadata: { name: "a", namespace: "default" } });
  const wrong = await refusal(api.update({ ...made, status: { n: "x", set: ["a", "a"] } }, "status"));
  expect(wrong.message).toBe(
    'Widget.example.com "a" is invalid: [status.phase: Required value, status.n: Invalid value: "string": n in body must be of type integer: "string", status.set[1]: Duplicate value: "a"]',
  );
  const type = await refusal(api.update({ ...made, status: [] as unknown as Widget["status"] & object }, "status"));
  expect(type.message).toContain('status: Invalid value: "array"');
});

test("a schema may bound the name", async () => {
  const { client } = setup({
    crds: [
      widgetCrd({
        type: "object",
        properties: { metadata: { type: "object", properties: { name: { type: "string", maxLength: 3 } } } },
      }),
    ],
  });
  const error = await refusal(client.of(widgets).create({ metadata: { name: "abcd", namespace: "default" } }));
  expect(error.message).toBe(
    'Widget.example.com "abcd" is invalid: metadata.name: Too long: may not be more than 3 bytes',
  );
});

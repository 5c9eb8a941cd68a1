import fc from "fast-check";
import { expect, test } from "vitest";
import { freezeJson } from "../json.ts";
import { applyJsonPatch, type Operation, PatchApplyError, PatchSyntaxError, parseJsonPatch } from "./json-patch.ts";

/** Examples of RFC 6902, appendix A, and what Kubernetes users stumble over. */
const cases: Record<string, { document: unknown; patch: unknown[]; want: unknown }> = {
  "adds a member": {
    document: { foo: "bar" },
    patch: [{ op: "add", path: "/baz", value: "qux" }],
    want: { baz: "qux", foo: "bar" },
  },
  "adds an array element in the middle": {
    document: { foo: ["bar", "baz"] },
    patch: [{ op: "add", path: "/foo/1", value: "qux" }],
    want: { foo: ["bar", "qux", "baz"] },
  },
  "appends with a dash": {
    document: { foo: ["bar"] },
    patch: [{ op: "add", path: "/foo/-", value: ["abc", "def"] }],
    want: { foo: ["bar", ["abc", "def"]] },
  },
  "adds over an existing member": { document: { a: 1 }, patch: [{ op: "add", path: "/a", value: 2 }], want: { a: 2 } },
  "removes a member": {
    document: { baz: "qux", foo: "bar" },
    patch: [{ op: "remove", path: "/baz" }],
    want: { foo: "bar" },
  },
  "removes an array element": {
    document: { foo: ["bar", "qux", "baz"] },
    patch: [{ op: "remove", path: "/foo/1" }],
    want: { foo: ["bar", "baz"] },
  },
  "replaces a value": {
    document: { baz: "qux", foo: "bar" },
    patch: [{ op: "replace", path: "/baz", value: "boo" }],
    want: { baz: "boo", foo: "bar" },
  },
  "moves a value": {
    document: { foo: { bar: "baz", waldo: "fred" }, qux: { corge: "grault" } },
    patch: [{ op: "move", from: "/foo/waldo", path: "/qux/thud" }],
    want: { foo: { bar: "baz" }, qux: { corge: "grault", thud: "fred" } },
  },
  "moves an array element": {
    document: { foo: ["all", "grass", "cows", "eat"] },
    patch: [{ op: "move", from: "/foo/1", path: "/foo/3" }],
    want: { foo: ["all", "cows", "eat", "grass"] },
  },
  "copies a value": {
    document: { a: { b: 1 } },
    patch: [{ op: "copy", from: "/a", path: "/c" }],
    want: { a: { b: 1 }, c: { b: 1 } },
  },
  "goes on after a test that holds": {
    document: { baz: "qux", foo: ["a", 2, "c"] },
    patch: [
      { op: "test", path: "/baz", value: "qux" },
      { op: "test", path: "/foo/1", value: 2 },
      { op: "remove", path: "/baz" },
    ],
    want: { foo: ["a", 2, "c"] },
  },
  "a test compares objects whatever their order": {
    document: { a: { x: 1, y: 2 } },
    patch: [{ op: "test", path: "/a", value: { y: 2, x: 1 } }],
    want: { a: { x: 1, y: 2 } },
  },
  "a missing member tests as null": { document: {}, patch: [{ op: "test", path: "/a", value: null }], want: {} },
  "tilde and slash are escaped": {
    document: { "/": 9, "~1": 10 },
    patch: [
      { op: "test", path: "/~01", value: 10 },
      { op: "replace", path: "/~1", value: 8 },
    ],
    want: { "/": 8, "~1": 10 },
  },
  "the whole document can be replaced": {
    document: { a: 1 },
    patch: [{ op: "replace", path: "", value: { b: 2 } }],
    want: { b: 2 },
  },
  "a member called __proto__ is an ordinary one": {
    document: {},
    patch: [{ op: "add", path: "/__proto__", value: { polluted: true } }],
    want: JSON.parse('{"__proto__": {"polluted": true}}'),
  },
  "operations work on the result of those before": {
    document: {},
    patch: [
      { op: "add", path: "/a", value: {} },
      { op: "add", path: "/a/b", value: [1] },
      { op: "add", path: "/a/b/0", value: 0 },
    ],
    want: { a: { b: [0, 1] } },
  },
};

test.each(Object.entries(cases))("%s", (_, { document, patch, want }) => {
  const before = JSON.stringify(document);
  const result = applyJsonPatch(freezeJson(document), parseJsonPatch(patch));
  expect(result).toEqual(want);
  expect(Object.hasOwn({}, "polluted")).toBe(false);
  expect(JSON.stringify(document)).toBe(before);
});

const inapplicable: Record<string, { document: unknown; patch: unknown[] }> = {
  "a test fails": { document: { a: 1 }, patch: [{ op: "test", path: "/a", value: 2 }] },
  "a test compares types": { document: { a: "1" }, patch: [{ op: "test", path: "/a", value: 1 }] },
  "remove of a missing member": { document: {}, patch: [{ op: "remove", path: "/a" }] },
  "replace of a missing member": { document: {}, patch: [{ op: "replace", path: "/a", value: 1 }] },
  "add below a missing member": { document: {}, patch: [{ op: "add", path: "/a/b", value: 1 }] },
  "index behind the end": { document: [1], patch: [{ op: "add", path: "/2", value: 1 }] },
  "index with a leading zero": { document: [1, 2], patch: [{ op: "remove", path: "/01" }] },
  "negative index": { document: [1, 2], patch: [{ op: "remove", path: "/-1" }] },
  "dash in a remove": { document: [1], patch: [{ op: "remove", path: "/-" }] },
  "path through a scalar": { document: { a: 1 }, patch: [{ op: "add", path: "/a/b", value: 1 }] },
  "move of a missing member": { document: {}, patch: [{ op: "move", from: "/a", path: "/b" }] },
  "move into itself": { document: { a: { b: 1 } }, patch: [{ op: "move", from: "/a", path: "/a/b/c" }] },
  "members of the prototype are missing": { document: {}, patch: [{ op: "remove", path: "/constructor" }] },
  "removing everything": { document: {}, patch: [{ op: "remove", path: "" }] },
};

test.each(Object.entries(inapplicable))("does not apply: %s", (_, { document, patch }) => {
  expect(() => applyJsonPatch(document, parseJsonPatch(patch))).toThrow(PatchApplyError);
});

test.each([
  [{}],
  ["x"],
  [[null]],
  [[{}]],
  [[{ op: "add", value: 1 }]],
  [[{ op: "add", path: "/a" }]],
  [[{ op: "add", path: "a", value: 1 }]],
  [[{ op: "spam", path: "/a" }]],
  [[{ op: "move", path: "/a" }]],
])("%j is no patch", (patch) => {
  expect(() => parseJsonPatch(patch)).toThrow(PatchSyntaxError);
});

const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<unknown>(null, 0, 1, "a", true),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("a", "b", "c/d", "e~f"), tie("value"), { maxKeys: 3 }),
  ),
})).value;

const escapeKey = (key: string | number): string => String(key).replaceAll("~", "~0").replaceAll("/", "~1");

/** Pointers to every value of a document. */
function pointers(value: unknown, at = ""): string[] {
  if (typeof value !== "object" || value === null) return [at];
  return [at, ...Object.entries(value).flatMap(([key, child]) => pointers(child, `${at}/${escapeKey(key)}`))];
}

/** The plain way: change a copy in place. */
function mutate(document: unknown, operation: Operation): unknown {
  const root = { "": structuredClone(document) } as Record<string, unknown>;
  const parts = [
    "",
    ...operation.path
      .split("/")
      .slice(1)
      .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~")),
  ];
  const key = parts.pop() ?? "";
  let holder: unknown = root;
  for (const part of parts) holder = (holder as Record<string, unknown>)[part];
  const value = "value" in operation ? structuredClone(operation.value) : undefined;
  if (Array.isArray(holder)) {
    if (operation.op === "add") holder.splice(Number(key), 0, value);
    else if (operation.op === "remove") holder.splice(Number(key), 1);
    else holder[Number(key)] = value;
  } else {
    const object = holder as Record<string, unknown>;
    if (operation.op === "remove") delete object[key];
    else object[key] = value;
  }
  return root[""];
}

test("add, remove and replace at any existing place do what changing a copy does", () => {
  const operation = fc.constantFrom("add", "remove", "replace" as const);
  fc.assert(
    fc.property(json, operation, fc.nat(), json, (document, op, pick, value) => {
      const all = pointers(document);
      const path = all[pick % all.length] ?? "";
      if (path === "" && op === "remove") return;
      const patch = (op === "remove" ? { op, path } : { op, path, value }) as Operation;
      const before = JSON.stringify(document);
      expect(applyJsonPatch(freezeJson(document), [patch])).toEqual(mutate(document, patch));
      expect(JSON.stringify(document)).toBe(before);
    }),
  );
});

test("a failing operation leaves no trace of those before it", () => {
  fc.assert(
    fc.property(json, (value) => {
      const document = freezeJson({ x: value });
      const patch: Operation[] = [
        { op: "replace", path: "/x", value: 1 },
        { op: "remove", path: "/missing" },
      ];
      expect(() => applyJsonPatch(document, patch)).toThrow(PatchApplyError);
      expect(document).toEqual({ x: value });
    }),
  );
});

test("any operations either apply or fail with a PatchApplyError", () => {
  const pointer = fc
    .array(fc.constantFrom("a", "0", "1", "-", "c~1d", "__proto__"), { maxLength: 3 })
    .map((parts) => parts.map((part) => `/${part}`).join(""));
  const operation = fc.oneof(
    fc.record({ op: fc.constantFrom("add", "replace", "test"), path: pointer, value: json }),
    fc.record({ op: fc.constant("remove"), path: pointer }),
    fc.record({ op: fc.constantFrom("move", "copy"), from: pointer, path: pointer }),
  );
  fc.assert(
    fc.property(json, fc.array(operation, { maxLength: 4 }), (document, patch) => {
      try {
        JSON.stringify(applyJsonPatch(freezeJson(document), parseJsonPatch(patch)));
      } catch (error) {
        expect(error).toBeInstanceOf(PatchApplyError);
      }
    }),
  );
});

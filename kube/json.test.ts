import fc from "fast-check";
import { expect, test } from "vitest";
import { copyJson, deepFreeze, diffMergePatch, mergePatch } from "#kube/json.ts";

/** The table of RFC 7386, appendix A. */
const rfc: [unknown, unknown, unknown][] = [
  [{ a: "b" }, { a: "c" }, { a: "c" }],
  [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
  [{ a: "b" }, { a: null }, {}],
  [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
  [{ a: ["b"] }, { a: "c" }, { a: "c" }],
  [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
  [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
  [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
  [
    ["a", "b"],
    ["c", "d"],
    ["c", "d"],
  ],
  [{ a: "b" }, ["c"], ["c"]],
  [{ a: "foo" }, null, null],
  [{ a: "foo" }, "bar", "bar"],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: "b", c: null }, { a: "b" }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
];

test.each(rfc)("merge patch of RFC 7386: %j with %j is %j", (target, patch, want) => {
  deepFreeze(target);
  deepFreeze(patch);
  expect(mergePatch(target, patch)).toEqual(want);
});

/** Values without null members, which a merge patch cannot express. */
const value = fc.jsonValue({ maxDepth: 4 }).map((json) => mergePatch(undefined, JSON.parse(JSON.stringify(json))));

test("the difference of two values, merged into the first, gives the second", () => {
  fc.assert(
    fc.property(value, value, (from, to) => {
      const patch = diffMergePatch(from, to);
      expect(patch === undefined ? from : mergePatch(from, patch)).toEqual(to);
    }),
    { numRuns: 500 },
  );
});

test("the difference of equal values is nothing, and of near ones it is small", () => {
  fc.assert(
    fc.property(value, (json) => {
      expect(diffMergePatch(json, copyJson(json))).toBeUndefined();
    }),
  );
  const from = { a: { b: 1, c: [1], d: {} }, e: "x" };
  expect(diffMergePatch(from, { a: { b: 1, c: [1], d: {}, f: {} } })).toEqual({ a: { f: {} }, e: null });
});

test("a copy equals what a wire would make of it, and shares nothing", () => {
  fc.assert(
    fc.property(fc.object(), (object) => {
      expect(copyJson({ object })).toEqual(JSON.parse(JSON.stringify({ object })));
    }),
  );
  const original = { a: { b: [{ c: 1 }] } };
  const copy = copyJson(original);
  deepFreeze(original);
  copy.a.b.push({ c: 2 });
  expect(original.a.b).toHaveLength(1);
});

test("what JSON cannot say is left out or null, as JSON does it; a bigint is refused", () => {
  const odd = { f: () => {}, list: [() => {}, Number.NaN], inf: Number.POSITIVE_INFINITY, zero: -0, gone: undefined };
  expect(copyJson<unknown>(odd)).toStrictEqual({ list: [null, null], inf: null, zero: 0 });
  expect(() => copyJson({ n: 1n })).toThrow(TypeError);
});

test("a member called __proto__ is data, not a prototype", () => {
  const hostile = JSON.parse('{"__proto__":{"polluted":true},"a":1}');
  for (const made of [copyJson(hostile), mergePatch({}, hostile), mergePatch(hostile, { a: 2 })]) {
    expect(Object.getPrototypeOf(made)).toBe(Object.prototype);
    expect(Object.keys(made as object).sort()).toEqual(["__proto__", "a"]);
  }
  expect((diffMergePatch({}, hostile) as { polluted?: unknown }).polluted).toBeUndefined();
});

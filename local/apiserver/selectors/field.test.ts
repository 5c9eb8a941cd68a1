import fc from "fast-check";
import { expect, test } from "vitest";
import { parseFieldSelector } from "./field.ts";
import { SelectorError } from "./label.ts";

const cases: Record<string, { field: string; equal: boolean; value: string }[]> = {
  "": [],
  "a=b": [{ field: "a", equal: true, value: "b" }],
  "a==b": [{ field: "a", equal: true, value: "b" }],
  "a!=b": [{ field: "a", equal: false, value: "b" }],
  "a=": [{ field: "a", equal: true, value: "" }],
  "a!=,b=c": [
    { field: "a", equal: false, value: "" },
    { field: "b", equal: true, value: "c" },
  ],
  "a=b\\,c\\=d\\\\": [{ field: "a", equal: true, value: "b,c=d\\" }],
  "a=b,": [{ field: "a", equal: true, value: "b" }],
  // As it stands: a space belongs to the name, and only values are escaped.
  "a=b, c=d": [
    { field: "a", equal: true, value: "b" },
    { field: " c", equal: true, value: "d" },
  ],
  "a\\=b": [{ field: "a\\", equal: true, value: "b" }],
};

test.each(Object.entries(cases))("%j", (selector, want) => {
  expect(parseFieldSelector(selector)).toEqual(want);
});

test.each(["a", "a=b=c", "a=\\x", "a=b\\"])("%j is refused", (selector) => {
  expect(() => parseFieldSelector(selector)).toThrow(SelectorError);
});

test("any value can be asked for when it is escaped", () => {
  fc.assert(
    fc.property(fc.string(), (value) => {
      const escaped = value.replaceAll(/[\\,=]/g, (char) => `\\${char}`);
      expect(parseFieldSelector(`f=${escaped},g!=${escaped}`)).toEqual([
        { field: "f", equal: true, value },
        { field: "g", equal: false, value },
      ]);
    }),
  );
});

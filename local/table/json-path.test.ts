import { expect, test } from "vitest";
import { compileJsonPath } from "./json-path.ts";

const object = {
  metadata: { name: "a", labels: { "x/y": "z" } },
  status: {
    n: 0,
    conditions: [
      { type: "Ready", status: "True", at: 1 },
      { type: "Bound", status: "False", at: 2 },
    ],
  },
};

test.each([
  ["a member", ".metadata.name", "a"],
  ["a member whose name needs quotes", ".metadata.labels['x/y']", "z"],
  ["zero, which is a value", ".status.n", 0],
  ["an item by its place", ".status.conditions[1].type", "Bound"],
  ["an item counted from the end", ".status.conditions[-1].type", "Bound"],
  ["the first of all items", ".status.conditions[*].status", "True"],
  ["an item by a condition", '.status.conditions[?(@.type=="Bound")].status', "False"],
  ["an item by a condition in single quotes", ".status.conditions[?(@.type=='Bound')].at", 2],
  ["an item that is not another", '.status.conditions[?(@.type!="Ready")].type', "Bound"],
  ["an item by a number", ".status.conditions[?(@.at==2)].type", "Bound"],
  ["nothing where a member is missing", ".spec.a.b", undefined],
  ["nothing where a condition never holds", '.status.conditions[?(@.type=="X")].status', undefined],
  ["no member of a text", ".metadata.name.length", undefined],
  ["no member of the prototype", ".metadata.constructor", undefined],
])("finds %s", (_sentence, path, expected) => {
  expect(compileJsonPath(path)(object)).toBe(expected);
});

test.each([".a[", "a.b", '.a[?(@.b=~"c")]', "."])("refuses %s and says where", (path) => {
  expect(() => compileJsonPath(path)).toThrow(/JSONPath .* cannot be read from/);
});

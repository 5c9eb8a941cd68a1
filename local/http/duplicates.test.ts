import fc from "fast-check";
import { expect, test } from "vitest";
import { duplicateFields, memberPlaces } from "./duplicates.ts";

const cases: Record<string, { text: string; want: string[] }> = {
  none: { text: '{"a": {"b": 1}, "b": [{"a": 1}, {"a": 2}]}', want: [] },
  "one on top": { text: '{"a":1,"b":2,"a":3}', want: ["a"] },
  "three times is told once": { text: '{"a":1,"a":2,"a":3}', want: ["a"] },
  "deep in a list": {
    text: '{"spec": {"steps": [ {}, {"name": "x", "name" : "y"} ] } }',
    want: ["spec.steps[1].name"],
  },
  "names that are written differently": { text: '{"a":1,"\\u0061":2}', want: ["a"] },
  "text that looks like members": { text: '{"a":"{\\"b\\":1,\\"b\\":2}","b":"\\\\"}', want: [] },
  "in what is itself repeated": { text: '{"a":{"b":1},"a":{"b":1,"b":2}}', want: ["a.b", "a"].sort() },
};

test.each(Object.entries(cases))("%s", (_, { text, want }) => {
  expect(duplicateFields(memberPlaces(text)).sort()).toEqual(want);
});

test("what JSON.stringify writes has none, however it is indented", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat(4), (value, indent) => {
      expect(duplicateFields(memberPlaces(JSON.stringify(value, undefined, indent)))).toEqual([]);
    }),
  );
});

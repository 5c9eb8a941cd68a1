import { expect, test } from "vitest";
import { readBody } from "./body.ts";

const refused: Record<string, { type: string; body: string; says: RegExp }> = {
  "a number beyond every double": {
    type: "application/json",
    body: '{"a": [1, 1e999]}',
    says: /number Infinity is out of range/,
  },
  "a long one": { type: "application/json", body: `-${"9".repeat(400)}`, says: /number -Infinity is out of range/ },
  "YAML that is nested without end": {
    type: "application/yaml",
    body: "- ".repeat(20_000),
    says: /no YAML: .*nested too deeply/,
  },
  "lists without end": { type: "application/yaml", body: "[".repeat(20_000), says: /no YAML: .*nested too deeply/ },
  "an infinity of YAML": { type: "application/yaml", body: "a: -.inf", says: /no YAML: the number -Infinity/ },
  "no number of YAML": { type: "application/yaml", body: "a: {b: .NaN}", says: /no YAML: the number NaN/ },
};

test.each(Object.entries(refused))("%s is refused, and not stored as null", (_, { type, body, says }) => {
  const error = expect.objectContaining({ code: 400, message: expect.stringMatching(says) });
  expect(() => readBody("POST", Buffer.from(body), type)).toThrow(error);
});

test("a text that only looks like such a number is one", () => {
  const value = { a: "1e999 .inf", b: null };
  expect(readBody("POST", Buffer.from(JSON.stringify(value)), "application/json").value).toEqual(value);
});

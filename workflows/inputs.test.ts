import fc from "fast-check";
import { expect, test } from "vitest";
import { convertInput, type InputPlan, inputValues } from "./inputs.ts";

const plan = (type: InputPlan["type"], more: Partial<InputPlan> = {}): InputPlan => ({
  type,
  required: false,
  ...more,
});

test("what is not given has its default, or is empty in the way of its type", () => {
  const inputs = new Map([
    ["s", plan("string")],
    ["n", plan("number")],
    ["b", plan("boolean")],
    ["c", plan("choice", { options: ["low", "high"] })],
    ["d", plan("number", { default: 7 })],
    ["r", plan("string", { required: true, default: "x" })],
  ]);
  expect(inputValues(inputs, {}, "it", "inputs")).toEqual({
    ok: true,
    values: { s: "", n: 0, b: false, c: "low", d: 7, r: "x" },
  });
  expect(inputValues(inputs, { s: 1.5, n: "2", b: "true", c: "high" }, "it", "inputs")).toMatchObject({
    values: { s: "1.5", n: 2, b: true, c: "high" },
  });
});

test("an input named like a member of every object is asked for all the same", () => {
  const inputs = new Map([["constructor", plan("string", { required: true })]]);
  expect(inputValues(inputs, {}, "it", "inputs")).toMatchObject({
    ok: false,
    errors: [{ path: "inputs.constructor" }],
  });
});

const refused: Record<string, { value: unknown; input: InputPlan }> = {
  "an empty number": { value: " ", input: plan("number") },
  "a number without end": { value: "Infinity", input: plan("number") },
  "a truth value as a number": { value: true, input: plan("number") },
  "a truth value in other words": { value: "yes", input: plan("boolean") },
  "an option in another case": { value: "Low", input: plan("choice", { options: ["low"] }) },
  "a list": { value: ["a"], input: plan("string") },
  nothing: { value: null, input: plan("string") },
  "a text that no variable can hold": { value: "x".repeat(32_769), input: plan("string") },
};

test.each(Object.entries(refused))("refused: %s", (_, { value, input }) => {
  expect(convertInput(value, input)).toMatchObject({ ok: false, message: /./, advice: /\.$/ });
});

test("a converted value stays as it is when it is converted again, as from a WorkflowRun to one of its jobs", () => {
  const types = fc
    .constantFrom("string", "number", "boolean", "choice")
    .map((type) => plan(type, { options: ["a", "1", "true"] }));
  fc.assert(
    fc.property(types, fc.jsonValue({ maxDepth: 1 }), (input, value) => {
      const once = convertInput(value, input);
      if (once.ok) expect(convertInput(String(once.value), input)).toEqual(once);
    }),
  );
});

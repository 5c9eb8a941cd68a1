import { expect, test } from "vitest";
import { compileCondition } from "./compile.ts";
import { evaluateCondition } from "./evaluate.ts";
import { jobScopes } from "./scopes.ts";
import { compileValue, evaluateValueTemplate } from "./value.ts";

const scopes = jobScopes({
  job: "j",
  jobs: ["j", "n"],
  needs: [{ id: "n", outputs: undefined }],
  inputs: ["dry", "count"],
  steps: [{ name: "a" }],
  variables: ["V"],
  matrix: undefined,
});
const scope = scopes.step(1, []).condition;

const values = {
  inputs: { dry: false, count: 3 },
  env: { V: "x" },
  needs: { n: { result: "failure", outputs: {} } },
  steps: { a: { outcome: "failure", conclusion: "success", outputs: { yes: "true", empty: "" } } },
};

const well = { success: true, failure: false, cancelled: false };
const badly = { success: false, failure: true, cancelled: false };
const ending = { success: false, failure: false, cancelled: true };

const conditionOf = (text: string) => {
  const compiled = compileCondition(text, scope, "if");
  if (!compiled.ok) throw new Error(compiled.errors[0]?.message);
  return compiled.condition;
};

/** Whether it holds when all went well, when something failed, and when the run is being ended. */
const cases: Record<string, [boolean, boolean, boolean]> = {
  true: [true, false, false],
  false: [false, false, false],
  "success()": [true, false, false],
  "failure()": [false, true, false],
  "cancelled()": [false, false, true],
  "always()": [true, true, true],
  "!cancelled()": [true, true, false],
  "Always() && inputs.count > 2": [true, true, true],
  "failure() || steps.a.outcome == 'failure'": [true, true, true],
  "${{ inputs.dry }}": [false, false, false],
  " ${{ !inputs.dry }}\n": [true, false, false],
  "steps.a.outcome != steps.a.conclusion": [true, false, false],
  "steps.a.outputs.yes": [true, false, false],
  "steps.a.outputs.empty": [false, false, false],
  "steps.a.outputs.nobody": [false, false, false],
  "steps.a.outputs.nobody == 'x'": [false, false, false],
  "steps.a.outputs.nobody != 'x'": [true, false, false],
  "contains(needs.*.result, 'failure')": [true, false, false],
  "always() && contains(toJSON(needs), 'failure')": [true, true, true],
  "inputs.count == '3'": [true, false, false],
  "env.V == 'X'": [true, false, false],
};

test.each(Object.entries(cases))("%s", (text, want) => {
  const condition = conditionOf(text);
  const found = [well, badly, ending].map((progress) => evaluateCondition(condition, values, progress));
  expect(found).toEqual(want.map((holds) => ({ ok: true, holds })));
});

test("a condition that has no value says where", () => {
  expect(evaluateCondition(conditionOf("fromJSON(env.V)"), values, well)).toEqual({
    ok: false,
    message: expect.stringMatching(/^fromJSON\(env\.V\) at 1:1: fromJSON cannot read its argument/),
  });
});

test("a text that is one expression has its value, and every other text a text", () => {
  const given = {
    list: "${{ fromJSON('[1, {\"a\": null}]') }}",
    text: "v${{ inputs.count }}",
    number: "${{ inputs.count }}",
    truth: ["${{ inputs.dry }}", true],
    as: "it is",
  };
  const { value, errors } = compileValue(given, scopes.strategy, "matrix");
  expect(errors).toEqual([]);
  expect(evaluateValueTemplate(value, values)).toEqual({
    ok: true,
    value: { list: [1, { a: null }], text: "v3", number: 3, truth: [false, true], as: "it is" },
  });
  expect(compileValue({ a: ["x", { b: 1 }] }, scopes.strategy, "matrix").value).toMatchObject({ kind: "constant" });
});

test("errors in a value have the path of their text", () => {
  const { errors } = compileValue({ a: ["x", { b: "${{ nope }}" }] }, scopes.strategy, "matrix");
  expect(errors.map(({ path, message }) => [path, message])).toEqual([
    ["matrix.a[1].b", '1:5: there is no "nope" here'],
  ]);
  const missing = compileValue(["${{ needs.n.outputs.x }}"], scopes.strategy, "matrix");
  expect(evaluateValueTemplate(missing.value, values)).toMatchObject({
    ok: false,
    message: /needs\.n\.outputs has no "x"/,
  });
});

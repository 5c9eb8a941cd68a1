import { expect, test } from "vitest";
import { compileTexts } from "./compile-texts.ts";
import type { Scope } from "./expressions/scopes.ts";
import { evaluateOutputs, knownOutputs } from "./outputs.ts";
import { scope } from "./testing/templates.ts";

const plan = (texts: Record<string, string>, at: Scope = scope) => {
  const { texts: compiled, errors } = compileTexts(texts, at, "outputs");
  expect(errors).toEqual([]);
  return compiled;
};

const values = (outputs: Record<string, string>) => ({
  steps: { a: { outputs, outcome: "success", conclusion: "success" } },
  needs: { build: { outputs: { tag: "v1" }, result: "success" } },
});

const text = "${{ steps.a.outputs.v }}";

test("outputs are texts with the values of expressions in them", () => {
  expect(
    evaluateOutputs(plan({ a: `<${text}>`, b: "${{ needs.build.outputs.tag }}", c: "text" }), values({ v: "1" })),
  ).toEqual({ ok: true, outputs: { a: "<1>", b: "v1", c: "text" } });
});

test("an output without a value is an error that says which", () => {
  expect(evaluateOutputs(plan({ a: text }), values({ x: "1" }))).toEqual({
    ok: false,
    reason: "ExpressionFailed",
    message: expect.stringMatching(/^output "a": .*has no "v"; it has x$/),
  });
});

test("outputs over the limits are errors that say by how much", () => {
  const big = values({ v: "x".repeat(8192) });
  expect(evaluateOutputs(plan({ a: `${text}!` }), big)).toEqual({
    ok: false,
    reason: "OutputsTooLarge",
    message: 'output "a" has 8193 characters, more than 8192',
  });
  const names = Array.from({ length: 9 }, (_, index) => [`o${index}`, text]);
  expect(evaluateOutputs(plan(Object.fromEntries(names)), big)).toMatchObject({
    ok: false,
    reason: "OutputsTooLarge",
    message: expect.stringMatching(/^output "o7" .* with the others more than 65536$/),
  });
});

test("of what ends without success those outputs are known that have a value and fit", () => {
  const known = plan({ a: text, b: "${{ steps.a.outputs.none }}", c: "text", d: `${text}${text}` });
  expect(knownOutputs(known, values({ v: "x".repeat(5000) }))).toEqual({ a: "x".repeat(5000), c: "text" });
});

test("of what ends without success no more outputs are known than fit together", () => {
  const names = Array.from({ length: 9 }, (_, index) => [`o${index}`, text]);
  const known = knownOutputs(plan(Object.fromEntries([...names, ["last", "1"]])), values({ v: "x".repeat(8192) }));
  expect(Object.keys(known)).toEqual(["o0", "o1", "o2", "o3", "o4", "o5", "o6", "last"]);
});

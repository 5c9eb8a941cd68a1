import assert from "node:assert/strict";
import fc from "fast-check";
import { compileCondition, compileTemplate } from "#workflows/expressions/compile.ts";
import { evaluateCondition, evaluateTemplate } from "#workflows/expressions/evaluate.ts";
import { jobScopes } from "#workflows/expressions/scopes.ts";
import { mutatedText } from "../mutate.ts";
import { defineTarget } from "../target.ts";

const scopes = jobScopes({
  job: "deploy",
  jobs: ["build", "other", "deploy"],
  steps: [{ name: "a" }, { name: "b", outputs: ["tag"] }, { name: "later" }],
  needs: [{ id: "build", outputs: ["tag", "json"] }],
  inputs: ["target", "count"],
  variables: ["MODE"],
  matrix: { keys: ["os", "deep"] },
}).step(2, ["OWN"]);

const step = { outputs: { x: "1", tag: "v1" }, outcome: "success", conclusion: "success" };
const needs = { build: { outputs: { tag: "v1", json: '{"a": [1, {"b": null}]}' }, result: "success" } };
/** A value for every name that the compiler knows. */
const values = {
  steps: { a: step, b: step },
  needs,
  jobs: needs,
  inputs: { target: "prod", count: 3 },
  env: { MODE: "fast", OWN: "" },
  matrix: { os: "linux", deep: { list: [1, "two"], constructor: "c" } },
  strategy: { "fail-fast": true, "job-index": 0, "job-total": 2, "max-parallel": 2 },
  run: { name: "r", uid: "u", namespace: "n", workflow: "w", attempt: 1 },
  job: { id: "deploy", status: "success", attempt: 1 },
};

const examples = [
  "steps.a.outputs.x == '1' && needs.build.result || inputs.target",
  "format('{0} of {1}', strategy.job-index, matrix.deep.list[1])",
  "contains(fromJSON(needs.build.outputs.json).a, 1) || !startsWith(run.name, 'x')",
  "join(steps.*.outcome, ', ')",
  "toJSON(needs) != '' && 0x1F >= 1.5e3 && null",
  "matrix[format('{0}', 'os')] == env.MODE",
  "always() && (failure() || cancelled())",
  "env.OWN || 'it''s'",
  "endsWith(inputs['target'], jobs.build.outputs.tag)",
];
const tokens = [
  ..."()[].*!<>=&|,'\"-+ \n{}@",
  ..."== != && || <= '' }} ${{ .* true NaN Infinity -0 0x 1e9 1e400 constructor __proto__ toString".split(" "),
  ..."steps needs jobs inputs env matrix strategy run job github success( format( join( toJSON( fromJSON( contains(".split(
    " ",
  ),
  "'{0}{0}{0}'",
  "'{9999999999}'",
  "'{{0}}'",
  `'${"x".repeat(500)}'`,
  "fromJSON('[[1]]')",
  "fromJSON('{\"__proto__\": 1}')",
  "(".repeat(60),
  "!".repeat(300),
  "é",
];

const progress = { success: true, failure: false, cancelled: false };

/** What the target needs of the language. */
export interface Language {
  readonly compileTemplate: typeof compileTemplate;
  readonly compileCondition: typeof compileCondition;
  readonly evaluateTemplate: typeof evaluateTemplate;
  readonly evaluateCondition: typeof evaluateCondition;
}

export const expressions = (
  language: Language = { compileTemplate, compileCondition, evaluateTemplate, evaluateCondition },
) =>
  defineTarget({
    name: "expressions",
    holds:
      "any text compiles or is refused at a place inside it; what compiles finds every name that the compiler found, within its bounds, and soon",
    outcomes: ["a value", "no value", "refused"],
    inputs: fc.record({
      source: fc.oneof(
        { weight: 3, arbitrary: mutatedText(examples, tokens) },
        fc.array(fc.constantFrom(...tokens, ...examples), { maxLength: 12 }).map((parts) => parts.join("")),
      ),
      isCondition: fc.boolean(),
    }),
    patienceMs: 500,
    check({ source, isCondition }) {
      if (isCondition) {
        const compiled = language.compileCondition(source, scopes.condition, "if");
        if (!compiled.ok) return refused(compiled.errors, source);
        const asked = language.evaluateCondition(compiled.condition, values, progress);
        if (asked.ok) {
          assert.deepEqual(language.evaluateCondition(compiled.condition, values, progress), asked);
          return "a value";
        }
        return fault(asked.message);
      }
      const text = `a \${{ ${source} }} b`;
      const { template, errors } = language.compileTemplate(text, scopes.rest, "run");
      if (errors.length > 0) return refused(errors, text);
      const evaluated = language.evaluateTemplate(template, values);
      if (!evaluated.ok) return fault(evaluated.message);
      assert(evaluated.value.length <= 1_048_576 * (template.expressions.length + 1));
      return "a value";
    },
  });

function refused(errors: readonly { readonly message: string }[], text: string): string {
  const lines = text.split("\n");
  for (const { message } of errors) {
    if (/^there are \d+ expressions, more than/.test(message)) continue;
    const [, line, column] = /^(\d+):(\d+): \S/.exec(message) ?? [];
    const at = lines[Number(line) - 1];
    assert(at !== undefined && Number(column) >= 1 && Number(column) <= at.length + 1, message);
  }
  return "refused";
}

/** Everything declared is there, so what is missing can only be a key that was computed, or one inside a value. */
function fault(message: string): string {
  assert.match(message, /\S/);
  assert.doesNotMatch(message, /is not a function|undefined|Cannot read|call stack|\[object/, message);
  const missing = /: (\S*) has no "/.exec(message)?.[1];
  if (missing !== undefined) assert.match(missing, /^(steps\.a\.outputs|matrix\b.*|.*\.outputs|inputs|env)$/, message);
  return "no value";
}

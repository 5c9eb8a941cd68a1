import fc from "fast-check";
import { expect, test } from "vitest";
import { scope } from "../testing/templates.ts";
import { compileTemplate } from "./compile.ts";

const compile = (text: string) => compileTemplate(text, scope, "spec.run");

const accepted: Record<string, { text: string; paths: string[] }> = {
  "an output of an earlier step": { text: `\${{ steps.a.outputs.x }}`, paths: ["steps.a.outputs.x"] },
  "an output of a job that is needed": { text: `\${{ needs.build.outputs.tag }}`, paths: ["needs.build.outputs.tag"] },
  "the other spelling of needs": { text: `\${{ jobs.build.outputs.tag }}`, paths: ["jobs.build.outputs.tag"] },
  "a key that is no identifier": { text: `\${{ steps.a.outputs['a.b c'] }}`, paths: ["steps.a.outputs.a.b c"] },
  "other case than in the spec": {
    text: `\${{ STEPS.A.Outputs.X + }}`.replace(" +", ""),
    paths: ["steps.a.outputs.X"],
  },
  "declared outputs are spelled as declared": {
    text: `\${{ needs.BUILD.outputs.TAG }}`,
    paths: ["needs.build.outputs.tag"],
  },
  "a whole context as an argument": { text: `\${{ toJSON(needs) }}`, paths: ["needs"] },
  "a member of all needs": { text: `\${{ contains(needs.*.result, 'failure') }}`, paths: ["needs"] },
  "how a step went": { text: `\${{ steps.a.outcome }}`, paths: ["steps.a.outcome"] },
  "all outputs of a step": { text: `\${{ toJSON(steps.a.outputs) }}`, paths: ["steps.a.outputs"] },
  "a key that is calculated": {
    text: `\${{ steps.a.outputs[needs.build.outputs.tag] }}`,
    paths: ["needs.build.outputs.tag", "steps.a.outputs"],
  },
  "functions, operators, groups and numbers": {
    text: `\${{ !(contains('a', steps.a.outputs.x) && 1 < 0x10) || format('{0}', join(fromJSON('[1]').*, ',')) }}`,
    paths: ["steps.a.outputs.x"],
  },
  "braces inside a string": { text: `\${{ format('{{0}} }}', 1) }}`, paths: [] },
  "several expressions and text": {
    text: `a \${{ steps.a.outputs.x }}\n\${{ steps.b.outputs.y }}}`,
    paths: ["steps.a.outputs.x", "steps.b.outputs.y"],
  },
  "text with other braces": { text: "$ {{ x }} ${x} {{ y }} $", paths: [] },
};

test.each(Object.entries(accepted))("%s", (_, { text, paths }) => {
  const { template, errors } = compile(text);
  expect(errors).toEqual([]);
  const found = template.expressions.flatMap(({ references }) =>
    [...references.values()].map(({ path }) => path.join(".")),
  );
  expect(found.sort()).toEqual(paths);
});

/** Position, message and advice of the only error. */
const refused: Record<string, { text: string; want: [message: string, advice: RegExp] }> = {
  "an expression that is not closed": {
    text: `a\nb \${{ x`,
    want: ["2:3: this expression is not closed with }}", /^Write }}/],
  },
  "an expression with an open string": {
    text: `\${{ 'x }}`,
    want: ["1:1: this expression is not closed with }}", /^Write }}/],
  },
  nothing: { text: `\${{ }}`, want: ["1:4: the expression is empty", /between the braces/] },
  "a context that is not there": {
    text: `\${{ nope.X }}`,
    want: ['1:5: there is no "nope" here', /needs, jobs, inputs, run, job, env and steps/],
  },
  "a word without quotes": { text: `\${{ x == hello }}`, want: ['1:5: there is no "x" here', /single quotes/] },
  "a string in double quotes": { text: `\${{ "x" }}`, want: ["1:5: strings stand in single quotes here", /'text'/] },
  "a function that is not there": {
    text: `\${{ hashFiles('x') }}`,
    want: ['1:5: there is no function "hashFiles"', /sha256sum/],
  },
  "a member of every object is no function": {
    text: `\${{ constructor(1) }}`,
    want: ['1:5: there is no function "constructor"', /contains/],
  },
  "a function with too few arguments": {
    text: `\${{ contains('x') }}`,
    want: ["1:5: too few parameters supplied (contains)", /./],
  },
  "a function with too many arguments": {
    text: `\${{ toJSON(1, 2) }}`,
    want: ["1:5: too many parameters supplied (toJSON)", /./],
  },
  "an operator that is not there": { text: `\${{ 1 + 2 }}`, want: ['1:7: "+" means nothing here', /./] },
  "an end too early": { text: `\${{ contains('x', }}`, want: ["1:17: the expression ends too early", /./] },
  "a symbol in the wrong place": { text: `\${{ 1 ) }}`, want: ['1:7: ")" cannot stand here', /./] },
  "a step that is not there": {
    text: `\${{ steps.nope.outputs.x }}`,
    want: ['1:11: there is no earlier step "nope" in steps', /a and b/],
  },
  "a step that comes later": {
    text: `\${{ steps.later.outputs.x }}`,
    want: ['1:11: step "later" has not run yet at this place', /a and b/],
  },
  "a member of a step that is not there": {
    text: `\${{ steps.a.output }}`,
    want: ['1:13: there is no member "output" in steps.a', /outputs, outcome and conclusion/],
  },
  "a job that is not needed": {
    text: `\${{ needs.other.outputs.x }}`,
    want: ['1:11: job "other" is not a direct need of "deploy"; add it to its needs', /build/],
  },
  "a job that is not there": {
    text: `\${{ jobs.nope.outputs.x }}`,
    want: ['1:10: there is no job "nope" in jobs', /build/],
  },
  "the job itself": {
    text: `\${{ needs.deploy.outputs.x }}`,
    want: ['1:11: job "deploy" cannot refer to itself; its own steps are in steps', /build/],
  },
  "an output that is not declared": {
    text: `\${{ needs.build.outputs.nope }}`,
    want: ['1:25: there is no output "nope" in needs.build.outputs', /^Declared there: tag\./],
  },
  "an output of a member of every object": {
    text: `\${{ needs.build.outputs.constructor }}`,
    want: ['1:25: there is no output "constructor" in needs.build.outputs', /tag/],
  },
  "a whole context": { text: `\${{ steps }}`, want: ['1:5: "steps" has no value of its own', /steps\.a.*toJSON/] },
  "a whole context that is compared": {
    text: `\${{ needs == 'x' }}`,
    want: ['1:5: "needs" has no value of its own', /needs\.build/],
  },
  "all outputs": {
    text: `\${{ steps.a.outputs }}`,
    want: ['1:5: "steps.a.outputs" has no value of its own', /toJSON\(steps\.a\.outputs\)/],
  },
  "a whole step": { text: `\${{ steps.a }}`, want: ['1:5: "steps.a" has no value of its own', /steps\.a\.outputs/] },
  "a step in a group": {
    text: `\${{ (steps.a).outputs.x }}`,
    want: ['1:6: "steps.a" has no value of its own', /steps\.a\.outputs/],
  },
  "a list of all steps": {
    text: `\${{ steps.*.outputs.x }}`,
    want: ['1:5: "steps.*" is a list, which has no text of its own', /contains/],
  },
  "a member that none of the needs has": {
    text: `\${{ join(needs.*.outcome, ',') }}`,
    want: ['1:18: there is no member "outcome" in needs.*', /outputs and result/],
  },
  "a member of a result": {
    text: `\${{ steps.a.outcome.x }}`,
    want: ['1:21: "steps.a.outcome" is a text and has no members', /./],
  },
  "a status function outside of an if": {
    text: `\${{ failure() }}`,
    want: ["1:5: failure() cannot be asked in a step", /in an if/],
  },
  "a context of other places": {
    text: `\${{ matrix.x }}`,
    want: ['1:5: "matrix" is not known in a step', /Known here/],
  },
  "a context of GitHub": { text: `\${{ github.sha }}`, want: ['1:5: there is no "github" here', /run\.name/] },
  "a step of which the name is calculated": {
    text: `\${{ steps[needs.build.outputs.tag].outcome }}`,
    want: ['1:5: the earlier step after "steps" must be written out', /a and b/],
  },
  "all outputs as a list": {
    text: `\${{ join(steps.a.outputs.*) }}`,
    want: ['1:10: "*" cannot follow "steps.a.outputs"', /toJSON/],
  },
  "a member of an output": {
    text: `\${{ steps.a.outputs.x.y }}`,
    want: ["1:23: an output is a text and has no members", /fromJSON/],
  },
  "a name inside the index of another": {
    text: `\${{ steps.a.outputs[steps.nope.outputs.x] }}`,
    want: ['1:27: there is no earlier step "nope" in steps', /a and b/],
  },
  "a fault behind a string of several lines": {
    text: `\${{ format('a\nb', 1) == nope }}`,
    want: ['2:11: there is no "nope" here', /steps/],
  },
  "a fault on a later line": { text: `x\n  \${{\n 'a' == nope }}`, want: ['3:9: there is no "nope" here', /steps/] },
  "nesting that is too deep": {
    text: `\${{ ${"(".repeat(60)}1${")".repeat(60)} }}`,
    want: ["1:55: exceeded max expression depth 50 (()", /./],
  },
  "negations without end": {
    text: `\${{ ${"!".repeat(999)}1 }}`,
    want: ["1:4: the expression has more than 1000 parts", /./],
  },
  "an expression that is too long": {
    text: `\${{ '${"x".repeat(8192)}' }}`,
    want: ["1:4: the expression is longer than 8192 characters", /./],
  },
};

test.each(Object.entries(refused))("refused: %s", (_, { text, want: [message, advice] }) => {
  expect(compile(text).errors).toEqual([
    { path: "spec.run", message, advice: expect.stringMatching(advice), type: "FieldValueInvalid" },
  ]);
});

test("a caret stands under the place, tabs or not, and long lines are cut around it", () => {
  const [, excerpt, caret] = compile(`\techo \${{ env }}`).errors[0]?.advice?.split("\n") ?? [];
  expect([excerpt, caret]).toEqual([`     echo \${{ env }}`, "              ^"]);
  const [, long = "", far = ""] =
    compile(`${"x".repeat(500)}\${{ env }}${"y".repeat(500)}`).errors[0]?.advice?.split("\n") ?? [];
  expect(long).toHaveLength(104);
  expect(long.slice(far.indexOf("^"), far.indexOf("^") + 3)).toBe("env");
});

test("all faults of all expressions are reported", () => {
  const { errors } = compile(`\${{ a }} \${{ steps.x.outputs.y == steps.z.outputs.y }} \${{ 'ok' }}`);
  expect(errors.map(({ message }) => message.slice(0, 5))).toEqual(["1:5: ", "1:20:", "1:41:"]);
});

test("more expressions than a field may have are refused once", () => {
  const { errors } = compile(`\${{ 1 }}`.repeat(257));
  expect(errors).toMatchObject([{ type: "FieldValueTooLong", message: "there are 257 expressions, more than 256" }]);
});

test("whatever is written, compiling ends with errors that point into the text", () => {
  const piece = fc.constantFrom(
    "${{",
    "}}",
    "'",
    "''",
    "steps",
    "needs",
    ".a",
    ".outputs",
    "['x']",
    "[",
    "]",
    "(",
    ")",
    "!",
    "&&",
    "==",
    "fromJSON",
    ",",
    "*",
    "1",
    "-",
    " ",
    "\n",
    "é",
    "\u0000",
    "constructor",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const text = pieces.join("");
      const lines = text.split("\n").length;
      for (const { message } of compile(text).errors) {
        const [line, column] = message.split(":").map(Number);
        expect(line).toBeGreaterThan(0);
        expect(line).toBeLessThanOrEqual(lines);
        expect(column).toBeGreaterThan(0);
      }
    }),
    { numRuns: 2000 },
  );
});

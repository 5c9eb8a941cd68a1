import { expect, test } from "vitest";
import { scope } from "../testing/templates.ts";
import { compileTemplate } from "./compile.ts";
import { evaluateTemplate } from "./evaluate.ts";

const needed = { build: { outputs: { tag: "v1.2" } } };
const values = {
  steps: {
    a: {
      outputs: {
        x: "hello",
        json: '{"list": ["a", "b"], "constructor": "c", "n": 1.5, "no": null}',
        empty: "",
        key: "x",
        Case: "1",
        case: "2",
      },
    },
    b: { outputs: { big: "x".repeat(8192), "a.b": "dotted" } },
  },
  needs: needed,
  jobs: needed,
};

/** Evaluates a text in which `«` and `»` stand for the braces of an expression. */
function evaluate(marked: string) {
  const text = marked.replaceAll("«", `\${{ `).replaceAll("»", " }}");
  const { template, errors } = compileTemplate(text, scope, "run");
  expect(errors).toEqual([]);
  return evaluateTemplate(template, values);
}

const results: Record<string, string> = {
  "plain text": "plain text",
  "a «steps.a.outputs.x»-«needs.build.outputs.tag»!": "a hello-v1.2!",
  "«jobs.build.outputs.tag»": "v1.2",
  "«STEPS.a.OUTPUTS.X»": "hello",
  "«steps.a.outputs.Case»«steps.a.outputs.case»": "12",
  "«steps.a.outputs.empty»": "",
  "«steps.b.outputs['a.b']»": "dotted",
  "«steps.a.outputs[steps.a.outputs.key]»": "hello",
  "«contains(steps.a.outputs.x, 'ELL')»": "true",
  "«startsWith(steps.a.outputs.x, 'he') && endsWith(steps.a.outputs.x, 'lo')»": "true",
  "«format('{0} {{1}} {1}', steps.a.outputs.x, 2)»": "hello {1} 2",
  "«join(fromJSON(steps.a.outputs.json).list, '+')»": "a+b",
  "«join(fromJSON(steps.a.outputs.json).list)»": "a,b",
  "«fromJSON(steps.a.outputs.json).list[1]»": "b",
  "«fromJSON(steps.a.outputs.json).constructor»": "c",
  "«fromJSON(steps.a.outputs.json).n > 1»": "true",
  "«toJSON(fromJSON('[1, \"a\"]'))»": '[\n  1,\n  "a"\n]',
  "«contains(toJSON(steps.b.outputs), 'dotted')»": "true",
  "«'it''s ''quoted'''»": "it's 'quoted'",
  "«'a' == 'A'»": "true",
  "«steps.a.outputs.x == 'hello' && 'yes' || 'no'»": "yes",
  "«steps.a.outputs.nope || 'default'»": "default",
  "«steps.a.outputs.nope || steps.a.outputs.empty || 'default'»": "default",
  "«steps.a.outputs[steps.a.outputs.nope] || 'default'»": "default",
  "«(steps.a.outputs.nope == 'x') || 'default'»": "default",
  "«fromJSON(steps.a.outputs.json).no || 'none'»": "none",
  "«0 || 'zero'»": "zero",
  "«fromJSON('[]') && 'lists are true'»": "lists are true",
};

test.each(Object.entries(results))("%s", (text, want) => {
  expect(evaluate(text)).toEqual({ ok: true, value: want });
});

const failures: Record<string, RegExp> = {
  "«steps.a.outputs.nope»":
    /^\$\{\{ steps\.a\.outputs\.nope \}\} at 1:1: steps\.a\.outputs has no "nope"; it has x, json, empty, key, Case and case$/,
  "x\n  «contains('a', steps.a.outputs.nope)»": /at 2:3: steps\.a\.outputs has no "nope"/,
  "«steps.a.outputs.constructor»": /steps\.a\.outputs has no "constructor"/,
  "«steps.a.outputs.nope && 'x'»": /steps\.a\.outputs has no "nope"/,
  "«'x' == 'y' || steps.a.outputs.nope»": /steps\.a\.outputs has no "nope"/,
  "«steps.a.outputs[1 == 1]»": /the key after steps\.a\.outputs is not a text/,
  "«fromJSON(steps.a.outputs.json)»": /object or a list; write toJSON/,
  "«fromJSON(steps.a.outputs.json).list»": /object or a list; write toJSON/,
  "«fromJSON(steps.a.outputs.json).nope»": /there is no value; write \(\.\.\.\) \|\| 'default'/,
  "«null»": /there is no value/,
  "«fromJSON(steps.a.outputs.x)»": /fromJSON cannot read its argument: .*hello/,
  "«fromJSON(steps.a.outputs.empty)»": /fromJSON has nothing to read/,
  "«format('{1}', 1)»": /references more arguments than were supplied/,
  "«format('{', 1)»": /format string is invalid/,
  "«fromJSON(steps.a.outputs.x) || 'not caught'»": /fromJSON cannot read/,
};

test.each(Object.entries(failures))("fails: %s", (text, want) => {
  expect(evaluate(text)).toEqual({ ok: false, message: expect.stringMatching(want) });
});

test("a step whose outputs nobody knows has none", () => {
  const { template } = compileTemplate(`\${{ steps.a.outputs.x }}`, scope, "run");
  expect(evaluateTemplate(template, {})).toEqual({
    ok: false,
    message: expect.stringMatching(/has no "steps"/),
  });
});

const bombs: Record<string, string> = {
  format: `format('${"{0}".repeat(500)}', steps.b.outputs.big)`,
  "format of format": `format('${"{0}".repeat(100)}', format('${"{0}".repeat(100)}', steps.b.outputs.big))`,
  join: `join(fromJSON('[${"1,".repeat(2000)}1]'), steps.b.outputs.big)`,
};

test.each(Object.entries(bombs))("a bomb of %s is refused before it is built", (_, source) => {
  expect(evaluate(`«${source}»`)).toEqual({
    ok: false,
    message: expect.stringMatching(/would be longer than 1048576 characters/),
  });
});

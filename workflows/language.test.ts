import { expect, test } from "vitest";
import { parse } from "yaml";
import { compileAction, compileWorkflow } from "./compile-workflow.ts";

const lint = parse(`
inputs: {level: {type: choice, options: [low, high], required: true}, times: {type: number, default: 1}}
steps: [{name: check, run: x}]
outputs: {count: {value: '\${{ steps.check.outputs.n }}'}}`);
const publish = parse(`
inputs: {tag: {required: true}, dry: {type: boolean}}
outputs: {url: {value: '\${{ jobs.push.outputs.url }}'}}
jobs: {push: {runs-on: bash, outputs: {url: u}, steps: [{name: s, run: x}]}}`);
const templates = {
  action: (name: string) => (name === "lint" ? lint : undefined),
  workflow: (name: string) => (name === "publish" ? publish : undefined),
};

/** `«` and `»` stand for the braces of an expression. */
const marked = (yaml: string) => parse(yaml.replaceAll("«", `\${{ `).replaceAll("»", " }}"));

function errorsOf(yaml: string): string[] {
  const result = compileWorkflow(marked(yaml), { path: "spec", templates });
  return result.ok ? [] : result.errors.map(({ path, message }) => `${path}: ${message}`);
}

/** A workflow whose only job has these fields beside one step. */
const job = (fields: string, step = "{name: s, run: x}") =>
  `{inputs: {n: {type: number, default: 1}}, jobs: {a: {runs-on: b, steps: [${step}]${fields === "" ? "" : `, ${fields}`}}}}`;
/** A workflow of one step with these fields, behind the step `first`. */
const step = (fields: string) =>
  `{inputs: {n: {type: number, default: 1}}, env: {W: 1}, jobs: {a: {env: {J: x}, runs-on: b, steps: [{name: first, run: x}, {name: s, ${fields}}]}}}`;
const two = (fields: string) =>
  `{jobs: {a: {runs-on: b, outputs: {o: x}, steps: [{name: s, run: x}]}, b: {needs: [a], runs-on: b, steps: [{name: s, run: x}], ${fields}}}}`;

const accepted: Record<string, string> = {
  "an if of a job over needs, inputs and run": two(`if: "needs.a.outputs.o == 'x' && run.attempt == 1"`),
  "an if in braces": step("run: x, if: '«failure()»'"),
  "an if that is no text": step("run: x, if: false"),
  "all status functions, in any case": step("run: x, if: 'SUCCESS() || failure() || always() || !cancelled()'"),
  "all results of needs": two(`if: "always() && !contains(needs.*.result, 'failure')"`),
  "variables of workflow, job and step": step(
    "run: 'echo «env.W»«env.J»«env.S»', env: {S: '«env.J»', T: 8080, U: true}",
  ),
  "variables of the job in an if": step("run: x, if: env.J == 'x'"),
  "how a step went": step("run: x, if: steps.first.outcome == 'failure' && steps.first.conclusion != 'success'"),
  "how the job goes": step("run: 'echo «job.status» «job.id»', if: always()"),
  "continue-on-error by an expression": step("run: x, continue-on-error: '«inputs.n > 1»'"),
  "an Action and its outputs": `{jobs: {a: {runs-on: b, outputs: {c: '«steps.l.outputs.count»'}, steps: [{name: l, uses: lint, with: {level: low, times: '2'}}]}}}`,
  "an Action that gets an expression": `{inputs: {l: {}}, jobs: {a: {runs-on: b, steps: [{name: l, uses: lint, with: {level: '«inputs.l»'}}]}}}`,
  "a Workflow and its outputs": `{outputs: {u: {value: '«jobs.p.outputs.url»'}}, jobs: {p: {uses: publish, with: {tag: 1.5, dry: true}}, b: {needs: [p], runs-on: b, steps: [{name: s, run: 'echo «needs.p.outputs.url»'}]}}}`,
  "a gate and its outputs": `{jobs: {a: {runs-on: b, steps: [{name: g, suspend: {duration: 1h, outputs: {who: {default: me, options: [me, you]}}}}, {name: s, run: 'echo «steps.g.outputs.who»'}]}}}`,
  "a matrix of objects": `{jobs: {a: {runs-on: '«matrix.on.name»', strategy: {matrix: {on: [{name: x, tags: [1]}]}}, steps: [{name: s, run: 'echo «matrix.on.tags[0]» «strategy.job-total»'}]}}}`,
  "a matrix that is computed as a whole": two(
    "strategy: {matrix: '«fromJSON(needs.a.outputs.o)»'}, env: {V: '«matrix.anything.goes»'}",
  ),
  "a matrix whose include is computed": two(
    "strategy: {matrix: {include: '«fromJSON(needs.a.outputs.o)»'}}, env: {V: '«matrix.x»'}",
  ),
  "an output of a Workflow over how a job went": `{outputs: {r: {value: '«jobs.a.result»'}}, jobs: {a: {runs-on: b, steps: [{name: s, run: x}]}}}`,
  "a name of a variable with _": job("env: {_A1: x}"),
};

test.each(Object.entries(accepted))("%s", (_, yaml) => {
  expect(errorsOf(yaml)).toEqual([]);
});

const refused: Record<string, { yaml: string; want: RegExp[] }> = {
  "an if of a job over its own steps": {
    yaml: job("if: steps.s.outcome == 'success'"),
    want: [/^spec\.jobs\.a\.if: 1:1: "steps" is not known in the if of a job$/],
  },
  "an if of a job over its matrix": {
    yaml: job("strategy: {matrix: {x: [1]}}, if: matrix.x == 1"),
    want: [/^spec\.jobs\.a\.if: 1:1: "matrix" is not known in the if of a job$/],
  },
  "an if of a job over variables": { yaml: job("if: env.X"), want: [/"env" is not known in the if of a job/] },
  "an if with text around the braces": {
    yaml: step(`run: x, if: "«inputs.n» == 1"`),
    want: [/^spec\.jobs\.a\.steps\[1\]\.if: 1:1: a condition is one expression as a whole$/],
  },
  "an if of two expressions": {
    yaml: step(`run: x, if: "«inputs.n» && «true»"`),
    want: [/1:20: a condition is one expression as a whole$/],
  },
  "an if that is a list": { yaml: step("run: x, if: [a]"), want: [/a condition is an expression$/] },
  "an if that is empty": { yaml: step("run: x, if: ''"), want: [/the expression is empty/] },
  "a status function with an argument": {
    yaml: step("run: x, if: success('a')"),
    want: [/too many parameters supplied/],
  },
  "a status function in a script": {
    yaml: step("run: 'echo «success()»'"),
    want: [/success\(\) cannot be asked in a step/],
  },
  "a status function in continue-on-error": {
    yaml: step("run: x, continue-on-error: '«failure()»'"),
    want: [/failure\(\) cannot be asked in a step/],
  },
  "an unknown variable": {
    yaml: step("run: 'echo «env.NOPE»'"),
    want: [/^spec\.jobs\.a\.steps\[1\]\.run: 1:14: there is no variable "NOPE" in env$/],
  },
  "a variable of another step": {
    yaml: `{jobs: {a: {runs-on: b, steps: [{name: s, run: x, env: {S: x}}, {name: t, run: 'echo «env.S»'}]}}}`,
    want: [/there is no variable "S" in env/],
  },
  "a variable of the step in its own if": {
    yaml: step("run: x, env: {S: x}, if: env.S"),
    want: [/no variable "S" in env/],
  },
  "a variable of the job in another": {
    yaml: job("env: {A: x, B: '«env.A»'}"),
    want: [/"env" is not known in this field of a job/],
  },
  "a name that no shell can read": { yaml: job("env: {a-b: x}"), want: [/"a-b" cannot be the name of a variable/] },
  "a name of the platform": { yaml: job("env: {KRUNTIME_X: x}"), want: [/KRUNTIME_X is set by the platform/] },
  "a variable that is a list": {
    yaml: job("env: {A: [x]}"),
    want: [/^spec\.jobs\.a\.env\.A: the value of a variable is a single text$/],
  },
  "a variable without a value": { yaml: job("env: {A: null}"), want: [/the value of a variable is a single text/] },
  "an unknown input": { yaml: step("run: 'echo «inputs.m»'"), want: [/there is no input "m" in inputs/] },
  "an input with an unknown default": {
    yaml: "{inputs: {n: {type: number, default: x}, c: {type: choice, options: [a], default: b}, d: {type: choice}, e: {options: [a]}, f: {default: [1]}}, jobs: {a: {runs-on: b, steps: [{name: s, run: x}]}}}",
    want: [
      /^spec\.inputs\.n\.default: "x" is no number$/,
      /^spec\.inputs\.c\.default: "b" is none of the options$/,
      /^spec\.inputs\.d\.options: a choice has options$/,
      /^spec\.inputs\.e\.options: an input of type string has no options$/,
      /^spec\.inputs\.f\.default: \[1\] is no single value$/,
    ],
  },
  "an Action without what it needs": {
    yaml: step("uses: lint"),
    want: [/\.with\.level: Action "lint" must get input "level"$/],
  },
  "an Action with too much, and with wrong types": {
    yaml: step("uses: lint, with: {level: middle, times: many, more: 1}"),
    want: [
      /\.with\.level: "middle" is none of the options$/,
      /\.with\.times: "many" is no number$/,
      /\.with\.more: Action "lint" has no input "more"$/,
    ],
  },
  "a value that is a list": {
    yaml: step("uses: lint, with: {level: [low]}"),
    want: [/\.with\.level: the value is a list, an object or nothing$/],
  },
  "an output that the Action does not declare": {
    yaml: `{jobs: {a: {runs-on: b, steps: [{name: l, uses: lint, with: {level: low}}, {name: s, run: 'echo «steps.l.outputs.nope»'}]}}}`,
    want: [/there is no output "nope" in steps\.l\.outputs$/],
  },
  "an output that the Workflow does not declare": {
    yaml: `{jobs: {p: {uses: publish, with: {tag: x}}, b: {needs: [p], runs-on: b, steps: [{name: s, run: 'echo «needs.p.outputs.nope»'}]}}}`,
    want: [/there is no output "nope" in needs\.p\.outputs$/],
  },
  "an action of GitHub": {
    yaml: step("uses: actions/checkout@v4"),
    want: [/\.uses: "actions\/checkout@v4": actions\/checkout is an action of GitHub$/],
  },
  "a workflow of a repository": {
    yaml: "{jobs: {a: {uses: ./.github/workflows/x.yml}}}",
    want: [/^spec\.jobs\.a\.uses: ".*": files of repositories cannot be used$/],
  },
  "a name that is an expression": { yaml: step("uses: '«inputs.n»'"), want: [/cannot be the name of an Action$/] },
  "a job with uses and what belongs to steps": {
    yaml: "{jobs: {a: {uses: publish, with: {tag: x}, runs-on: b, env: {A: x}, outputs: {o: x}, timeout: 1m}}}",
    want: [/\.runs-on: a job with uses has no runs-on$/, /\.env: /, /\.outputs: /, /\.timeout: /],
  },
  "a job with steps and with": { yaml: job("with: {a: 1}"), want: [/\.with: a job with steps has no with$/] },
  "a step that does two things": { yaml: step("run: x, uses: lint"), want: [/step "s" has run and uses at once$/] },
  "a retry of a whole Action": {
    yaml: step("uses: lint, with: {level: low}, retry: {attempts: 2}"),
    want: [/\.retry: a step with uses has no retry$/],
  },
  "a shell without a script": {
    yaml: step("uses: lint, with: {level: low}, shell: bash"),
    want: [/\.shell: a step with uses has no shell$/],
  },
  "with beside a script": { yaml: step("run: x, with: {a: 1}"), want: [/\.with: a step with run has no with$/] },
  "an unknown shell": { yaml: step("run: x, shell: pwsh"), want: [/\.shell: there is no shell "pwsh"$/] },
  "a shell beside a first line of its own": {
    yaml: `{jobs: {a: {runs-on: b, steps: [{name: s, shell: bash, run: "#!/bin/sh\\nx"}]}}}`,
    want: [/\.shell: the script names its program itself, in its first line$/],
  },
  "a value at a place where the shell would run it": {
    yaml: step(`run: "print('«inputs.n»')", shell: python`),
    want: [/\.run: 1:8: an expression cannot stand inside a Python string$/],
  },
  "a gate with what belongs to programs": {
    yaml: step("suspend: {}, env: {A: x}, timeout: 1m, retry: {attempts: 2}, continue-on-error: true"),
    want: [/\.env: a step with suspend has no env$/, /\.timeout: /, /\.retry: /, /\.continue-on-error: /],
  },
  "a default of a gate that is none of its options": {
    yaml: step("suspend: {outputs: {a: {default: x, options: [y]}, b: {default: '«inputs.n»'}, c: {options: []}}}"),
    want: [/"x" is none of the options$/, /a default is a fixed text, not an expression$/, /there is no option$/],
  },
  "an output that the gate does not declare": {
    yaml: `{jobs: {a: {runs-on: b, steps: [{name: g, suspend: {outputs: {who: {}}}}, {name: s, run: 'echo «steps.g.outputs.nope»'}]}}}`,
    want: [/there is no output "nope" in steps\.g\.outputs$/],
  },
  "times that are none": {
    yaml: job("timeout: 0s, retry: {attempts: 2, backoff: 9999h}", "{name: s, run: x, timeout: 9000h}"),
    want: [
      /^spec\.jobs\.a\.timeout: 0s is not within/,
      /^spec\.jobs\.a\.retry\.backoff: /,
      /^spec\.jobs\.a\.steps\[0\]\.timeout: /,
    ],
  },
  "continue-on-error that is neither": {
    yaml: step("run: x, continue-on-error: 'yes'"),
    want: [/"yes" is neither true nor false$/],
  },
  "a strategy without a matrix": {
    yaml: job("strategy: {fail-fast: true}"),
    want: [/^spec\.jobs\.a\.strategy\.matrix: a strategy has a matrix$/],
  },
  "a key that the matrix does not have": {
    yaml: job("strategy: {matrix: {x: [1], include: [{y: 2}]}}, env: {A: '«matrix.y»', B: '«matrix.z»'}"),
    want: [/^spec\.jobs\.a\.env\.B: 1:12: there is no matrix value "z" in matrix$/],
  },
  "a matrix over its own job": {
    yaml: job("strategy: {matrix: {x: '«fromJSON(matrix.y)»'}}"),
    want: [/"matrix" is not known in the strategy of a job/],
  },
  "strategy without one": {
    yaml: step("run: 'echo «strategy.job-index»'"),
    want: [/"strategy" is not known in a step/],
  },
  "a Runtime that cannot be": {
    yaml: "{jobs: {a: {runs-on: 'Ubuntu Latest', steps: [{name: s, run: x}]}}}",
    want: [/^spec\.jobs\.a\.runs-on: "Ubuntu Latest" cannot be the name of a Runtime$/],
  },
  "a Runtime by what is not known before the job": {
    yaml: "{jobs: {a: {runs-on: '«steps.s.outputs.x»', steps: [{name: s, run: x}]}}}",
    want: [/"steps" is not known in this field of a job/],
  },
  "outputs of a Workflow over steps": {
    yaml: `{outputs: {o: {value: '«steps.s.outputs.x»'}}, jobs: {a: {runs-on: b, steps: [{name: s, run: x}]}}}`,
    want: [/^spec\.outputs\.o\.value: 1:5: "steps" is not known in the outputs of a workflow$/],
  },
  "a whole job as a text": { yaml: two("env: {A: '«needs.a»'}"), want: [/"needs\.a" has no value of its own/] },
};

test.each(Object.entries(refused))("refused: %s", (_, { yaml, want }) => {
  expect(errorsOf(yaml)).toEqual(want.map((message) => expect.stringMatching(message)));
});

const actions: Record<string, { yaml: string; want: RegExp[] }> = {
  "an Action with inputs, variables and conditions": {
    yaml: `{inputs: {a: {}}, env: {E: '«inputs.a»'}, steps: [{name: s, run: 'echo «env.E»', if: "inputs.a != ''"}]}`,
    want: [],
  },
  "an Action that looks into the job": {
    yaml: "{steps: [{name: s, run: 'echo «matrix.x»«needs.a.result»'}]}",
    want: [/"matrix" is not known in a step/, /"needs" is not known in a step/],
  },
  "an Action that uses another": {
    yaml: "{steps: [{name: s, uses: other}]}",
    want: [/^spec\.steps\[0\]\.uses: an Action has only steps with run$/],
  },
  "an Action with a gate": {
    yaml: "{steps: [{name: s, suspend: {}}]}",
    want: [/^spec\.steps\[0\]\.suspend: an Action has only steps with run$/],
  },
  "an Action that takes artifacts": {
    yaml: "{steps: [{name: s, run: x, artifacts: [{from: jobs.a.artifacts.f, path: f}]}]}",
    want: [/^spec\.steps\[0\]\.artifacts: a step of an Action takes no artifacts$/],
  },
};

test.each(Object.entries(actions))("%s", (_, { yaml, want }) => {
  const result = compileAction(marked(yaml));
  const errors = result.ok ? [] : result.errors.map(({ path, message }) => `${path}: ${message}`);
  expect(errors).toEqual(want.map((message) => expect.stringMatching(message)));
});

import fc from "fast-check";
import { expect, test } from "vitest";
import type { JobSpec, StepSpec } from "#api/kinds/job.ts";
import type { ActionSpec, WorkflowSpec } from "#api/kinds/workflow.ts";
import { compileAction, compileWorkflow, workflowErrors } from "./compile-workflow.ts";
import { evaluateCondition, evaluateTemplate } from "./expressions/evaluate.ts";
import { stepsOf } from "./plan.ts";

const word = fc.constantFrom(
  "a",
  "b",
  "lint",
  "flow",
  "steps",
  "needs",
  "outputs",
  "x",
  "matrix",
  "constructor",
  "__proto__",
  "1",
);
const pieces = fc.constantFrom(
  ..."steps needs jobs inputs env matrix strategy run job github . [ ] ( ) * ! && || == < , 'a' '' ' \" 1 0x1 null true".split(
    " ",
  ),
  ..."success() failure() always() contains( join( fromJSON( toJSON( format( outputs result outcome a b ${{ }} \n $( ` \\".split(
    " ",
  ),
);
const expression = fc.array(fc.oneof(pieces, word), { maxLength: 12 }).map((parts) => parts.join(" "));
const text = fc.oneof(
  expression,
  expression.map((source) => `\${{ ${source} }}`),
  fc.tuple(expression, expression).map(([a, b]) => `echo "\${{ ${a} }}" '${b}'`),
  fc.string({ maxLength: 20 }),
);
const anything = fc.oneof(text, fc.boolean(), fc.integer(), fc.jsonValue({ maxDepth: 2 }));
const env = fc.dictionary(fc.oneof(word, fc.string({ maxLength: 4 })), anything, { maxKeys: 3 });

const step = fc.record(
  {
    name: word,
    if: anything,
    env,
    run: text,
    shell: fc.constantFrom("bash", "sh", "python", "node", "zsh"),
    uses: fc.oneof(word, fc.constantFrom("lint", "actions/checkout@v4")),
    with: fc.dictionary(word, anything, { maxKeys: 2 }),
    suspend: fc.record({ duration: fc.constantFrom("1h", "x"), message: text }, { requiredKeys: [] }),
    timeout: fc.constantFrom("1m", "0s", "x"),
    retry: fc.record({ attempts: fc.integer({ min: 1, max: 3 }) }),
    "continue-on-error": anything,
    artifacts: fc.array(
      fc.record({ from: fc.constantFrom("jobs.a.artifacts.x", "x"), path: fc.constantFrom("p", "../p") }),
      { maxLength: 2 },
    ),
  },
  { requiredKeys: ["name"] },
);

const job = fc.record(
  {
    "runs-on": fc.oneof(word, text),
    needs: fc.array(word, { maxLength: 3 }),
    if: anything,
    env,
    outputs: fc.dictionary(word, text, { maxKeys: 2 }),
    strategy: fc.record(
      { matrix: fc.oneof(anything, fc.dictionary(word, fc.array(anything, { maxLength: 3 }))) },
      { requiredKeys: [] },
    ),
    steps: fc.array(step, { maxLength: 4 }),
    uses: fc.constantFrom("flow", "other"),
    with: fc.dictionary(word, anything, { maxKeys: 2 }),
  },
  { requiredKeys: [] },
);

const workflow = fc.record(
  {
    inputs: fc.dictionary(
      word,
      fc.record(
        { type: fc.constantFrom("string", "number", "boolean", "choice"), default: anything },
        { requiredKeys: [] },
      ),
    ),
    env,
    outputs: fc.dictionary(word, fc.record({ value: text }), { maxKeys: 2 }),
    jobs: fc.dictionary(word, job, { maxKeys: 4 }),
  },
  { requiredKeys: ["jobs"] },
);

// The schema allows less than these; the compiler must stand all of it.
const asWorkflow = (value: unknown) => value as WorkflowSpec;

/** Milliseconds of processor time that nothing of this size may take. */
const patience = 1000;

test("whatever is written, the compiler answers with a plan or with errors that have a path, and soon", () => {
  fc.assert(
    fc.property(workflow, workflow, fc.array(step, { minLength: 1, maxLength: 3 }), (spec, flow, steps) => {
      const templates = {
        workflow: (name: string) => (name === "flow" ? asWorkflow(flow) : undefined),
        action: (name: string) => (name === "lint" ? ({ steps } as unknown as ActionSpec) : undefined),
      };
      const before = process.threadCpuUsage();
      const result = compileWorkflow(asWorkflow(spec), { path: "spec", templates, languageOf: () => "bash" });
      const errors = result.ok ? [] : result.errors;
      const alone = workflowErrors(asWorkflow(spec));
      compileAction({ steps: steps as unknown as StepSpec[] });
      expect(process.threadCpuUsage(before).user / 1000).toBeLessThan(patience);
      for (const { path, message } of [...errors, ...alone]) {
        expect(path).toMatch(/^spec/);
        expect(message).not.toBe("");
      }
      if (!result.ok) return;
      // What compiles can be evaluated with nothing there: it fails, or has a value.
      for (const plan of result.plan.jobs.values()) {
        const progress = { success: true, failure: false, cancelled: false };
        if (plan.if !== undefined) evaluateCondition(plan.if, {}, progress);
        for (const { env: variables } of stepsOf(plan))
          for (const template of variables.values()) evaluateTemplate(template, {});
      }
    }),
    { numRuns: 400 },
  );
});

test("what admission accepts by itself is accepted with what it uses, as long as that declares nothing", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom("a", "b"), job, { minKeys: 1, maxKeys: 2 }), (jobs) => {
      const spec = asWorkflow({ jobs });
      const strict = compileWorkflow(spec);
      // Whatever is wrong by itself stays wrong when what is used is looked up.
      return workflowErrors(spec).length === 0 || !strict.ok;
    }),
    { numRuns: 200 },
  );
});

test("32 jobs of 128 steps with expressions, and a matrix of 256 instances for each, compile within 50 ms for every 1,000 steps", () => {
  const steps: StepSpec[] = Array.from({ length: 128 }, (_, n) => ({
    name: `s${n}`,
    env: { N: `\${{ matrix.n }}` },
    ...(n === 0 ? { run: "true" } : { if: `steps.s${n - 1}.outcome == 'success'`, run: "true" }),
  }));
  const jobs: Record<string, JobSpec> = Object.fromEntries(
    Array.from({ length: 32 }, (_, n) => [
      `j${n}`,
      { "runs-on": "b", strategy: { matrix: { n: Array.from({ length: 256 }, (_unused, index) => index) } }, steps },
    ]),
  );
  const compile = () => {
    const before = process.threadCpuUsage();
    expect(compileWorkflow({ jobs })).toMatchObject({ ok: true });
    return process.threadCpuUsage(before).user / 1000;
  };
  expect(Math.min(...Array.from({ length: 4 }, compile))).toBeLessThan(50 * 4.1);
});

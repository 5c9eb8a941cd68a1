import { expect, test } from "vitest";
import { parse } from "yaml";
import type { JobSpec } from "#api/kinds/job.ts";
import type { ActionSpec } from "#api/kinds/workflow.ts";
import { compileAction, compileWorkflow, type JobPlan, type Where } from "./compile-workflow.ts";
import { stepsOf } from "./plan.ts";

const specOf = (yaml: string): { jobs: Record<string, JobSpec> } => parse(yaml);

/** Paths and messages of all errors. */
function errorsOf(yaml: string, where?: Where): [path: string, message: string][] {
  const result = compileWorkflow(specOf(yaml), where);
  return result.ok ? [] : result.errors.map(({ path, message }) => [path, message]);
}

const stepsIn = (job: JobPlan | undefined) => (job === undefined ? [] : stepsOf(job));

/** The example of the specification, as it stands there. */
const demo = `
jobs:
  build:
    runs-on: bash
    steps:
      - name: checkout
        run: |
          mkdir -p src
          echo 'print("hello")' > src/app.py
      - name: test
        run: |
          test -f src/app.py
          echo "tests=passed" >> "$KRUNTIME_OUTPUTS"
      - name: package
        run: |
          mkdir -p "$KRUNTIME_ARTIFACTS_DIR"
          tar -czf "$KRUNTIME_ARTIFACTS_DIR/dist.tgz" src
  deploy:
    runs-on: bash
    needs:
      - build
    steps:
      - name: verify-artifact
        artifacts:
          - from: jobs.build.artifacts.dist.tgz
            path: dist.tgz
        run: |
          tar -tzf dist.tgz
          echo "artifact verified"
`;

test("the example of the specification compiles", () => {
  const result = compileWorkflow(specOf(demo));
  if (!result.ok) throw new Error(JSON.stringify(result.errors));
  const { order, jobs } = result.plan;
  expect(order).toEqual(["build", "deploy"]);
  expect([...jobs.keys()]).toEqual(order);
  expect(jobs.get("build")).toMatchObject({ needs: [], dependents: ["deploy"] });
  expect(stepsIn(jobs.get("build")).map(({ name }) => name)).toEqual(["checkout", "test", "package"]);
  expect(stepsIn(jobs.get("deploy"))).toMatchObject([
    {
      name: "verify-artifact",
      index: 0,
      path: "spec.jobs.deploy.steps[0]",
      artifacts: [{ job: "build", name: "dist.tgz", path: "dist.tgz" }],
    },
  ]);
});

const valid: Record<string, string> = {
  "outputs go from step to step, to the job and to a job that needs it": `
jobs:
  use: {runs-on: b, needs: [make], steps: [{name: s, run: 'echo \${{ needs.make.outputs.tag }}\${{ jobs.make.outputs.tag }}'}]}
  make:
    runs-on: b
    outputs: {tag: 'v\${{ steps.two.outputs.x }}', fixed: 'text'}
    steps:
      - {name: one, run: 'true'}
      - {name: two, run: 'echo \${{ steps.one.outputs.x }}'}`,
  "a job id and a step name may be the same as another job's": `
jobs: {a: {runs-on: b, steps: [{name: a, run: x}]}, b: {runs-on: b, steps: [{name: a, run: x}]}}`,
  "an expression in a script for a Runtime that nobody knows yet": `
jobs: {a: {runs-on: b, steps: [{name: s, run: x}, {name: t, run: 'eval \${{ steps.s.outputs.x }}'}]}}`,
};

test.each(Object.entries(valid))("%s", (_, yaml) => {
  expect(errorsOf(yaml)).toEqual([]);
});

const invalid: Record<string, { yaml: string; where?: Where; want: [path: string, message: RegExp][] }> = {
  "no job": { yaml: "jobs: {}", want: [["spec.jobs", /there is no job/]] },
  "more jobs than 64": {
    yaml: `jobs: {${Array.from({ length: 65 }, (_, n) => `j${n}: {runs-on: b, steps: [{name: s, run: x}]}`).join()}}`,
    want: [["spec.jobs", /there are 65 jobs/]],
  },
  "no step": { yaml: "jobs: {a: {runs-on: b, steps: []}}", want: [["spec.jobs.a.steps", /there is no step/]] },
  "more steps than 128": {
    yaml: `jobs: {a: {runs-on: b, steps: [${Array.from({ length: 129 }, (_, n) => `{name: s${n}, run: x}`).join()}]}}`,
    want: [["spec.jobs.a.steps", /there are 129 steps/]],
  },
  "a job without steps": { yaml: "jobs: {a: {runs-on: b}}", want: [["spec.jobs.a.steps", /job "a" has no steps/]] },
  "a job without a Runtime": {
    yaml: "jobs: {a: {steps: [{name: s, run: x}]}}",
    want: [["spec.jobs.a.runs-on", /job "a" names no Runtime/]],
  },
  "a step that does nothing": {
    yaml: "jobs: {a: {runs-on: b, steps: [{name: s}]}}",
    want: [["spec.jobs.a.steps[0]", /step "s" does nothing/]],
  },
  "ids that object names cannot tell apart": {
    yaml: "jobs: {a_b: {runs-on: b, steps: [{name: s, run: x}]}, A-b: {runs-on: b, steps: [{name: s, run: x}]}}",
    want: [["spec.jobs.A-b", /cannot be told apart/]],
  },
  "two steps of one name": {
    yaml: "jobs: {a: {runs-on: b, steps: [{name: s, run: x}, {name: s, run: x}]}}",
    want: [["spec.jobs.a.steps[1].name", /two steps named "s"/]],
  },
  "an id with a dot is pointed at in brackets": {
    yaml: "jobs: {a.b: {runs-on: b, steps: [{name: s, run: x}]}}",
    want: [["spec.jobs[a.b]", /cannot be the id of a job/]],
  },
  "jobs that wait for each other": {
    yaml: "jobs: {a: {needs: [b], runs-on: r, steps: [{name: s, run: x}]}, b: {needs: [a], runs-on: r, steps: [{name: s, run: x}]}}",
    want: [["spec.jobs.b.needs[0]", /a -> b -> a/]],
  },
  "an artifact of a job that is not a direct need": {
    yaml: `
jobs:
  a: {runs-on: b, steps: [{name: s, run: x}]}
  b: {runs-on: b, needs: [a], steps: [{name: s, run: x}]}
  c: {runs-on: b, needs: [b], steps: [{name: s, run: x}, {name: t, run: x, artifacts: [{from: jobs.a.artifacts.f, path: f}]}]}`,
    want: [["spec.jobs.c.steps[1].artifacts[0].from", /job "a" is not a direct need of "c"/]],
  },
  "an output of a step that has not run": {
    yaml: `jobs: {a: {runs-on: b, steps: [{name: s, run: '\${{ steps.t.outputs.x }}'}, {name: t, run: x}]}}`,
    want: [["spec.jobs.a.steps[0].run", /^1:11: step "t" has not run yet/]],
  },
  "an output of a job that is not declared": {
    yaml: `
jobs:
  a: {runs-on: b, steps: [{name: s, run: x}]}
  b: {runs-on: b, needs: [a], outputs: {o: '\${{ needs.a.outputs.x }}'}, steps: [{name: s, run: x}]}`,
    want: [["spec.jobs.b.outputs.o", /^1:21: there is no output "x" in needs\.a\.outputs/]],
  },
  "a place of an expression that a #! line makes known": {
    yaml: `jobs: {a: {runs-on: b, steps: [{name: s, run: x}, {name: t, run: "#!/bin/sh\\neval \${{ steps.s.outputs.x }}"}]}}`,
    want: [["spec.jobs.a.steps[1].run", /^2:6: eval would run the value as code/]],
  },
  "a place of an expression that the Runtime makes known": {
    yaml: `jobs: {a: {runs-on: py, steps: [{name: s, run: x}, {name: t, run: 'print("\${{ steps.s.outputs.x }}")'}]}}`,
    where: { path: "spec", languageOf: (runtime) => (runtime === "py" ? "python" : undefined) },
    want: [["spec.jobs.a.steps[1].run", /^1:8: an expression cannot stand inside a Python string/]],
  },
  "a path of the caller's own": {
    yaml: "jobs: {a: {runs-on: b, steps: [{name: s}]}}",
    where: { path: "workflow.spec" },
    want: [["workflow.spec.jobs.a.steps[0]", /does nothing/]],
  },
  "everything at once": {
    yaml: `
jobs:
  a: {runs-on: b, needs: [x], steps: [{name: s, run: '\${{ y }}'}, {name: s, run: x}]}
  b: {steps: []}`,
    want: [
      ["spec.jobs.a.needs[0]", /no job "x"/],
      ["spec.jobs.a.steps[1].name", /two steps/],
      ["spec.jobs.a.steps[0].run", /no "y"/],
      ["spec.jobs.b.runs-on", /no Runtime/],
      ["spec.jobs.b.steps", /there is no step/],
    ],
  },
};

test.each(Object.entries(invalid))("refused: %s", (_, { yaml, where, want }) => {
  expect(errorsOf(yaml, where)).toEqual(want.map(([path, message]) => [path, expect.stringMatching(message)]));
});

test("more expressions than a workflow may have are refused", () => {
  const steps = Array.from({ length: 40 }, (_, index) => ({ name: `s${index}`, run: `\${{ 1 }}`.repeat(256) }));
  expect(compileWorkflow({ jobs: { a: { "runs-on": "b", steps } } })).toMatchObject({
    ok: false,
    errors: [{ path: "spec.jobs", message: "there are 10240 expressions, more than 8192" }],
  });
});

test("an Action compiles its steps and outputs", () => {
  const spec: ActionSpec = {
    steps: [
      { name: "a", run: "true" },
      { name: "b", run: `echo \${{ steps.a.outputs.x }}` },
    ],
    outputs: { o: { value: `\${{ steps.b.outputs.y }}` } },
  };
  const result = compileAction(spec);
  if (!result.ok) throw new Error(JSON.stringify(result.errors));
  expect(result.plan.steps.map(({ path }) => path)).toEqual(["spec.steps[0]", "spec.steps[1]"]);
  expect(result.plan.outputs.get("o")?.expressions).toHaveLength(1);
});

test("an Action knows no jobs", () => {
  const spec: ActionSpec = {
    steps: [{ name: "a", run: `echo \${{ needs.x.outputs.y }}` }],
    outputs: { o: { value: `\${{ steps.b.outputs.y }}` } },
  };
  expect(compileAction(spec)).toMatchObject({
    ok: false,
    errors: [
      { path: "spec.steps[0].run", message: '1:10: "needs" is not known in a step' },
      { path: "spec.outputs.o.value", message: '1:11: there is no earlier step "b" in steps' },
    ],
  });
});

test("a thousand steps with expressions compile in well under 50 ms", () => {
  const jobs: Record<string, JobSpec> = {};
  for (let job = 0; job < 10; job++) {
    jobs[`job${job}`] = {
      "runs-on": "bash",
      ...(job === 0 ? {} : { needs: [`job${job - 1}`] }),
      outputs: { last: `\${{ steps.s99.outputs.v }}` },
      steps: Array.from({ length: 100 }, (_, index) => ({
        name: `s${index}`,
        run: index === 0 ? "echo first" : `echo "a \${{ steps.s${index - 1}.outputs.v }}" 'b'\n`,
      })),
    };
  }
  // Processor time of this thread: other work on the machine does not count.
  const compile = () => {
    const before = process.threadCpuUsage();
    const { ok } = compileWorkflow({ jobs }, { path: "spec", languageOf: () => "bash" });
    expect(ok).toBe(true);
    return process.threadCpuUsage(before).user / 1000;
  };
  expect(Math.min(...Array.from({ length: 8 }, compile))).toBeLessThan(50);
});

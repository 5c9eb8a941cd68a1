import { expect, test } from "vitest";
import { parse } from "yaml";
import type { ActionSpec, WorkflowSpec } from "#api/kinds/workflow.ts";
import { compileWorkflow } from "./compile-workflow.ts";
import { evaluateCondition, evaluateTemplate } from "./expressions/evaluate.ts";
import { instancesOf } from "./matrix.ts";
import type { JobPlan, StepPlan, WorkflowPlan } from "./plan.ts";
import { stepsOf } from "./plan.ts";

const lint = `
inputs: {level: {type: choice, options: [low, high], default: low}}
steps: [{name: check, run: 'lint \${{ inputs.level }}'}]
outputs: {count: {value: '\${{ steps.check.outputs.n }}'}}`;

const publish = `
inputs: {tag: {required: true}, dry: {type: boolean}}
outputs: {url: {value: '\${{ jobs.push.outputs.url }}'}}
jobs: {push: {runs-on: bash, outputs: {url: u}, steps: [{name: s, run: x}]}}`;

const release = `
inputs: {version: {required: true}, dry: {type: boolean, default: false}}
env: {CHANNEL: 'c-\${{ inputs.version }}'}
outputs: {url: {value: '\${{ jobs.ship.outputs.url }}'}}
jobs:
  list:
    runs-on: bash
    outputs: {all: '\${{ steps.find.outputs.all }}'}
    steps: [{name: find, run: x}]
  test:
    needs: [list]
    runs-on: '\${{ matrix.on }}'
    timeout: 10m
    retry: {attempts: 3, backoff: 5s}
    strategy:
      max-parallel: 2
      fail-fast: false
      matrix: {on: [bash, py], n: [1, 2], exclude: [{on: py, n: 2}], include: [{on: bash, extra: true}]}
    continue-on-error: \${{ matrix.n == 2 }}
    env: {WHO: '\${{ matrix.on }}-\${{ matrix.n }}'}
    steps:
      - {name: lint, uses: lint, with: {level: high}}
      - {name: go, run: 'go \${{ steps.lint.outputs.count }} \${{ env.WHO }} \${{ env.OWN }}', shell: bash, env: {OWN: '\${{ env.CHANNEL }}'}, timeout: 90s}
      - {name: clean, if: always(), run: rm, continue-on-error: true}
      - {name: approve, if: "inputs.dry == false", suspend: {duration: 1h, message: 'Ship \${{ inputs.version }}?', outputs: {who: {default: nobody}}}}
      - {name: note, run: 'echo \${{ steps.approve.outputs.who }}'}
  each:
    needs: [list]
    runs-on: bash
    strategy: {matrix: {item: '\${{ fromJSON(needs.list.outputs.all) }}'}}
    steps: [{name: s, run: 'echo \${{ matrix.item.name }} \${{ strategy.job-index }}'}]
  ship:
    needs: [test, each]
    if: success() || needs.each.result == 'failure'
    uses: publish
    with: {tag: 'v\${{ inputs.version }}', dry: true}
`;

const templates = {
  action: (name: string): ActionSpec | undefined => (name === "lint" ? parse(lint) : undefined),
  workflow: (name: string): WorkflowSpec | undefined => (name === "publish" ? parse(publish) : undefined),
};

function planOf(yaml: string): WorkflowPlan {
  const result = compileWorkflow(parse(yaml), { path: "spec", templates });
  if (!result.ok) throw new Error(JSON.stringify(result.errors, null, 1));
  return result.plan;
}

function jobOf(plan: WorkflowPlan, id: string): JobPlan {
  const job = plan.jobs.get(id);
  if (job === undefined) throw new Error(`no job ${id}`);
  return job;
}

function stepOf(job: JobPlan, name: string): StepPlan {
  const step = stepsOf(job).find((one) => one.name === name);
  if (step === undefined) throw new Error(`no step ${name}`);
  return step;
}

test("a workflow with every construct becomes a plan", () => {
  const plan = planOf(release);
  expect(plan.order).toEqual(["list", "test", "each", "ship"]);
  expect([...plan.inputs]).toEqual([
    ["version", { type: "string", required: true }],
    ["dry", { type: "boolean", required: false, default: false }],
  ]);
  const job = jobOf(plan, "test");
  expect(job).toMatchObject({
    timeoutMs: 600_000,
    retry: { attempts: 3, backoffMs: 5000 },
    ancestors: ["list"],
    dependents: ["ship"],
    strategy: { maxParallel: 2, failFast: false },
  });
  expect(stepOf(job, "go")).toMatchObject({ timeoutMs: 90_000, work: { kind: "run", shell: "bash" } });
  expect(stepOf(job, "clean")).toMatchObject({ continueOnError: true, if: { asksStatus: true } });
  expect(stepOf(job, "approve").work).toMatchObject({
    kind: "gate",
    durationMs: 3_600_000,
    outputs: new Map([["who", { default: "nobody" }]]),
  });
  const { work } = stepOf(job, "lint");
  if (work.kind !== "action") throw new Error("no action");
  expect(work.plan.steps.map(({ name }) => name)).toEqual(["check"]);
  expect(work.with.get("level")?.text).toBe("high");
  const ship = jobOf(plan, "ship");
  expect(ship.ancestors).toEqual(["test", "each", "list"]);
  expect(ship.work).toMatchObject({ kind: "workflow", workflow: "publish" });
});

test("a matrix is expanded when the workflow is compiled, or from the outputs of a job", () => {
  const plan = planOf(release);
  const { strategy } = jobOf(plan, "test");
  expect(strategy && instancesOf("test", strategy.matrix, {})).toEqual({
    ok: true,
    instances: [
      { key: "test.0", index: 0, values: { on: "bash", n: 1, extra: true } },
      { key: "test.1", index: 1, values: { on: "bash", n: 2, extra: true } },
      { key: "test.2", index: 2, values: { on: "py", n: 1 } },
    ],
  });
  const each = jobOf(plan, "each").strategy;
  const values = { needs: { list: { outputs: { all: '[{"name":"a"},{"name":"b"}]' } } } };
  expect(each && instancesOf("each", each.matrix, values)).toMatchObject({
    instances: [
      { key: "each.0", values: { item: { name: "a" } } },
      { key: "each.1", values: { item: { name: "b" } } },
    ],
  });
});

test("conditions and texts are evaluated with the values of their place", () => {
  const plan = planOf(release);
  const job = jobOf(plan, "test");
  const go = stepOf(job, "go");
  if (go.work.kind !== "run") throw new Error("no script");
  const values = {
    steps: { lint: { outputs: { count: "3" } } },
    env: { WHO: "w", OWN: "o" },
    inputs: { version: "1", dry: false },
  };
  expect(evaluateTemplate(go.work.run, values)).toEqual({ ok: true, value: "go 3 w o" });
  const approve = stepOf(job, "approve").if;
  const well = { success: true, failure: false, cancelled: false };
  const badly = { success: false, failure: true, cancelled: false };
  expect(approve && evaluateCondition(approve, values, well)).toEqual({ ok: true, holds: true });
  expect(approve && evaluateCondition(approve, values, badly)).toEqual({ ok: true, holds: false });
  const clean = stepOf(job, "clean").if;
  expect(clean && evaluateCondition(clean, values, badly)).toEqual({ ok: true, holds: true });
  const ship = jobOf(plan, "ship").if;
  expect(ship && evaluateCondition(ship, { needs: { each: { result: "failure" } } }, badly)).toEqual({
    ok: true,
    holds: true,
  });
});

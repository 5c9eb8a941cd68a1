import { afterEach, beforeEach, expect, test } from "vitest";
import type { WorkflowSpec } from "#api/kinds/workflow.ts";
import { runs, workflowRuns, workflows } from "#api/resources.ts";
import { ActionWorld, job, namespace } from "#test/support/action-world.ts";

let world: ActionWorld;
beforeEach(async () => {
  world = await new ActionWorld().start();
});
afterEach(() => world.stop());

/** Runs a Workflow with inputs. */
async function run(spec: WorkflowSpec, inputs: Record<string, unknown>): Promise<void> {
  await world.plane.create(workflows, { metadata: { name: "wf", namespace }, spec });
  await world.plane.create(workflowRuns, {
    metadata: { name: "ci", namespace },
    spec: { workflowRef: { name: "wf" }, inputs },
  });
  await world.plane.settle();
}

const retry = (inputs: Record<string, unknown>, more: object = {}) =>
  world.ask("ci", "Retry", { retry: { inputs, ...more } });
const jobs = async () => (await world.status("ci")).jobs ?? {};
const phases = async () => Object.entries(await jobs()).map(([id, { phase }]) => `${id} ${phase}`);
const source = async (id: string) => (await world.child("ci", id, "one"))?.spec.source?.inline;

const says = (text: string, more = {}) => ({ ...job([], more), steps: [{ name: "one", run: text }] });
const typed: WorkflowSpec = {
  inputs: {
    region: { type: "choice", options: ["north", "south"], default: "north" },
    count: { type: "number", default: 1 },
    note: {},
  },
  jobs: {
    build: says("true"),
    deploy: says("echo ${{ inputs.region }} ${{ inputs.count }}", { needs: ["build"] }),
    report: says("echo ${{ inputs.note }}", { needs: ["deploy"] }),
  },
};

/** `build` succeeded, `deploy` failed. */
async function failed(): Promise<void> {
  await run(typed, { count: 2, note: "first" });
  await world.finish("ci", "build", "one");
  await world.finish("ci", "deploy", "one", "Failed");
}

test("the new attempt has the inputs that the Retry gives, typed as the Workflow declares them, and the others as before", async () => {
  await failed();
  expect(await retry({ region: "south", count: "7" })).toMatchObject({
    phase: "Succeeded",
    message: "WorkflowRun ci goes on: 2 jobs run again",
  });
  const { inputs, attempt } = await world.status("ci");
  expect({ inputs, attempt }).toEqual({ inputs: { region: "south", count: 7, note: "first" }, attempt: 2 });
  const env = (await world.child("ci", "deploy", "one"))?.spec.env?.map(({ value }) => value);
  expect(env).toEqual(expect.arrayContaining(["south", "7"]));
  await world.finish("ci", "deploy", "one");
  await world.finish("ci", "report", "one", "Failed");
  // They stay until another Retry gives others.
  await retry({ note: "second" });
  expect((await world.status("ci")).inputs).toEqual({ region: "south", count: 7, note: "second" });
  expect((await world.target("ci")).spec.inputs).toEqual({ count: 2, note: "first" });
});

test.each([
  [
    "an input that the Workflow does not declare",
    { regoin: "south" },
    'spec.retry.inputs.regoin: Workflow "wf" has no input "regoin". Its inputs: region, count and note.',
  ],
  ["a value of another type", { count: "many" }, 'spec.retry.inputs.count: "many" is no number. Write a number'],
  ["a value that is no option", { region: "east" }, '"east" is none of the options. Choose one of north and south.'],
  ["a list", { note: ["a"] }, "spec.retry.inputs.note: "],
])("%s refuses the Retry with words that tell what would work, and nothing changes", async (_, inputs, message) => {
  await failed();
  const before = JSON.stringify(await world.target("ci"));
  const answer = await retry(inputs);
  expect(answer).toMatchObject({ phase: "Failed", reason: "InvalidInputs" });
  expect(answer.message).toContain(message);
  expect(JSON.stringify(await world.target("ci"))).toBe(before);
});

test("a WorkflowRun with jobs of its own has no inputs to give", async () => {
  await world.run("ci", { a: job(["one"]) });
  await world.finish("ci", "a", "one", "Failed");
  expect(await retry({ x: "1" })).toMatchObject({
    reason: "InvalidInputs",
    message: expect.stringContaining("has jobs of its own, which have no inputs"),
  });
});

test("what used a value that is another one now runs again with all that waits for it, also when it had succeeded", async () => {
  const spec: WorkflowSpec = {
    inputs: { x: {}, y: {} },
    jobs: {
      uses: says("echo ${{ inputs.x }}"),
      after: says("true", { needs: ["uses"] }),
      other: says("echo ${{ inputs.y }}"),
      bad: says("true"),
    },
  };
  await run(spec, { x: "1", y: "1" });
  for (const id of ["uses", "after", "other"]) await world.finish("ci", id, "one");
  await world.finish("ci", "bad", "one", "Failed");
  const kept = JSON.stringify((await jobs()).other);
  await retry({ x: "2", y: "1" });
  expect(await phases()).toEqual(["uses Running", "after Waiting", "other Succeeded", "bad Running"]);
  expect(JSON.stringify((await jobs()).other)).toBe(kept);
});

test("a value that is none yet, and one that changes nothing, leave the rest of the Retry as it is", async () => {
  await failed();
  expect(await retry({ count: "2", region: "north" })).toMatchObject({ phase: "Succeeded" });
  expect((await world.status("ci")).inputs).toBeUndefined();
  expect(await phases()).toEqual(["build Succeeded", "deploy Running", "report Waiting"]);
});

test("inputs do not open a run that has succeeded, and a selector does not keep what used the old value", async () => {
  await failed();
  const answer = await retry({ note: "second" }, { nodeFieldSelector: "job=deploy" });
  expect(answer).toMatchObject({ phase: "Succeeded" });
  await world.finish("ci", "deploy", "one");
  await world.finish("ci", "report", "one");
  expect(await world.status("ci")).toMatchObject({ phase: "Succeeded" });
  expect(await retry({ note: "third" })).toMatchObject({ phase: "Failed", reason: "NothingToRetry" });
});

/** Everything that asks for an input: an `if`, a matrix, a job that is a Workflow, an output. */
test("conditions, child WorkflowRuns and outputs see the new value", async () => {
  await world.plane.create(workflows, {
    metadata: { name: "inner", namespace },
    spec: { inputs: { who: {} }, jobs: { a: says("echo ${{ inputs.who }}") } },
  });
  const spec: WorkflowSpec = {
    inputs: { who: {}, deploy: { type: "boolean" } },
    outputs: { greeted: { value: "${{ inputs.who }}" } },
    jobs: {
      maybe: says("true", { if: "inputs.deploy" }),
      call: { uses: "inner", with: { who: "${{ inputs.who }}" } },
    },
  };
  await run(spec, { who: "anna", deploy: false });
  const inner = async () => (await jobs()).call?.workflowRunName ?? "";
  const first = await inner();
  await world.finish(first, "a", "one", "Failed");
  await world.plane.settle();
  expect(await phases()).toEqual(["maybe Skipped", "call Failed"]);
  await retry({ who: "berta", deploy: "true" });
  await world.plane.settle();
  const second = await inner();
  expect(second).not.toBe(first);
  expect((await world.target(second)).spec.inputs).toEqual({ who: "berta" });
  expect(await phases()).toEqual(["maybe Running", "call Running"]);
  await world.finish("ci", "maybe", "one");
  await world.finish(second, "a", "one");
  expect(await world.status("ci")).toMatchObject({ phase: "Succeeded", outputs: { greeted: "berta" } });
});

test("outputs of the run that have no value with the old one are computed again, though no job runs", async () => {
  const spec: WorkflowSpec = {
    inputs: { list: {} },
    outputs: { first: { value: "${{ fromJSON(inputs.list)[0] }}" } },
    jobs: { a: says("true") },
  };
  await run(spec, { list: "no JSON" });
  await world.finish("ci", "a", "one");
  expect(await world.status("ci")).toMatchObject({ phase: "Failed", reason: "ExpressionFailed" });
  expect(await world.ask("ci", "Retry")).toMatchObject({ reason: "NothingToRetry" });
  const kept = JSON.stringify(await jobs());
  expect(await retry({ list: '["x"]' })).toMatchObject({ message: "WorkflowRun ci goes on: no jobs run again" });
  expect(await world.status("ci")).toMatchObject({ phase: "Succeeded", outputs: { first: "x" } });
  expect(JSON.stringify(await jobs())).toBe(kept);
});

const fan: WorkflowSpec = {
  inputs: { list: { default: '["a","b","c"]' } },
  jobs: {
    first: says("true"),
    m: says("echo ${{ matrix.n }}", {
      needs: ["first"],
      outputs: { last: "${{ steps.one.outputs.n }}" },
      strategy: { matrix: { n: "${{ fromJSON(inputs.list) }}" }, "fail-fast": false },
    }),
    z: says("echo ${{ needs.m.outputs.last }}", { needs: ["m"] }),
  },
};
const done = (n: string) => ["Succeeded", { outputs: { n } }] as const;

/** The instances of a and c succeeded, that of b failed. */
async function fanned(): Promise<void> {
  await run(fan, {});
  await world.finish("ci", "first", "one");
  await world.finish("ci", "m.0", "one", ...done("a"));
  await world.finish("ci", "m.1", "one", "Failed");
  await world.finish("ci", "m.2", "one", ...done("c"));
}
const matrix = async () =>
  Object.entries(await jobs())
    .filter(([id]) => id.startsWith("m."))
    .map(([id, { matrix: values, phase, attempt }]) => `${id} ${values?.n} ${phase} ${attempt}`);

test("an instance is told by its values: those that stay are kept byte for byte, new ones run, others leave with their history", async () => {
  await fanned();
  const before = await jobs();
  const runsBefore = (await world.plane.client.of(runs).list({ namespace })).items.length;
  expect(await retry({ list: '["c","d"]' })).toMatchObject({
    message: "WorkflowRun ci goes on: 2 jobs run again, and m.0 and m.1 left the matrix",
  });
  expect(await matrix()).toEqual(["m.0 c Succeeded 1", "m.1 d Running 2"]);
  const after = await jobs();
  expect(JSON.stringify(after["m.0"])).toBe(JSON.stringify(before["m.2"]));
  expect(JSON.stringify(after.first)).toBe(JSON.stringify(before.first));
  expect(after.m).toMatchObject({
    instances: 2,
    former: [
      { id: "m.0", matrix: { n: "a" }, attempts: [{ number: 1, phase: "Succeeded" }] },
      { id: "m.1", matrix: { n: "b" }, attempts: [{ number: 1, phase: "Failed", reason: "StepFailed" }] },
    ],
  });
  // What they have done stays to be looked at.
  expect((await world.plane.client.of(runs).list({ namespace })).items).toHaveLength(runsBefore + 1);
  await world.finish("ci", "m.1", "one", ...done("d"));
  expect((await jobs()).m).toMatchObject({ phase: "Succeeded", outputs: { last: "d" } });
  expect(await source("z")).toBeDefined();
  await world.finish("ci", "z", "one");
  expect(await world.status("ci")).toMatchObject({ phase: "Succeeded", progress: "4/4" });
});

test("values that come back find their history, and no id has an attempt of one number twice", async () => {
  await fanned();
  await retry({ list: '["c","d"]' });
  await world.finish("ci", "m.1", "one", "Failed");
  await retry({ list: '["a","b","c","d"]' });
  expect(await matrix()).toEqual(["m.0 a Running 3", "m.1 b Running 3", "m.2 c Succeeded 1", "m.3 d Running 3"]);
  const after = await jobs();
  expect(after.m).not.toHaveProperty("former");
  expect(after["m.1"]?.attempts).toMatchObject([{ number: 1, phase: "Failed" }]);
  expect(after["m.3"]?.attempts).toMatchObject([{ number: 2, phase: "Failed" }]);
});

test("when only instances leave, nothing of the matrix runs, and what waits for it does", async () => {
  await fanned();
  expect(await retry({ list: '["a","c"]' })).toMatchObject({
    message: "WorkflowRun ci goes on: 1 job runs again, and m.1 left the matrix",
  });
  expect(await phases()).toEqual(["first Succeeded", "m Succeeded", "z Running", "m.0 Succeeded", "m.1 Succeeded"]);
  await world.finish("ci", "z", "one");
  expect(await world.status("ci")).toMatchObject({ phase: "Succeeded" });
});

test("inputs under which a matrix has no values, or too many, refuse the Retry", async () => {
  await fanned();
  const none = await retry({ list: "[]" });
  expect(none).toMatchObject({ phase: "Failed", reason: "InvalidInputs" });
  expect(none.message).toContain('strategy.matrix.n of job "m": "n" has no values; Give it at least one value.');
  const many = JSON.stringify(Array.from({ length: 257 }, (_, n) => n));
  expect((await retry({ list: many })).message).toContain("there are 257 combinations, more than 256");
  expect(await world.status("ci")).toMatchObject({ phase: "Failed", attempt: 1 });
});

test("a matrix whose job uses the value elsewhere, too, runs again wholly, and its instances keep their history", async () => {
  const spec: WorkflowSpec = {
    inputs: { list: {}, flag: {} },
    jobs: {
      m: says("echo ${{ matrix.n }} ${{ inputs.flag }}", {
        strategy: { matrix: { n: "${{ fromJSON(inputs.list) }}" } },
      }),
    },
  };
  await run(spec, { list: "[1,2]", flag: "x" });
  await world.finish("ci", "m.0", "one");
  await world.finish("ci", "m.1", "one", "Failed");
  await retry({ flag: "y" });
  expect(await matrix()).toEqual(["m.0 1 Running 2", "m.1 2 Running 2"]);
  expect((await jobs())["m.0"]?.attempts).toMatchObject([{ number: 1, phase: "Succeeded" }]);
  expect((await jobs())["m.1"]?.attempts).toMatchObject([{ number: 1, phase: "Failed" }]);
  expect((await jobs()).m).not.toHaveProperty("former");
});

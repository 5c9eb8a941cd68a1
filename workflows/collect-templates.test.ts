import { expect, test } from "vitest";
import { parse } from "yaml";
import type { Action, Workflow } from "#api/kinds/workflow.ts";
import { collectTemplates, maxTemplates, templatesOf, usedBy } from "./collect-templates.ts";
import { compileWorkflow } from "./compile-workflow.ts";

const step = "{name: s, run: x}";
const workflows: Record<string, string> = {
  leaf: `{jobs: {a: {runs-on: b, steps: [${step}, {name: t, uses: lint}]}}}`,
  middle: "{jobs: {a: {uses: leaf}, b: {uses: leaf}}}",
  ring: "{jobs: {a: {uses: gnir}}}",
  gnir: "{jobs: {a: {uses: ring}}}",
  fork: "{jobs: {a: {uses: middle}, b: {uses: back}}}",
  back: "{jobs: {a: {uses: fork}}}",
  before: "{jobs: {a: {uses: ring}}}",
  deep1: "{jobs: {a: {uses: deep2}}}",
  deep2: "{jobs: {a: {uses: deep3}}}",
  deep3: "{jobs: {a: {uses: leaf}}}",
  broken: `{jobs: {a: {runs-on: b, steps: [{name: s, run: '\${{ nope.x }}'}]}}}`,
  lost: "{jobs: {a: {uses: nowhere}}}",
  big: `{jobs: {a: {runs-on: b, steps: [{name: s, run: ${"x".repeat(600_000)}}]}}}`,
  big2: `{jobs: {a: {runs-on: b, steps: [{name: s, run: ${"y".repeat(600_000)}}]}}}`,
};

const asked: string[] = [];
const finder = {
  async workflow(name: string): Promise<Workflow | undefined> {
    asked.push(name);
    const yaml = workflows[name] ?? (name.startsWith("many") ? workflows.leaf : undefined);
    return yaml === undefined ? undefined : { metadata: { name }, spec: parse(yaml) };
  },
  async action(name: string): Promise<Action | undefined> {
    asked.push(name);
    return name === "lint" ? { metadata: { name }, spec: { steps: [{ name: "s", run: "x" }] } } : undefined;
  },
};

const top = (yaml: string) => parse(yaml) as { jobs: Workflow["spec"]["jobs"] };

/** Collects and compiles, as when a snapshot is taken: the paths and messages of all errors. */
async function errorsOf(yaml: string): Promise<[string, string][]> {
  const spec = top(yaml);
  const found = await collectTemplates(spec.jobs, finder, "spec.jobs");
  if (!found.ok) return found.errors.map(({ path, message }) => [path, message]);
  const compiled = compileWorkflow(spec, { path: "spec", templates: templatesOf(found) });
  return compiled.ok ? [] : compiled.errors.map(({ path, message }) => [path, message]);
}

test("everything that is used is found once, whoever uses it", async () => {
  asked.length = 0;
  const { jobs } = top("{jobs: {a: {uses: middle}, b: {uses: leaf}, c: {runs-on: b, steps: [{name: s, uses: lint}]}}}");
  expect(usedBy(jobs)).toEqual({ workflows: ["middle", "leaf"], actions: ["lint"] });
  const found = await collectTemplates(jobs, finder, "spec.jobs");
  expect(found).toMatchObject({ ok: true });
  expect(asked.toSorted()).toEqual(["leaf", "lint", "middle"]);
});

const cases: Record<string, { yaml: string; want: [path: string, message: RegExp][] }> = {
  "Workflows below Workflows": { yaml: "{jobs: {a: {uses: middle}}}", want: [] },
  "four levels": { yaml: "{jobs: {a: {uses: deep2}}}", want: [] },
  "five levels are one too many": {
    yaml: "{jobs: {a: {uses: deep1}}}",
    want: [["spec.jobs.a.uses", /more than 4 levels deep: deep1 -> deep2 -> deep3 -> leaf/]],
  },
  "a circle": { yaml: "{jobs: {a: {uses: ring}}}", want: [["spec.jobs.a.uses", /in a circle: ring -> gnir -> ring/]] },
  "a circle beside a longer way": {
    yaml: "{jobs: {a: {uses: fork}}}",
    want: [["spec.jobs.a.uses", /in a circle: fork -> back -> fork$/]],
  },
  "a circle that begins further down": {
    yaml: "{jobs: {a: {uses: before}}}",
    want: [["spec.jobs.a.uses", /in a circle: ring -> gnir -> ring$/]],
  },
  "a Workflow that is not there": {
    yaml: "{jobs: {a: {uses: nowhere}}}",
    want: [["spec.jobs.a.uses", /^there is no Workflow "nowhere"$/]],
  },
  "a Workflow that misses another": {
    yaml: "{jobs: {a: {uses: lost}}}",
    want: [["spec.jobs.a.uses", /^Workflow "lost" is not valid: spec\.jobs\.a\.uses: there is no Workflow "nowhere"$/]],
  },
  "an Action that is not there": {
    yaml: "{jobs: {a: {runs-on: b, steps: [{name: s, uses: nope}]}}}",
    want: [["spec.jobs.a.steps[0].uses", /^there is no Action "nope"$/]],
  },
  "a Workflow that does not compile": {
    yaml: "{jobs: {a: {uses: broken}}}",
    want: [
      [
        "spec.jobs.a.uses",
        /^Workflow "broken" is not valid: spec\.jobs\.a\.steps\[0\]\.run: 1:5: there is no "nope" here$/,
      ],
    ],
  },
  "more than fit into one object": {
    yaml: "{jobs: {a: {uses: big}, b: {uses: big2}}}",
    want: [["spec.jobs", /have 1200\d{3} bytes together, more than 1048576/]],
  },
  "more than anybody keeps track of": {
    yaml: `{jobs: {${Array.from({ length: maxTemplates + 1 }, (_, n) => `j${n}: {uses: many${n}}`).join()}}}`,
    want: [["spec.jobs", /^more than 100 Workflows and Actions are used/]],
  },
};

test.each(Object.entries(cases))("%s", async (_, { yaml, want }) => {
  expect(await errorsOf(yaml)).toEqual(want.map(([path, message]) => [path, expect.stringMatching(message)]));
});

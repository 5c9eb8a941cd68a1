import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";
import type { ActionSpec, WorkflowSpec } from "#api/kinds/workflow.ts";
import { validateCreate } from "#api/validation/index.ts";
import { compileWorkflow } from "./compile-workflow.ts";
import { compileTemplate } from "./expressions/compile.ts";
import { actionScopes } from "./expressions/scopes.ts";
import { inputValues } from "./inputs.ts";
import { compileScript } from "./script/compile-script.ts";
import type { Language } from "./script/language.ts";

const page = readFileSync(new URL("../docs/expressions.md", import.meta.url), "utf8");

/** Pieces of the page that match, one by one. */
const pieces = (form: RegExp) => [...page.matchAll(form)].map(([, code = ""]) => code);

const scripts: [language: Language, code: string][] = [
  ...pieces(/```bash\n([\s\S]*?)```/g).map((code): [Language, string] => ["bash", code]),
  ...pieces(/`(print\(.*?\))`/g).map((code): [Language, string] => ["python", code]),
  ...pieces(/`` (console\.log\(.*?\)) ``/g).map((code): [Language, string] => ["node", code]),
];

test("every script of the page about expressions is accepted", () => {
  expect(scripts.map(([language]) => language)).toEqual(["bash", "bash", "bash", "python", "node"]);
  for (const [language, code] of scripts) {
    const { template, errors } = compileTemplate(code, actionScopes([], [{ name: "a" }], []).step(1, []).rest, "run");
    expect(errors).toEqual([]);
    expect(template.expressions.length).toBeGreaterThan(0);
    expect(compileScript(template, language, "run")).toMatchObject({ ok: true });
  }
});

const workflowsPage = readFileSync(new URL("../docs/workflows.md", import.meta.url), "utf8");

test("every example of the page about workflows is accepted, with what the others of the page define", () => {
  const blocks = [...workflowsPage.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, code = ""]) => parse(code));
  const named = <Spec>(kind: string) =>
    new Map<string, Spec>(blocks.filter((one) => one.kind === kind).map(({ metadata, spec }) => [metadata.name, spec]));
  const workflows = named<WorkflowSpec>("Workflow");
  const actions = named<ActionSpec>("Action");
  const templates = {
    workflow: (name: string) => workflows.get(name),
    action: (name: string) => actions.get(name),
  };
  const plans = [...workflows.values(), ...blocks.filter((one) => one.jobs !== undefined)].map((spec) =>
    compileWorkflow(spec, { path: "spec", templates, languageOf: () => "bash" }),
  );
  expect(plans.filter(({ ok }) => !ok)).toEqual([]);
  expect(plans.length).toBeGreaterThan(7);
  for (const { kind, metadata, spec } of blocks.filter((one) => one.kind !== undefined)) {
    expect(validateCreate(kind, { metadata: { name: "x", ...metadata }, spec } as never)).toEqual([]);
  }
  const [release] = plans;
  const run = blocks.find((one) => one.kind === "WorkflowRun");
  expect(release?.ok && inputValues(release.plan.inputs, run.spec.inputs, "Workflow", "inputs")).toMatchObject({
    ok: true,
  });
});

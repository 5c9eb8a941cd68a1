import type { StepSpec } from "#api/kinds/job.ts";
import { invalid, required } from "#api/validation/rule.ts";
import { compileTemplate, type Template } from "./expressions/compile.ts";
import type { Scope, ScopeAt } from "./expressions/contexts.ts";
import { type FieldError, under } from "./field-error.ts";
import { checkIdentifiers } from "./identifiers.ts";
import type { StepPlan } from "./plan.ts";
import { compileScript } from "./script/compile-script.ts";
import { type Language, languageOf } from "./script/language.ts";

/** Most steps of a job or an Action; the schema has the same. */
export const maxSteps = 128;

/** What the steps of a job or an Action stand in. */
export interface Surroundings {
  /** Path of the job or of the spec of the Action. */
  readonly path: string;
  /** Language of the Runtime's scripts, as far as it is known. */
  readonly runtime: Language | undefined;
  readonly scopeAt: ScopeAt;
}

/** Compiles the steps without their artifacts. */
export function compileSteps(
  specs: readonly StepSpec[],
  around: Surroundings,
): { steps: StepPlan[]; errors: FieldError[] } {
  const path = under(around.path, "steps");
  if (specs.length === 0 || specs.length > maxSteps) {
    const message = specs.length === 0 ? "there is no step" : `there are ${specs.length} steps`;
    return { steps: [], errors: [invalid(path, message, `Write 1 to ${maxSteps} steps.`)] };
  }
  const errors = checkIdentifiers(
    "step",
    specs.map((step, index) => [step.name, under(path, index, "name")]),
  );
  const steps = specs.map((spec, index): StepPlan => {
    const at = under(path, index);
    const { run, errors: faults } = compileRun(spec, at, index, around);
    errors.push(...faults);
    return { name: spec.name, index, path: at, run, artifacts: [] };
  });
  return { steps, errors };
}

function compileRun(
  { name, run: text }: StepSpec,
  step: string,
  index: number,
  { runtime, scopeAt }: Surroundings,
): { run: Template; errors: readonly FieldError[] } {
  const path = under(step, "run");
  if (text === undefined) {
    const advice = "Write run: with a script; no other kind of step is supported yet.";
    return { run: { text: "", expressions: [] }, errors: [required(path, `step "${name}" has no script`, advice)] };
  }
  // Most scripts have no expression: then nobody needs to know what they may refer to.
  if (!text.includes("${{")) return { run: { text, expressions: [] }, errors: [] };
  const { template, errors } = compileTemplate(text, scopeAt(index), path);
  const language = languageOf(text, runtime);
  if (errors.length > 0 || language === undefined) return { run: template, errors };
  const script = compileScript(template, language, path);
  return { run: template, errors: script.ok ? [] : script.errors };
}

/** Compiles the outputs of a job, given as name, text and path. */
export function compileOutputs(
  outputs: Iterable<readonly [name: string, text: string, path: string]>,
  scope: Scope,
): { outputs: Map<string, Template>; errors: FieldError[] } {
  const compiled = new Map<string, Template>();
  const errors: FieldError[] = [];
  for (const [name, text, path] of outputs) {
    const { template, errors: faults } = compileTemplate(text, scope, path);
    errors.push(...faults);
    compiled.set(name, template);
  }
  return { outputs: compiled, errors };
}

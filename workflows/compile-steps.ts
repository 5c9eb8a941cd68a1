import type { StepSpec } from "#api/kinds/job.ts";
import { invalid } from "#api/validation/rule.ts";
import type { Work } from "#api/work.ts";
import { compileCommon } from "./compile-common.ts";
import { compileEnv } from "./compile-texts.ts";
import { compileWork } from "./compile-work.ts";
import type { KnownStep } from "./expressions/contexts.ts";
import type { JobScopes } from "./expressions/scopes.ts";
import { type FieldError, under } from "./field-error.ts";
import { checkIdentifiers } from "./identifiers.ts";
import type { StepPlan } from "./plan.ts";
import type { Language } from "./script/language.ts";
import type { Uses } from "./uses.ts";

/** Most steps of a job or an Action; the schema has the same. */
export const maxSteps = 128;

/** What the steps of a job or an Action stand in. */
export interface Surroundings {
  /** Path of the job or of the spec of the Action. */
  readonly path: string;
  /** Language of the Runtime's scripts, as far as it is known. */
  readonly runtime: Language | undefined;
  readonly scopes: JobScopes["step"];
  readonly uses: Uses;
}

/** Compiles the steps without their artifacts. */
export function* compileSteps(
  specs: readonly StepSpec[],
  around: Surroundings,
): Work<{ steps: StepPlan[]; errors: FieldError[] }> {
  const path = under(around.path, "steps");
  if (specs.length === 0 || specs.length > maxSteps) {
    const message = specs.length === 0 ? "there is no step" : `there are ${specs.length} steps`;
    return { steps: [], errors: [invalid(path, message, `Write 1 to ${maxSteps} steps.`)] };
  }
  const errors = checkIdentifiers(
    "step",
    specs.map((step, index) => [step.name, under(path, index, "name")]),
  );
  const steps: StepPlan[] = [];
  for (const [index, spec] of specs.entries()) {
    const at = under(path, index);
    const scopes = around.scopes(index, Object.keys(spec.env ?? {}));
    const { common, errors: faults } = compileCommon(spec, scopes, at);
    errors.push(...faults);
    const { env, errors: envFaults } = compileEnv(spec.env, () => scopes.env, under(at, "env"));
    errors.push(...envFaults);
    const { work, errors: workFaults } = compileWork(spec, scopes, at, around);
    errors.push(...workFaults);
    steps.push({ name: spec.name, index, path: at, ...common, env, artifacts: [], work });
    yield;
  }
  return { steps, errors };
}

/** The steps as later expressions see them. */
export function knownSteps(specs: readonly StepSpec[], uses: Uses): KnownStep[] {
  return specs.map(({ name, uses: action, suspend }) => {
    if (suspend !== undefined) return { name, outputs: Object.keys(suspend.outputs ?? {}) };
    const used = action === undefined ? undefined : uses.action(action);
    return { name, outputs: used?.kind === "plan" ? [...used.plan.outputs.keys()] : undefined };
  });
}

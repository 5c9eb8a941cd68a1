import type { StepSpec } from "#api/kinds/job.ts";
import type { ActionSpec } from "#api/kinds/workflow.ts";
import { forbidden } from "#api/validation/rule.ts";
import { finish, type Work } from "#api/work.ts";
import { compileSteps, knownSteps } from "./compile-steps.ts";
import { compileEnv, compileOutputs } from "./compile-texts.ts";
import { actionScopes } from "./expressions/scopes.ts";
import { type FieldError, under } from "./field-error.ts";
import { compileInputs } from "./inputs.ts";
import type { ActionPlan, Compiled, Where } from "./plan.ts";
import { unchecked } from "./uses.ts";

type Spec = Pick<ActionSpec, "steps" | "outputs" | "inputs" | "env">;

/** Compiles an Action: its inputs, its steps and the expressions in them and in its outputs. */
export function compileAction(spec: Spec, where?: Pick<Where, "path">): Compiled<ActionPlan> {
  return finish(compilingAction(spec, where));
}

/** The same, step by step. */
export function* compilingAction(
  spec: Spec,
  { path }: Pick<Where, "path"> = { path: "spec" },
): Work<Compiled<ActionPlan>> {
  const { inputs, errors } = compileInputs(spec.inputs, under(path, "inputs"));
  const scopes = actionScopes([...inputs.keys()], knownSteps(spec.steps, unchecked), Object.keys(spec.env ?? {}));
  const { env, errors: envErrors } = compileEnv(spec.env, () => scopes.env, under(path, "env"));
  const around = { path, runtime: undefined, scopes: scopes.step, uses: unchecked };
  const foreign = spec.steps.flatMap((step, index) => foreignErrors(step, under(path, "steps", index)));
  const { steps, errors: stepErrors } =
    foreign.length > 0 ? { steps: [], errors: foreign } : yield* compileSteps(spec.steps, around);
  const { texts: outputs, errors: outputErrors } = compileOutputs(spec.outputs, scopes.outputs, under(path, "outputs"));
  const all: FieldError[] = [...errors, ...envErrors, ...stepErrors, ...outputErrors];
  return all.length > 0 ? { ok: false, errors: all } : { ok: true, plan: { steps, env, inputs, outputs } };
}

/** An Action has scripts only: it cannot use others, wait, or know the jobs around it. */
function foreignErrors(step: StepSpec, path: string): FieldError[] {
  const errors = (["uses", "suspend"] as const)
    .filter((field) => step[field] !== undefined)
    .map((field) => forbidden(under(path, field), "an Action has only steps with run", insteadOf[field]));
  if (step.artifacts === undefined) return errors;
  const message = "a step of an Action takes no artifacts";
  return [
    ...errors,
    forbidden(under(path, "artifacts"), message, "Name them in the step of the job that uses the Action."),
  ];
}

const insteadOf = {
  uses: "Write the steps of the other Action here.",
  suspend: "Put the gate into the job, before or behind the step that uses the Action.",
} as const;

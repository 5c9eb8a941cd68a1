import type { ActionSpec } from "#api/kinds/workflow.ts";
import { compileSteps, knownSteps } from "./compile-steps.ts";
import { compileOutputs, compileTexts } from "./compile-texts.ts";
import { actionScopes } from "./expressions/scopes.ts";
import { type FieldError, under } from "./field-error.ts";
import { compileInputs } from "./inputs.ts";
import type { ActionPlan, Compiled, Where } from "./plan.ts";
import { unchecked } from "./uses.ts";

/** Compiles an Action: its inputs, its steps and the expressions in them and in its outputs. */
export function compileAction(
  spec: Pick<ActionSpec, "steps" | "outputs" | "inputs" | "env">,
  { path }: Pick<Where, "path"> = { path: "spec" },
): Compiled<ActionPlan> {
  const { inputs, errors } = compileInputs(spec.inputs, under(path, "inputs"));
  const scopes = actionScopes([...inputs.keys()], knownSteps(spec.steps, unchecked), Object.keys(spec.env ?? {}));
  const { texts: env, errors: envErrors } = compileTexts(spec.env, scopes.env, under(path, "env"));
  const around = { path, runtime: undefined, scopes: scopes.step, uses: unchecked };
  const { steps, errors: stepErrors } = compileSteps(spec.steps, around);
  const { outputs, errors: outputErrors } = compileOutputs(spec.outputs, scopes.outputs, under(path, "outputs"));
  const all: FieldError[] = [...errors, ...envErrors, ...stepErrors, ...outputErrors];
  return all.length > 0 ? { ok: false, errors: all } : { ok: true, plan: { steps, env, inputs, outputs } };
}

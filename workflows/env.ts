import type { EnvVar } from "#api/kinds/run.ts";
import { type ContextValues, evaluateExpression, evaluateTemplate } from "./expressions/evaluate.ts";
import { limits } from "./expressions/limits.ts";
import type { EnvPlan } from "./plan.ts";
import type { Script } from "./script/compile-script.ts";

/** Variables by name. */
export type Env = Readonly<Record<string, string>>;

export type EnvResult =
  | { readonly ok: true; readonly env: Env }
  /** `message` names the variable. */
  | { readonly ok: false; readonly message: string };

/**
 * The variables of an `env`, over those of what is around it: the workflow, then the job, then the step, as on GitHub.
 *
 * @param outer variables that stand as long as none of the same name comes
 */
export function evaluateEnv(plan: EnvPlan, values: ContextValues, outer: Env = {}): EnvResult {
  if (plan.size === 0) return { ok: true, env: outer };
  const own: [string, string][] = [];
  for (const [name, template] of plan) {
    const result = evaluateTemplate(template, values);
    if (!result.ok) return { ok: false, message: `env "${name}": ${result.message}` };
    own.push([name, result.value]);
  }
  return { ok: true, env: { ...outer, ...Object.fromEntries(own) } };
}

export type Variables =
  | { readonly ok: true; readonly variables: EnvVar[] }
  | { readonly ok: false; readonly message: string };

/** Most variables of a Run (as in its schema). */
const maxVariables = 256;

/** Everything that a script gets as environment: the variables of `env`, and those that stand for its expressions. */
export function scriptVariables(script: Script, values: ContextValues, env: Env): Variables {
  const variables: EnvVar[] = [];
  let length = 0;
  const add = (name: string, value: string, what: string): string | undefined => {
    length += value.length;
    if (value.length > limits.variableLength) {
      return `${what} has ${value.length} characters; a script takes at most ${limits.variableLength}, use an artifact for more`;
    }
    if (length > limits.variablesLength) {
      return `the values of all variables and expressions have more than ${limits.variablesLength} characters`;
    }
    if (value.includes("\0")) return `${what} has a NUL character, which no script can take`;
    variables.push({ name, value });
    return undefined;
  };
  for (const [name, value] of Object.entries(env)) {
    const fault = add(name, value, `variable "${name}"`);
    if (fault !== undefined) return { ok: false, message: fault };
  }
  for (const { name, expression } of script.variables) {
    const result = evaluateExpression(expression, values, script.text);
    if (!result.ok) return result;
    const fault = add(name, result.value, `\`${expression.source.trim()}\``);
    if (fault !== undefined) return { ok: false, message: fault };
  }
  if (variables.length > maxVariables) {
    const message = `there are ${variables.length} variables with those of the expressions; a script takes at most ${maxVariables}`;
    return { ok: false, message };
  }
  return { ok: true, variables };
}

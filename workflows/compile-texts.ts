import { isReservedVariable } from "#api/environment.ts";
import { forbidden, invalid, tooLong } from "#api/validation/rule.ts";
import { compileTemplate, type Template } from "./expressions/compile.ts";
import { limits } from "./expressions/limits.ts";
import type { Scope } from "./expressions/scopes.ts";
import { type FieldError, under } from "./field-error.ts";
import type { EnvPlan } from "./plan.ts";

/** Names that shells, Python and JavaScript all can read. */
const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/;

const noEnv: { env: EnvPlan; errors: readonly FieldError[] } = { env: new Map(), errors: [] };

/** The variables of a workflow, an Action, a job or a step: texts with expressions, numbers and truth values. */
export function compileEnv(
  spec: Readonly<Record<string, unknown>> | undefined,
  scope: () => Scope,
  path: string,
): { env: EnvPlan; errors: readonly FieldError[] } {
  if (spec === undefined) return noEnv;
  const env = new Map<string, Template>();
  const errors: FieldError[] = [];
  for (const [name, value] of Object.entries(spec)) {
    const at = under(path, name);
    errors.push(...nameErrors(name, at));
    if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") {
      const advice = "Write a text, a number, true or false; quote a list or object as JSON text.";
      errors.push(invalid(at, "the value of a variable is a single text", advice));
      continue;
    }
    const text = String(value);
    if (text.length > limits.variableLength) {
      const message = `the text has ${text.length} characters, more than ${limits.variableLength}`;
      errors.push(tooLong(at, message, "Keep long texts in a file."));
    }
    const { template, errors: faults } = compileTemplate(text, scope(), at);
    errors.push(...faults);
    env.set(name, template);
  }
  return { env, errors };
}

function nameErrors(name: string, path: string): FieldError[] {
  if (!variableName.test(name)) {
    return [
      invalid(path, `"${name}" cannot be the name of a variable`, "Use letters, digits and _, not a digit first."),
    ];
  }
  if (!isReservedVariable(name)) return [];
  const advice = "Choose another name; names that begin with KRUNTIME_, HOME and TMPDIR are reserved.";
  return [forbidden(path, `${name} is set by the platform`, advice)];
}

/** The outputs of a job: texts by name. */
export function compileTexts(
  texts: Readonly<Record<string, string>> | undefined,
  scope: Scope,
  path: string,
): { texts: Map<string, Template>; errors: FieldError[] } {
  return compileAll(
    Object.entries(texts ?? {}).map(([name, text]) => [name, text, under(path, name)]),
    scope,
  );
}

/** The outputs of a workflow or an Action. */
export function compileOutputs(
  outputs: Readonly<Record<string, { readonly value: string }>> | undefined,
  scope: Scope,
  path: string,
): { texts: Map<string, Template>; errors: FieldError[] } {
  const all = Object.entries(outputs ?? {});
  return compileAll(
    all.map(([name, { value }]) => [name, value, under(path, name, "value")]),
    scope,
  );
}

function compileAll(
  texts: readonly (readonly [name: string, text: string, path: string])[],
  scope: Scope,
): { texts: Map<string, Template>; errors: FieldError[] } {
  const compiled = new Map<string, Template>();
  const errors: FieldError[] = [];
  for (const [name, text, at] of texts) {
    const { template, errors: faults } = compileTemplate(text, scope, at);
    errors.push(...faults);
    compiled.set(name, template);
  }
  return { texts: compiled, errors };
}

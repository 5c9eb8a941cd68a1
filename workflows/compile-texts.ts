import type { Template } from "./expressions/compile.ts";
import { compileTemplate } from "./expressions/compile.ts";
import type { Scope } from "./expressions/scopes.ts";
import { type FieldError, under } from "./field-error.ts";

/** Texts by name with expressions in them: variables, outputs. */
export function compileTexts(
  texts: Readonly<Record<string, string>> | undefined,
  scope: Scope,
  path: string,
): { texts: Map<string, Template>; errors: FieldError[] } {
  const compiled = new Map<string, Template>();
  const errors: FieldError[] = [];
  for (const [name, text] of Object.entries(texts ?? {})) {
    const { template, errors: faults } = compileTemplate(text, scope, under(path, name));
    errors.push(...faults);
    compiled.set(name, template);
  }
  return { texts: compiled, errors };
}

/** The outputs of a workflow or an Action. */
export function compileOutputs(
  outputs: Readonly<Record<string, { readonly value: string }>> | undefined,
  scope: Scope,
  path: string,
): { outputs: Map<string, Template>; errors: FieldError[] } {
  const compiled = new Map<string, Template>();
  const errors: FieldError[] = [];
  for (const [name, { value }] of Object.entries(outputs ?? {})) {
    const { template, errors: faults } = compileTemplate(value, scope, under(path, name, "value"));
    errors.push(...faults);
    compiled.set(name, template);
  }
  return { outputs: compiled, errors };
}

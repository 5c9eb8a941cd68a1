import { invalid, required } from "#api/validation/rule.ts";
import { compileTemplate, type Template } from "./expressions/compile.ts";
import type { Scope } from "./expressions/scopes.ts";
import { type FieldError, listOf, under } from "./field-error.ts";
import { convertInput, type InputPlan } from "./inputs.ts";

/**
 * Compiles the values that a job or a step hands to what it uses.
 *
 * @param inputs declared by what is used; undefined when that is not looked at
 * @param used what is used, for messages: `Action "lint"`
 * @param path of the job or step
 */
export function compileWith(
  values: Readonly<Record<string, unknown>> | undefined,
  inputs: ReadonlyMap<string, InputPlan> | undefined,
  used: string,
  scope: Scope,
  path: string,
): { with: Map<string, Template>; errors: FieldError[] } {
  const compiled = new Map<string, Template>();
  const errors: FieldError[] = [];
  for (const [name, value] of Object.entries(values ?? {})) {
    const at = under(path, "with", name);
    const declared = inputs?.get(name);
    if (inputs !== undefined && declared === undefined) {
      errors.push(invalid(at, `${used} has no input "${name}"`, `Its inputs: ${listOf(inputs.keys())}.`));
      continue;
    }
    if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") {
      const advice =
        "Write a text, a number, true or false; a list or object as JSON text, read with fromJSON(inputs.NAME).";
      errors.push(invalid(at, "the value is a list, an object or nothing", advice));
      continue;
    }
    const { template, errors: faults } = compileTemplate(String(value), scope, at);
    errors.push(...faults);
    compiled.set(name, template);
    if (declared === undefined || template.expressions.length > 0 || faults.length > 0) continue;
    const converted = convertInput(value, declared);
    if (!converted.ok) errors.push(invalid(at, converted.message, converted.advice));
  }
  for (const [name, input] of inputs ?? []) {
    if (!input.required || input.default !== undefined || Object.hasOwn(values ?? {}, name)) continue;
    errors.push(
      required(under(path, "with", name), `${used} must get input "${name}"`, `Write with: {${name}: VALUE}.`),
    );
  }
  return { with: compiled, errors };
}

import type { ActionSpec } from "#api/kinds/workflow.ts";
import { invalid, required } from "#api/validation/rule.ts";
import { type FieldError, listOf, under } from "./field-error.ts";
import { truthWords } from "./yaml-words.ts";

type InputSpecs = NonNullable<ActionSpec["inputs"]>;

/** Values of an input, as JSON has them. */
export type InputValue = string | number | boolean;

/** A declared input. */
export interface InputPlan {
  /** A choice is a text out of `options`. */
  readonly type: "string" | "number" | "boolean" | "choice";
  readonly required: boolean;
  /** Of the declared type. */
  readonly default?: InputValue;
  readonly options?: readonly string[];
  readonly description?: string;
}

/** Most characters of the text of an input; it becomes a variable of scripts. */
const maxLength = 32_768;

/** Compiles the declarations of a Workflow or an Action. */
export function compileInputs(
  specs: InputSpecs | undefined,
  path: string,
): { inputs: Map<string, InputPlan>; errors: FieldError[] } {
  const inputs = new Map<string, InputPlan>();
  const errors: FieldError[] = [];
  for (const [name, spec] of Object.entries(specs ?? {})) {
    const at = under(path, name);
    const { type = "string", required: must = false, options, description, default: given } = spec;
    const unquoted = truthWords.get(name);
    if (unquoted !== undefined || !inputName.test(name)) {
      const advice =
        unquoted === undefined
          ? "Use letters, digits, - and _, a letter or _ first."
          : `YAML reads the keys ${unquoted.join(", ")} as ${name}: put quotes around them.`;
      errors.push(invalid(at, `"${name}" cannot be the name of an input`, advice));
    }
    if (type === "choice" && (options ?? []).length === 0) {
      errors.push(required(under(at, "options"), "a choice has options", "List the values that it can have."));
    } else if (type !== "choice" && options !== undefined) {
      errors.push(invalid(under(at, "options"), `an input of type ${type} has no options`, "Write type: choice."));
    }
    const base: InputPlan = {
      type,
      required: must,
      ...(options === undefined ? {} : { options }),
      ...(description === undefined ? {} : { description }),
    };
    const fallback = given === undefined ? undefined : convertInput(given, base);
    if (fallback?.ok === false) errors.push(invalid(under(at, "default"), fallback.message, fallback.advice));
    inputs.set(name, fallback?.ok === true ? { ...base, default: fallback.value } : base);
  }
  return { inputs, errors };
}

/** As GitHub has it. */
const inputName = /^[A-Za-z_][A-Za-z0-9_-]*$/;

export type Converted =
  | { readonly ok: true; readonly value: InputValue }
  | { readonly ok: false; readonly message: string; readonly advice: string };

/** A value as the declared type has it. Texts are read as numbers and truth values where those are declared, and the other way round. */
export function convertInput(value: unknown, { type, options = [] }: InputPlan): Converted {
  const shown =
    typeof value === "string" ? `"${value.slice(0, 80)}"` : (JSON.stringify(value) ?? "nothing").slice(0, 80);
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") {
    const advice =
      "Write a text, a number, true or false; a list or object as JSON text, read with fromJSON(inputs.NAME).";
    return { ok: false, message: `${shown} is no single value`, advice };
  }
  const text = String(value);
  if (text.length > maxLength) {
    const message = `the value has ${text.length} characters, more than ${maxLength}`;
    return { ok: false, message, advice: "Hand long texts over as an artifact." };
  }
  switch (type) {
    case "string":
      return { ok: true, value: text };
    case "number": {
      const number = typeof value === "boolean" || text.trim() === "" ? Number.NaN : Number(text);
      if (Number.isFinite(number)) return { ok: true, value: number };
      return { ok: false, message: `${shown} is no number`, advice: "Write a number, e.g. 3 or 1.5." };
    }
    case "boolean":
      if (text === "true" || text === "false") return { ok: true, value: text === "true" };
      return { ok: false, message: `${shown} is neither true nor false`, advice: "Write true or false." };
    case "choice":
      if (options.includes(text)) return { ok: true, value: text };
      return { ok: false, message: `${shown} is none of the options`, advice: `Choose one of ${listOf(options)}.` };
  }
}

/** What an input is without a value and without a default, as on GitHub. */
function emptyValue({ type, options }: InputPlan): InputValue {
  switch (type) {
    case "string":
      return "";
    case "number":
      return 0;
    case "boolean":
      return false;
    case "choice":
      return options?.[0] ?? "";
  }
}

export type InputsResult =
  | { readonly ok: true; readonly values: Readonly<Record<string, InputValue>> }
  | { readonly ok: false; readonly errors: readonly FieldError[] };

/**
 * The context `inputs`: the given values as the declared types have them, and the defaults of the others.
 *
 * @param given by name, e.g. `spec.inputs` of a WorkflowRun or the texts of `with`
 * @param used what declares the inputs, for messages: `Workflow "ci"`
 * @param path of the given values
 */
export function inputValues(
  inputs: ReadonlyMap<string, InputPlan>,
  given: Readonly<Record<string, unknown>>,
  used: string,
  path: string,
): InputsResult {
  const errors: FieldError[] = [];
  const values: [string, InputValue][] = [];
  for (const name of Object.keys(given)) {
    if (inputs.has(name)) continue;
    errors.push(invalid(under(path, name), `${used} has no input "${name}"`, `Its inputs: ${listOf(inputs.keys())}.`));
  }
  for (const [name, input] of inputs) {
    if (Object.hasOwn(given, name)) {
      const converted = convertInput(given[name], input);
      if (converted.ok) values.push([name, converted.value]);
      else errors.push(invalid(under(path, name), converted.message, converted.advice));
    } else if (input.required && input.default === undefined) {
      errors.push(required(under(path, name), `${used} must get input "${name}"`, "Give it a value."));
    } else values.push([name, input.default ?? emptyValue(input)]);
  }
  return errors.length > 0 ? { ok: false, errors } : { ok: true, values: Object.fromEntries(values) };
}

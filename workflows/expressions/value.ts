import type { FieldError } from "#api/field-error.ts";
import { under } from "../field-error.ts";
import { compileTemplate, type Template } from "./compile.ts";
import { type ContextValues, evaluateTemplate, evaluateValue } from "./evaluate.ts";
import type { Scope } from "./scopes.ts";

/** A JSON value in whose texts expressions stand. A text that is one expression as a whole becomes its value, of any type. */
export type ValueTemplate =
  | { readonly kind: "constant"; readonly value: unknown }
  | { readonly kind: "text"; readonly template: Template }
  | { readonly kind: "list"; readonly items: readonly ValueTemplate[] }
  | { readonly kind: "map"; readonly members: readonly (readonly [name: string, value: ValueTemplate])[] };

/** Compiles every text in a JSON value. */
export function compileValue(
  value: unknown,
  scope: Scope,
  path: string,
): { value: ValueTemplate; errors: readonly FieldError[] } {
  const errors: FieldError[] = [];
  const compile = (part: unknown, at: string): ValueTemplate => {
    if (typeof part === "string" && part.includes("${{")) {
      const { template, errors: faults } = compileTemplate(part, scope, at);
      errors.push(...faults);
      return { kind: "text", template };
    }
    if (typeof part !== "object" || part === null) return { kind: "constant", value: part };
    if (Array.isArray(part)) {
      const items = part.map((item, index) => compile(item, under(at, index)));
      return items.every(isConstant) ? { kind: "constant", value: part } : { kind: "list", items };
    }
    const members = Object.entries(part).map(([name, member]) => [name, compile(member, under(at, name))] as const);
    return members.every(([, member]) => isConstant(member))
      ? { kind: "constant", value: part }
      : { kind: "map", members };
  };
  return { value: compile(value, path), errors };
}

const isConstant = ({ kind }: ValueTemplate) => kind === "constant";

export type ValueResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly message: string };

/** The JSON value with all expressions filled in. */
export function evaluateValueTemplate(value: ValueTemplate, values: ContextValues): ValueResult {
  switch (value.kind) {
    case "constant":
      return { ok: true, value: value.value };
    case "text": {
      const { text, expressions } = value.template;
      const [only] = expressions;
      const whole = only !== undefined && expressions.length === 1 && isAll(text, only.start, only.end);
      return whole ? evaluateValue(only, values, text) : evaluateTemplate(value.template, values);
    }
    case "list": {
      const items: unknown[] = [];
      for (const item of value.items) {
        const result = evaluateValueTemplate(item, values);
        if (!result.ok) return result;
        items.push(result.value);
      }
      return { ok: true, value: items };
    }
    case "map": {
      const members: [string, unknown][] = [];
      for (const [name, member] of value.members) {
        const result = evaluateValueTemplate(member, values);
        if (!result.ok) return result;
        members.push([name, result.value]);
      }
      return { ok: true, value: Object.fromEntries(members) };
    }
  }
}

const isAll = (text: string, start: number, end: number) => `${text.slice(0, start)}${text.slice(end)}`.trim() === "";

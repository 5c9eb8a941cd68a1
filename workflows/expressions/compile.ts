import type { Expr } from "@actions/expressions";
import { tooLong } from "#api/validation/rule.ts";
import type { FieldError } from "../field-error.ts";
import type { Reference, Scope } from "./contexts.ts";
import { limits } from "./limits.ts";
import { parseExpression } from "./parse.ts";
import { located } from "./position.ts";
import { resolveReferences } from "./resolve.ts";
import { type Span, splitTemplate } from "./template.ts";

/** A compiled `${{ ... }}`: everything that it needs at run time is known to exist or named when it is missing. */
export interface Expression extends Span {
  readonly tree: Expr;
  readonly references: ReadonlyMap<Expr, Reference>;
}

/** A text with its expressions, in order. What stands between them is literal. */
export interface Template {
  readonly text: string;
  readonly expressions: readonly Expression[];
}

export interface CompileResult {
  /** With errors: only the expressions that compiled. */
  readonly template: Template;
  readonly errors: readonly FieldError[];
}

/**
 * Compiles the `${{ }}` of one field.
 *
 * @param path of the field, for errors
 */
export function compileTemplate(text: string, scope: Scope, path: string): CompileResult {
  if (!text.includes("${{")) return { template: { text, expressions: [] }, errors: [] };
  const split = splitTemplate(text);
  if (!split.ok) {
    const advice = "Write }} at its end.";
    const error = located(path, text, split.offset, { message: split.message, advice });
    return { template: { text, expressions: [] }, errors: [error] };
  }
  const expressions: Expression[] = [];
  const errors: FieldError[] = [];
  if (split.spans.length > limits.expressionsInField) {
    const message = `there are ${split.spans.length} expressions, more than ${limits.expressionsInField}`;
    errors.push(tooLong(path, message, "Take a value once and keep it in a variable of the script."));
  }
  const contexts = [...scope.keys()];
  const fault = (span: Span, problem: { offset: number; message: string; advice?: string | undefined }) =>
    errors.push(located(path, text, span.sourceStart + problem.offset, problem));
  for (const span of split.spans.slice(0, limits.expressionsInField)) {
    const parsed = parseExpression(span.source, contexts);
    if (!parsed.ok) {
      fault(span, parsed);
      continue;
    }
    const { references, errors: unknown } = resolveReferences(parsed.tree, scope);
    for (const error of unknown) fault(span, error);
    if (unknown.length === 0) expressions.push({ ...span, tree: parsed.tree, references });
  }
  return { template: { text, expressions }, errors };
}

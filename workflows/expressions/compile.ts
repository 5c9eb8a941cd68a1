import type { Expr } from "@actions/expressions";
import { tooLong } from "#api/validation/rule.ts";
import type { FieldError } from "../field-error.ts";
import { statusFunctions } from "./functions.ts";
import { limits } from "./limits.ts";
import { parseExpression } from "./parse.ts";
import { located } from "./position.ts";
import { type Reference, resolveReferences } from "./resolve.ts";
import type { Scope } from "./scopes.ts";
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

/** The whole of an `if`, or a field that is true or false. */
export interface Condition {
  /** The text of the field, for positions in messages. */
  readonly text: string;
  readonly expression: Expression;
  /** Whether it calls success(), failure(), always() or cancelled(); otherwise `success() &&` goes before an `if`, as on GitHub. */
  readonly asksStatus: boolean;
}

export interface CompileResult {
  /** With errors: only the expressions that compiled. */
  readonly template: Template;
  readonly errors: readonly FieldError[];
}

const unclosed = "Write }} at its end.";

/**
 * Compiles the `${{ }}` of one field.
 *
 * @param path of the field, for errors
 */
export function compileTemplate(text: string, scope: Scope, path: string): CompileResult {
  if (!text.includes("${{")) return { template: { text, expressions: [] }, errors: [] };
  const split = splitTemplate(text);
  if (!split.ok) {
    const error = located(path, text, split.offset, { message: split.message, advice: unclosed });
    return { template: { text, expressions: [] }, errors: [error] };
  }
  const expressions: Expression[] = [];
  const errors: FieldError[] = [];
  if (split.spans.length > limits.expressionsInField) {
    const message = `there are ${split.spans.length} expressions, more than ${limits.expressionsInField}`;
    errors.push(tooLong(path, message, "Take a value once and keep it in a variable of the script."));
  }
  for (const span of split.spans.slice(0, limits.expressionsInField)) {
    const compiled = compileSpan(span, text, scope, path);
    if (compiled.ok) expressions.push(compiled.expression);
    else errors.push(...compiled.errors);
  }
  return { template: { text, expressions }, errors };
}

export type ConditionResult =
  | { readonly ok: true; readonly condition: Condition }
  | { readonly ok: false; readonly errors: readonly FieldError[] };

/** Compiles a field that is one expression as a whole, with or without `${{ }}` around it. */
export function compileCondition(text: string, scope: Scope, path: string): ConditionResult {
  const span = wholeSpan(text);
  if ("message" in span) return { ok: false, errors: [located(path, text, span.offset, span)] };
  const compiled = compileSpan(span, text, scope, path);
  if (!compiled.ok) return compiled;
  const asksStatus = statusFunctions.some((name) => compiled.functions.has(name.toLowerCase()));
  return { ok: true, condition: { text, expression: compiled.expression, asksStatus } };
}

function wholeSpan(text: string): Span | { offset: number; message: string; advice: string } {
  if (!text.includes("${{")) return { start: 0, end: text.length, source: text, sourceStart: 0 };
  const split = splitTemplate(text);
  if (!split.ok) return { offset: split.offset, message: split.message, advice: unclosed };
  const [span, second] = split.spans;
  const rest = span === undefined ? "" : `${text.slice(0, span.start)}${text.slice(span.end)}`;
  if (span !== undefined && rest.trim() === "") return span;
  // GitHub takes such a text as true, whatever the expression says.
  return {
    offset: second?.start ?? span?.start ?? 0,
    message: "a condition is one expression as a whole",
    advice: "Leave ${{ and }} out: the whole field is read as an expression.",
  };
}

type Compiled =
  | { readonly ok: true; readonly expression: Expression; readonly functions: ReadonlySet<string> }
  | { readonly ok: false; readonly errors: readonly FieldError[] };

function compileSpan(span: Span, text: string, scope: Scope, path: string): Compiled {
  const parsed = parseExpression(span.source, scope);
  const { references, errors, functions } = parsed.ok
    ? resolveReferences(parsed.tree, scope)
    : { references: new Map(), errors: [parsed], functions: new Set<string>() };
  if (parsed.ok && errors.length === 0) {
    return { ok: true, expression: { ...span, tree: parsed.tree, references }, functions };
  }
  return { ok: false, errors: errors.map((error) => located(path, text, span.sourceStart + error.offset, error)) };
}

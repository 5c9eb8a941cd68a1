import { data, Evaluator, type Expr } from "@actions/expressions";
import { type ContextAccess, type IndexAccess, Literal, type Logical } from "@actions/expressions/ast";
import { listOf } from "../field-error.ts";
import type { Condition, Expression, Template } from "./compile.ts";
import { fromData, isStructured, toData } from "./data.ts";
import { functions, type Progress, withStatus } from "./functions.ts";
import { limits } from "./limits.ts";
import { positionAt } from "./position.ts";
import { isOr, type Reference } from "./resolve.ts";
import { same } from "./shape.ts";

/** What the contexts hold at run time: plain JSON, e.g. `{steps: {build: {outputs: {tag: "v1"}}}}`. */
export interface ContextValues {
  readonly [name: string]: unknown;
}

export type Evaluated =
  | { readonly ok: true; readonly value: string }
  /** `message` names the expression and the member that is missing; the reason is always ExpressionFailed. */
  | { readonly ok: false; readonly message: string };

/** A name that does not exist at run time. `||` catches it, nothing else does. */
class MissingValue extends Error {
  override readonly name = "MissingValue";
}

/**
 * The text of one expression. A value that is missing is an error, never the empty text: `a || 'default'` allows it.
 *
 * @param text of the field, for the position in messages
 */
export function evaluateExpression(expression: Expression, values: ContextValues, text: string): Evaluated {
  const failed = (error: unknown): Evaluated => ({ ok: false, message: faultAt(expression, text, error) });
  try {
    const result = new StrictEvaluator(expression, values).evaluate();
    if (isStructured(result)) return failed("the value is an object or a list; write toJSON(...) around it");
    if (result.kind === data.Kind.Null) return failed("there is no value; write (...) || 'default' to allow that");
    const value = result.coerceString();
    if (value.length <= limits.valueLength) return { ok: true, value };
    return failed(`the value is longer than ${limits.valueLength} characters`);
  } catch (error) {
    return failed(error);
  }
}

export type EvaluatedValue =
  | { readonly ok: true; readonly value: unknown }
  /** As of {@link Evaluated}. */
  | { readonly ok: false; readonly message: string };

/** The JSON value of one expression; like its text, it is never missing. */
export function evaluateValue(expression: Expression, values: ContextValues, text: string): EvaluatedValue {
  try {
    return { ok: true, value: fromData(new StrictEvaluator(expression, values).evaluate()) };
  } catch (error) {
    return { ok: false, message: faultAt(expression, text, error) };
  }
}

/** The text with every expression replaced by its value. Not for scripts: they take values as variables. */
export function evaluateTemplate(template: Template, values: ContextValues): Evaluated {
  let out = "";
  let from = 0;
  for (const expression of template.expressions) {
    const result = evaluateExpression(expression, values, template.text);
    if (!result.ok) return result;
    out += template.text.slice(from, expression.start) + result.value;
    from = expression.end;
  }
  return { ok: true, value: out + template.text.slice(from) };
}

export type Asked =
  | { readonly ok: true; readonly holds: boolean }
  /** As of {@link Evaluated}. */
  | { readonly ok: false; readonly message: string };

/**
 * Whether a condition holds. Here an output that nobody wrote is no value, as on GitHub: `steps.a.outputs.x == 'yes'` does not hold then.
 *
 * @param progress of an `if`: without status functions in it, nothing is asked unless all went well. Absent for other fields.
 */
export function evaluateCondition(condition: Condition, values: ContextValues, progress?: Progress): Asked {
  if (progress !== undefined && !condition.asksStatus && !progress.success) return { ok: true, holds: false };
  const { expression, text } = condition;
  try {
    const known = progress === undefined ? functions : withStatus(progress);
    return { ok: true, holds: isTruthy(new LenientEvaluator(expression, values, known).evaluate()) };
  } catch (error) {
    return { ok: false, message: faultAt(expression, text, error) };
  }
}

function faultAt(expression: Expression, text: string, error: unknown): string {
  const { line, column } = positionAt(text, expression.start);
  const message = error instanceof Error ? error.message : String(error);
  return `${text.slice(expression.start, expression.end)} at ${line}:${column}: ${message}`;
}

/** The engine, except that names of contexts are looked up by us: own members only, and a missing one is an error. */
class StrictEvaluator extends Evaluator {
  readonly #references: ReadonlyMap<Expr, Reference>;
  readonly #values: ContextValues;

  constructor(expression: Expression, values: ContextValues, known = functions) {
    super(expression.tree, new data.Dictionary(), known);
    this.#references = expression.references;
    this.#values = values;
  }

  override visitContextAccess(node: ContextAccess): data.ExpressionData {
    const reference = this.#references.get(node);
    if (reference === undefined) throw new Error(`${node.name.lexeme} has no value of its own`);
    return this.valueAt(reference.path);
  }

  protected valueAt(path: readonly string[]): data.ExpressionData {
    return toData(this.#lookUp(path));
  }

  override visitIndexAccess(node: IndexAccess): data.ExpressionData {
    const reference = this.#references.get(node);
    if (reference !== undefined) return this.valueAt([...reference.path, ...this.#computedKey(reference.path, node)]);
    return super.visitIndexAccess(node);
  }

  /** `a || b`: a name that is missing in `a` counts as no value, because the author says what to take then. */
  override visitLogical(node: Logical): data.ExpressionData {
    if (!isOr(node)) return super.visitLogical(node);
    for (const arg of node.args.slice(0, -1)) {
      const value = this.#optional(arg);
      if (value !== undefined && isTruthy(value)) return value;
    }
    const last = node.args.at(-1);
    if (last === undefined) throw new Error("|| without operands");
    return this.eval(last);
  }

  #optional(node: Expr): data.ExpressionData | undefined {
    try {
      return this.eval(node);
    } catch (error) {
      // The engine wraps what an index throws.
      const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
      if (cause instanceof MissingValue) return undefined;
      throw error;
    }
  }

  #lookUp(path: readonly string[]): unknown {
    let value: unknown = this.#values;
    const walked: string[] = [];
    for (const name of path) {
      value = member(value, name, walked.join("."));
      walked.push(name);
    }
    return value;
  }

  /** A reference to all values whose node has an index of its own takes the key from that index. */
  #computedKey(path: readonly string[], node: IndexAccess): string[] {
    if (node.index instanceof Literal) return [];
    const key = this.eval(node.index);
    if (key.kind === data.Kind.String) return [key.coerceString()];
    throw new Error(`the key after ${path.join(".")} is not a text`);
  }
}

/** For conditions: what is missing is no value. */
class LenientEvaluator extends StrictEvaluator {
  protected override valueAt(path: readonly string[]): data.ExpressionData {
    try {
      return super.valueAt(path);
    } catch (error) {
      if (error instanceof MissingValue) return new data.Null();
      throw error;
    }
  }
}

function member(value: unknown, name: string, parent: string): unknown {
  if (typeof value === "object" && value !== null) {
    if (Object.hasOwn(value, name)) return Reflect.get(value, name);
    const other = Object.keys(value).find((key) => same(key, name));
    if (other !== undefined) return Reflect.get(value, other);
    throw new MissingValue(`${parent} has no "${name}"; it has ${listOf(Object.keys(value))}`);
  }
  throw new MissingValue(`${parent} has no "${name}"`);
}

function isTruthy(value: data.ExpressionData): boolean {
  switch (value.kind) {
    case data.Kind.Null:
      return false;
    case data.Kind.Boolean:
    case data.Kind.String:
      return Boolean(value instanceof data.BooleanData ? value.value : value.coerceString());
    case data.Kind.Number:
      return value.number() !== 0 && !Number.isNaN(value.number());
    default:
      return true;
  }
}

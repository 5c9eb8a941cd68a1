import type { Expr } from "./ast.ts";
import { type Code, codeOf, type Scope, type Variable } from "./code.ts";
import { CelCompileError, CelError } from "./errors.ts";
import { call } from "./functions.ts";
import { loop, loopType } from "./macros.ts";
import { binary, logic, negate } from "./operators.ts";
import { parseCel } from "./parser.ts";
import { bool, type CelType, describeType, dyn, int, join, listOf, mapOf, type ObjectField } from "./types.ts";
import { at, entryOf, hasKey } from "./values.ts";

/** An expression that was parsed and checked once and runs many times. */
export interface Program {
  readonly type: CelType;
  /** Names of the variables that the expression reads. */
  readonly uses: ReadonlySet<string>;
  /**
   * @param values of the variables, in the order of their declaration.
   * @throws CelError
   */
  run(values: readonly unknown[]): unknown;
}

/**
 * Parses and checks an expression. Types are checked as the real server does, so that a rule that is accepted here is
 * accepted there.
 *
 * @param variables in the order in which their values will be given.
 * @throws CelCompileError
 */
export function compileCel(source: string, variables: Readonly<Record<string, CelType>>): Program {
  const expr = parseCel(source);
  const uses = new Set<string>();
  const names = Object.keys(variables);
  let slots = names.length;
  const scope: Scope = {
    variables: new Map(names.map((name, slot): [string, Variable] => [name, { slot, type: variables[name] ?? dyn }])),
    fail: (offset, problem) => new CelCompileError(source, offset, problem),
    use: (name) => void uses.add(name),
    newSlot: () => slots++,
  };
  const code = compile(scope, expr);
  return { type: code.type, uses, run: (values) => code.run([...values]) };
}

function compile(scope: Scope, expr: Expr): Code {
  switch (expr.kind) {
    case "literal":
      return { type: { kind: expr.type }, run: () => expr.value, constant: true };
    case "identifier":
      return identifier(scope, expr.name, expr.offset);
    case "select":
      return select(scope, expr.offset, compile(scope, expr.operand), expr.field);
    case "has":
      return has(scope, expr.offset, compile(scope, expr.operand), expr.field);
    case "index":
      return index(scope, expr.offset, compile(scope, expr.operand), compile(scope, expr.index));
    case "unary":
      return negate(scope, expr.offset, expr.operator, compile(scope, expr.operand));
    case "binary":
      return binary(scope, expr.offset, expr.operator, compile(scope, expr.left), compile(scope, expr.right));
    case "logic":
      return logic(expr.operator, condition(scope, expr.left), condition(scope, expr.right));
    case "conditional":
      return conditional(scope, expr);
    case "list":
      return list(scope, expr);
    case "map":
      return map(scope, expr);
    case "call": {
      const target = expr.target === undefined ? undefined : compile(scope, expr.target);
      return call(
        scope,
        expr.offset,
        expr.name,
        target,
        expr.args.map((arg) => compile(scope, arg)),
      );
    }
    case "macro":
      return macro(scope, expr);
    default:
      return expr satisfies never;
  }
}

function identifier(scope: Scope, name: string, offset: number): Code {
  const variable = scope.variables.get(name);
  if (variable === undefined) {
    throw scope.fail(
      offset,
      `undeclared reference to '${name}': known here are ${[...scope.variables.keys()].join(", ")}`,
    );
  }
  scope.use(name);
  const { slot, type } = variable;
  return { type, run: (frame) => frame[slot], constant: false };
}

function condition(scope: Scope, expr: Expr): Code {
  const code = compile(scope, expr);
  if (code.type.kind !== "bool" && code.type.kind !== "dyn") {
    throw scope.fail(expr.offset, `expected type 'bool' but found '${describeType(code.type)}'`);
  }
  return code;
}

function fieldOf(scope: Scope, offset: number, type: CelType, name: string): ObjectField | undefined {
  if (type.kind === "map" || type.kind === "dyn") return undefined;
  if (type.kind !== "object") throw scope.fail(offset, `type '${describeType(type)}' does not support field selection`);
  const field = type.fields.get(name);
  if (field === undefined) throw scope.fail(offset, `undefined field '${name}'`);
  return field;
}

function select(scope: Scope, offset: number, operand: Code, name: string): Code {
  const field = fieldOf(scope, offset, operand.type, name);
  const key = field?.property ?? name;
  const type = field?.type ?? (operand.type.kind === "map" ? operand.type.value : dyn);
  return codeOf(type, [operand], (frame) => {
    const value = operand.run(frame);
    // The name of the expression, not of the member: that is what the author of the rule can look for.
    if (!hasKey(value, key)) throw new CelError(`no such key: ${name}`);
    return entryOf(value, key);
  });
}

function has(scope: Scope, offset: number, operand: Code, name: string): Code {
  const key = fieldOf(scope, offset, operand.type, name)?.property ?? name;
  return codeOf(bool, [operand], (frame) => hasKey(operand.run(frame), key));
}

function index(scope: Scope, offset: number, operand: Code, key: Code): Code {
  const { type } = operand;
  const fits = (wanted: CelType): boolean => join(wanted, key.type) !== undefined;
  const run = (frame: unknown[]): unknown => at(operand.run(frame), key.run(frame));
  if (type.kind === "list" && fits(int)) return codeOf(type.item, [operand, key], run);
  if (type.kind === "map" && fits(type.key)) return codeOf(type.value, [operand, key], run);
  if (type.kind === "dyn") return codeOf(dyn, [operand, key], run);
  throw scope.fail(
    offset,
    `found no matching overload for '_[_]' applied to '(${describeType(type)}, ${describeType(key.type)})'`,
  );
}

function conditional(scope: Scope, expr: Expr & { kind: "conditional" }): Code {
  const test = condition(scope, expr.test);
  const then = compile(scope, expr.then);
  const otherwise = compile(scope, expr.otherwise);
  const type = join(then.type, otherwise.type);
  if (type === undefined) {
    throw scope.fail(
      expr.offset,
      `found no matching overload for '_?_:_' applied to '(bool, ${describeType(then.type)}, ${describeType(otherwise.type)})'`,
    );
  }
  return codeOf(type, [test, then, otherwise], (frame) => {
    const value = test.run(frame);
    if (typeof value !== "boolean") throw new CelError("no such overload");
    return value ? then.run(frame) : otherwise.run(frame);
  });
}

/** The common type of the parts of a literal; mixed ones are refused, as the real server does for rules. */
function commonType(scope: Scope, types: readonly (readonly [CelType, number])[]): CelType {
  let common: CelType = dyn;
  for (const [type, offset] of types) {
    const joined = join(common, type);
    if (joined === undefined) {
      throw scope.fail(offset, `expected type '${describeType(common)}' but found '${describeType(type)}'`);
    }
    common = joined;
  }
  return common;
}

function list(scope: Scope, expr: Expr & { kind: "list" }): Code {
  const items = expr.items.map((item) => compile(scope, item));
  const type = commonType(
    scope,
    items.map((item, position) => [item.type, expr.items[position]?.offset ?? expr.offset]),
  );
  return codeOf(listOf(type), items, (frame) => items.map((item) => item.run(frame)));
}

function map(scope: Scope, expr: Expr & { kind: "map" }): Code {
  const entries = expr.entries.map(([key, value]) => [compile(scope, key), compile(scope, value)] as const);
  const offsetOf = (position: number): number => expr.entries[position]?.[0].offset ?? expr.offset;
  const key = commonType(
    scope,
    entries.map(([code], position) => [code.type, offsetOf(position)]),
  );
  const value = commonType(
    scope,
    entries.map(([, code], position) => [code.type, offsetOf(position)]),
  );
  if (!["string", "int", "bool", "dyn"].includes(key.kind)) {
    throw scope.fail(expr.offset, `unsupported key type '${describeType(key)}'`);
  }
  return codeOf(mapOf(key, value), entries.flat(), (frame) => {
    const result = new Map<unknown, unknown>();
    for (const [keyCode, valueCode] of entries) {
      const name = keyCode.run(frame);
      if (result.has(name)) throw new CelError(`Failed with repeated key: ${String(name)}`);
      result.set(name, valueCode.run(frame));
    }
    return result;
  });
}

function macro(scope: Scope, expr: Expr & { kind: "macro" }): Code {
  const range = compile(scope, expr.operand);
  const item = loopType(scope, expr.offset, expr.macro, range.type);
  const slot = scope.newSlot();
  const inner: Scope = { ...scope, variables: new Map([...scope.variables, [expr.variable, { slot, type: item }]]) };
  const filter = expr.filter === undefined ? undefined : compile(inner, expr.filter);
  const body = compile(inner, expr.body);
  return loop(scope, { offset: expr.offset, macro: expr.macro, range, slot, item, filter, body });
}

import type { BinaryOperator } from "./ast.ts";
import { type Code, codeOf, type Frame, type Scope } from "./code.ts";
import { CelError } from "./errors.ts";
import { parseDuration, parseTimestamp } from "./time.ts";
import { bool, type CelType, describeType, double, join, listOf, string } from "./types.ts";
import { compareValues, contains, equalUnordered, equalValues } from "./values.ts";

/** @throws CelCompileError when no overload takes these types. */
export function binary(scope: Scope, offset: number, operator: BinaryOperator, left: Code, right: Code): Code {
  const mismatch = () =>
    scope.fail(
      offset,
      `found no matching overload for '${operator === "in" ? "@in" : `_${operator}_`}' applied to '(${describeType(left.type)}, ${describeType(right.type)})'`,
    );
  const parts = [left, right];
  switch (operator) {
    case "==":
    case "!=": {
      const type = join(left.type, right.type);
      if (type === undefined) throw mismatch();
      const equal = equalityOf(type);
      const wanted = operator === "==";
      return codeOf(bool, parts, (frame) => equal(left.run(frame), right.run(frame)) === wanted);
    }
    case "<":
    case "<=":
    case ">":
    case ">=": {
      const compare = orderingOf(left.type, right.type);
      if (compare === undefined) throw mismatch();
      const holds = orders[operator];
      return codeOf(bool, parts, (frame) => holds(compare(left.run(frame), right.run(frame))));
    }
    case "in": {
      const item = memberType(right.type);
      if (item === undefined || join(item, left.type) === undefined) throw mismatch();
      return codeOf(bool, parts, (frame) => contains(right.run(frame), left.run(frame)));
    }
    default: {
      const arithmetic = arithmeticOf(operator, left.type, right.type);
      if (arithmetic === undefined) throw mismatch();
      const { type, apply } = arithmetic;
      return codeOf(type, parts, (frame) => apply(left.run(frame), right.run(frame)));
    }
  }
}

const orders: Readonly<Record<"<" | "<=" | ">" | ">=", (comparison: number) => boolean>> = {
  "<": (comparison) => comparison < 0,
  "<=": (comparison) => comparison <= 0,
  ">": (comparison) => comparison > 0,
  ">=": (comparison) => comparison >= 0,
};

type Equality = (a: unknown, b: unknown) => boolean;

function equalityOf(type: CelType): Equality {
  if (type.kind === "list" && type.unordered) return equalUnordered;
  if (type.kind === "timestamp") return nullable((a, b) => parseTimestamp(a) === parseTimestamp(b));
  if (type.kind === "duration") return nullable((a, b) => parseDuration(a) === parseDuration(b));
  return equalValues;
}

/** A null equals only null, and is never parsed. */
function nullable(equal: Equality): Equality {
  return (a, b) => (a === null || b === null ? a === b : equal(a, b));
}

function orderingOf(a: CelType, b: CelType): ((a: unknown, b: unknown) => number) | undefined {
  if (isNumeric(a) && isNumeric(b)) return compareValues; // int and double may be compared with each other
  const type = join(a, b);
  switch (type?.kind) {
    case "string":
    case "bool":
    case "dyn":
      return compareValues;
    case "timestamp":
      return (left, right) => {
        const difference = parseTimestamp(left) - parseTimestamp(right);
        return difference < 0n ? -1 : difference > 0n ? 1 : 0;
      };
    case "duration":
      return (left, right) => parseDuration(left) - parseDuration(right);
    default:
      return undefined;
  }
}

function memberType(container: CelType): CelType | undefined {
  switch (container.kind) {
    case "list":
      return container.item;
    case "map":
      return container.key;
    case "dyn":
      return container;
    default:
      return undefined;
  }
}

const isNumeric = (type: CelType): boolean => type.kind === "int" || type.kind === "double" || type.kind === "dyn";

interface Arithmetic {
  readonly type: CelType;
  apply(a: unknown, b: unknown): unknown;
}

function arithmeticOf(operator: "+" | "-" | "*" | "/" | "%", a: CelType, b: CelType): Arithmetic | undefined {
  const type = join(a, b);
  if (operator === "+") {
    if (type?.kind === "string") return { type: string, apply: addDynamic };
    if (type?.kind === "list" && !type.unordered) return { type: listOf(type.item), apply: addDynamic };
    if (type?.kind === "dyn") return { type, apply: addDynamic };
  }
  if (type?.kind === "double" && operator !== "%") {
    return { type: double, apply: (left, right) => doubles[operator](asNumber(left), asNumber(right)) };
  }
  if (type?.kind === "int" || type?.kind === "dyn") {
    return { type, apply: (left, right) => exact(integers[operator](asNumber(left), asNumber(right))) };
  }
  return undefined;
}

function addDynamic(a: unknown, b: unknown): unknown {
  if (typeof a === "string" && typeof b === "string") return a + b;
  if (Array.isArray(a) && Array.isArray(b)) return [...a, ...b];
  return exact(asNumber(a) + asNumber(b));
}

const doubles: Readonly<Record<"+" | "-" | "*" | "/", (a: number, b: number) => number>> = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
};

const integers: Readonly<Record<"+" | "-" | "*" | "/" | "%", (a: number, b: number) => number>> = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => Math.trunc(a / divisor(b, "division by zero")),
  "%": (a, b) => a % divisor(b, "modulus by zero"),
};

function divisor(value: number, problem: string): number {
  if (value === 0) throw new CelError(problem);
  return value;
}

/** Integers end at 2^53 here, not at 2^63; beyond it a sum would silently be wrong. */
function exact(value: number): number {
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) throw new CelError("integer overflow");
  return value === 0 ? 0 : value; // -0 is no integer
}

function asNumber(value: unknown): number {
  if (typeof value !== "number") throw new CelError("no such overload");
  return value;
}

/** `&&` and `||` take the side that decides, even when the other one fails. */
export function logic(operator: "&&" | "||", left: Code, right: Code): Code {
  const decisive = operator === "||";
  return codeOf(bool, [left, right], (frame) => {
    const first = attempt(left, frame);
    if (first === decisive) return decisive;
    const second = attempt(right, frame);
    if (second === decisive) return decisive;
    if (first instanceof CelError) throw first;
    if (second instanceof CelError) throw second;
    return !decisive;
  });
}

/** The value of a condition, or its failure. */
export function attempt(code: Code, frame: Frame): boolean | CelError {
  try {
    const value = code.run(frame);
    return typeof value === "boolean" ? value : new CelError("no such overload");
  } catch (error) {
    if (error instanceof CelError) return error;
    throw error;
  }
}

/** `!x` and `-x`. @throws CelCompileError for other types. */
export function negate(scope: Scope, offset: number, operator: "!" | "-", operand: Code): Code {
  const { type } = operand;
  if (operator === "!") {
    if (type.kind !== "bool" && type.kind !== "dyn") throw unaryMismatch(scope, offset, operator, type);
    return codeOf(bool, [operand], (frame) => {
      const value = operand.run(frame);
      if (typeof value !== "boolean") throw new CelError("no such overload");
      return !value;
    });
  }
  if (!isNumeric(type)) throw unaryMismatch(scope, offset, operator, type);
  return codeOf(type, [operand], (frame) => exact(-asNumber(operand.run(frame))));
}

function unaryMismatch(scope: Scope, offset: number, operator: string, type: CelType) {
  return scope.fail(offset, `found no matching overload for '${operator}_' applied to '(${describeType(type)})'`);
}

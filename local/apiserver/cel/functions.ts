import { type Code, codeOf, type Scope } from "./code.ts";
import { CelError } from "./errors.ts";
import { compileRegex } from "./regex.ts";
import { bool, type CelType, describeType, double, int, join, string } from "./types.ts";
import { Optional, sizeOf } from "./values.ts";

/** Calls `f(x)` and `x.f(y)`. Functions that are not listed here are refused when the expression is loaded. */

type Build = (scope: Scope, offset: number, args: readonly Code[]) => Code | undefined;

/** By name and number of arguments, the target counting as the first; undefined means "not for these types". */
const globals: Readonly<Record<string, Build>> = {
  "size/1": (_scope, _offset, [value]) =>
    value !== undefined && isSized(value.type) ? codeOf(int, [value], (frame) => sizeOf(value.run(frame))) : undefined,
  "string/1": (_scope, _offset, [value]) => convert(value, string, toText),
  "int/1": (_scope, _offset, [value]) => convert(value, int, toInt),
  "double/1": (_scope, _offset, [value]) => convert(value, double, toDouble),
};

const methods: Readonly<Record<string, Build>> = {
  "size/1": (scope, offset, args) => globals["size/1"]?.(scope, offset, args),
  "startsWith/2": (_scope, _offset, args) => onText(args, (text, part) => text.startsWith(part)),
  "endsWith/2": (_scope, _offset, args) => onText(args, (text, part) => text.endsWith(part)),
  "contains/2": (_scope, _offset, args) => onText(args, (text, part) => text.includes(part)),
  "matches/2": matches,
  "hasValue/1": (_scope, _offset, [target]) =>
    target?.type.kind === "optional"
      ? codeOf(bool, [target], (frame) => optional(target.run(frame)).present)
      : undefined,
  "value/1": (_scope, _offset, [target]) =>
    target?.type.kind === "optional"
      ? codeOf(target.type.of, [target], (frame) => {
          const { present, value } = optional(target.run(frame));
          if (!present) throw new CelError("optional.none() dereference");
          return value;
        })
      : undefined,
  "orValue/2": (_scope, _offset, [target, otherwise]) => {
    if (target?.type.kind !== "optional" || otherwise === undefined) return undefined;
    const type = join(target.type.of, otherwise.type);
    if (type === undefined) return undefined;
    return codeOf(type, [target, otherwise], (frame) => {
      const { present, value } = optional(target.run(frame));
      return present ? value : otherwise.run(frame);
    });
  },
};

/** @throws CelCompileError when there is no such function, or none for these types. */
export function call(
  scope: Scope,
  offset: number,
  name: string,
  target: Code | undefined,
  args: readonly Code[],
): Code {
  const all = target === undefined ? args : [target, ...args];
  const table = target === undefined ? globals : methods;
  const key = `${name}/${all.length}`;
  const build = Object.hasOwn(table, key) ? table[key] : undefined;
  const code = build?.(scope, offset, all);
  if (code !== undefined) return code;
  const known = Object.keys(table).some((candidate) => candidate.startsWith(`${name}/`));
  if (!known) {
    const supported = [
      ...new Set([...Object.keys(globals), ...Object.keys(methods)].map((entry) => entry.split("/")[0])),
    ];
    throw scope.fail(
      offset,
      `undeclared reference to '${name}': the functions supported here are ${supported.join(", ")}`,
    );
  }
  const types = all.map(({ type }) => describeType(type));
  const signature = target === undefined ? `(${types.join(", ")})` : `${types[0]}.(${types.slice(1).join(", ")})`;
  throw scope.fail(offset, `found no matching overload for '${name}' applied to '${signature}'`);
}

const isSized = ({ kind }: CelType): boolean =>
  kind === "string" || kind === "list" || kind === "map" || kind === "dyn";
const isText = ({ kind }: CelType): boolean => kind === "string" || kind === "dyn";

function optional(value: unknown): Optional {
  if (value instanceof Optional) return value;
  throw new CelError("no such overload");
}

function textOf(value: unknown): string {
  if (typeof value !== "string") throw new CelError("no such overload");
  return value;
}

function onText(args: readonly Code[], test: (text: string, part: string) => boolean): Code | undefined {
  const [target, part] = args;
  if (target === undefined || part === undefined || !isText(target.type) || !isText(part.type)) return undefined;
  return codeOf(bool, args, (frame) => test(textOf(target.run(frame)), textOf(part.run(frame))));
}

/** A constant pattern is compiled, and refused, when the expression is loaded. */
function matches(scope: Scope, offset: number, args: readonly Code[]): Code | undefined {
  const [target, pattern] = args;
  if (target === undefined || pattern === undefined || !isText(target.type) || !isText(pattern.type)) return undefined;
  if (!pattern.constant) {
    return codeOf(bool, args, (frame) => {
      const regex = compiling(textOf(pattern.run(frame)), (problem) => new CelError(problem));
      return regex.test(textOf(target.run(frame)));
    });
  }
  const regex = compiling(textOf(pattern.run([])), (problem) => scope.fail(offset, problem));
  return codeOf(bool, args, (frame) => regex.test(textOf(target.run(frame))));
}

function compiling(pattern: string, fail: (problem: string) => Error): RegExp {
  try {
    return compileRegex(pattern);
  } catch (error) {
    throw fail(error instanceof Error ? error.message : String(error));
  }
}

function convert(value: Code | undefined, type: CelType, apply: (value: unknown) => unknown): Code | undefined {
  if (
    value === undefined ||
    !["int", "double", "string", "bool", "timestamp", "duration", "dyn"].includes(value.type.kind)
  ) {
    return undefined;
  }
  return codeOf(type, [value], (frame) => apply(value.run(frame)));
}

function toText(value: unknown): string {
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return String(value);
  throw new CelError("no such overload");
}

function toInt(value: unknown): number {
  const result = typeof value === "string" && /^[+-]?\d+$/.test(value) ? Number(value) : value;
  if (typeof result !== "number") throw new CelError(`type conversion error from ${JSON.stringify(value)} to 'int'`);
  const whole = Math.trunc(result);
  if (!Number.isSafeInteger(whole)) throw new CelError("integer overflow");
  return whole;
}

function toDouble(value: unknown): number {
  const result = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof result !== "number" || Number.isNaN(result)) {
    throw new CelError(`type conversion error from ${JSON.stringify(value)} to 'double'`);
  }
  return result;
}

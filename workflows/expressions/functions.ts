import { data, wellKnownFunctions } from "@actions/expressions";
import type { FunctionDefinition } from "@actions/expressions/funcs/info";
import { toData } from "./data.ts";
import { limits } from "./limits.ts";

/** The functions that expressions may call, as people write them. Names are compared without case. */
export const functionNames = ["contains", "startsWith", "endsWith", "format", "join", "toJSON", "fromJSON"] as const;

/** The functions of an `if` that ask how things went so far. */
export const statusFunctions = ["success", "failure", "always", "cancelled"] as const;

const known: ReadonlyMap<string, string> = new Map(functionNames.map((name) => [name.toLowerCase(), name]));

/** Whether there is a function of that name, in any case. */
export function isFunction(name: string): boolean {
  return known.has(name.toLowerCase());
}

export function isStatusFunction(name: string): boolean {
  return statusFunctions.some((status) => status === name.toLowerCase());
}

/** How things went so far at a place: what the status functions answer. */
export interface Progress {
  /** Nothing that came before failed or was cancelled. */
  readonly success: boolean;
  readonly failure: boolean;
  readonly cancelled: boolean;
}

/** The functions of an `if`: the same, and the status functions. */
export function withStatus(progress: Progress): Map<string, FunctionDefinition> {
  const answer = (name: string, value: boolean): [string, FunctionDefinition] => [
    name,
    { name, minArgs: 0, maxArgs: 0, call: () => new data.BooleanData(value) },
  ];
  return new Map([
    ...functions,
    ...(["success", "failure", "cancelled"] as const).map((name) => answer(name, progress[name])),
    answer("always", true),
  ]);
}

/**
 * The engine's functions, with a bound on what they build: the length of a result is computed before it is made, because one
 * `format` of a few thousand characters could otherwise fill the memory.
 */
export const functions: Map<string, FunctionDefinition> = new Map(
  [...known.keys()].map((name) => [name, bounded(name)]),
);

function bounded(name: string): FunctionDefinition {
  const original = wellKnownFunctions[name];
  if (original === undefined) throw new Error(`the expression engine has no function ${name}`);
  const call: FunctionDefinition["call"] = (...args) => {
    if (estimate(name, args) > limits.valueLength) {
      throw new Error(`the result of ${known.get(name)} would be longer than ${limits.valueLength} characters`);
    }
    return name === "fromjson" ? fromJSON(args[0]) : original.call(...args);
  };
  return { ...original, call };
}

/** An upper bound of the length of what the function returns; 0 where it cannot be longer than what goes in. */
function estimate(name: string, args: readonly data.ExpressionData[]): number {
  const [first, second] = args;
  if (first === undefined) return 0;
  if (name === "format") {
    const longest = Math.max(0, ...args.slice(1).map((arg) => arg.coerceString().length));
    const text = first.coerceString();
    return text.length + (text.split("{").length - 1) * longest;
  }
  if (name === "join" && first instanceof data.Array) {
    const separator = second === undefined ? 1 : second.coerceString().length;
    return first.values().reduce((sum, item) => sum + item.coerceString().length + separator, 0);
  }
  return 0;
}

/** As the engine's, but members named like those of every JavaScript object (`constructor`) are not lost. */
function fromJSON(value: data.ExpressionData | undefined): data.ExpressionData {
  const text = value?.coerceString() ?? "";
  if (text.trim() === "") throw new Error("fromJSON has nothing to read: its argument is empty");
  try {
    return toData(JSON.parse(text));
  } catch (error) {
    throw new Error(`fromJSON cannot read its argument: ${error instanceof Error ? error.message : error}`);
  }
}

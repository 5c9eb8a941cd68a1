import { getOwn, isObject } from "#local/apiserver/json.ts";

/** Finds the first value at a path; undefined where there is none. */
export type JsonPath = (value: unknown) => unknown;

type Step = (values: readonly unknown[]) => unknown[];

/**
 * Compiles a JSONPath as printer columns use it: `.a.b`, `['a']`, `[0]`, `[-1]`, `[*]`, `[?(@.type=="Ready")]`.
 *
 * @throws Error that names the path and the place where it cannot be read
 */
export function compileJsonPath(path: string): JsonPath {
  const steps: Step[] = [];
  let rest = path;
  while (rest !== "") {
    const read = readStep(rest);
    if (read === undefined) {
      throw new Error(`JSONPath ${JSON.stringify(path)} cannot be read from ${JSON.stringify(rest)} on`);
    }
    steps.push(read.step);
    rest = rest.slice(read.length);
  }
  return (value) => {
    let values: readonly unknown[] = [value];
    for (const step of steps) values = step(values);
    return values[0];
  };
}

function readStep(text: string): { step: Step; length: number } | undefined {
  for (const [pattern, make] of forms) {
    const match = pattern.exec(text);
    if (match === null) continue;
    return { step: make(match), length: match[0].length };
  }
  return undefined;
}

const member =
  (name: string): Step =>
  (values) =>
    values.flatMap((value) => {
      const found = isObject(value) ? getOwn(value, name) : undefined;
      return found === undefined ? [] : [found];
    });

const all: Step = (values) =>
  values.flatMap((value) => (Array.isArray(value) ? value : isObject(value) ? Object.values(value) : []));

const index =
  (at: number): Step =>
  (values) =>
    values.flatMap((value) => {
      const found: unknown = Array.isArray(value) ? value.at(at) : undefined;
      return found === undefined ? [] : [found];
    });

/** Keeps the items for which a comparison with a literal holds. */
function filter(path: string, operator: string, literal: string): Step {
  const find = compileJsonPath(path);
  const wanted = literal.startsWith("'") ? literal.slice(1, -1) : (JSON.parse(literal) as unknown);
  return (values) => all(values).filter((item) => (find(item) === wanted) === (operator === "=="));
}

const forms: readonly (readonly [RegExp, (match: RegExpExecArray) => Step])[] = [
  [/^\.([A-Za-z0-9_$-]+)/, ([, name = ""]) => member(name)],
  [/^\[['"]([^'"]+)['"]\]/, ([, name = ""]) => member(name)],
  [/^\[(-?\d+)\]/, ([, at = "0"]) => index(Number(at))],
  [/^(?:\.\*|\[\*\])/, () => all],
  [
    /^\[\?\(\s*@((?:\.[A-Za-z0-9_$-]+)+)\s*(==|!=)\s*("[^"]*"|'[^']*'|-?\d+(?:\.\d+)?|true|false)\s*\)\]/,
    ([, path = "", operator = "==", literal = "null"]) => filter(path, operator, literal),
  ],
];

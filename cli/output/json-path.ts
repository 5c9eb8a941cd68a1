import { CliError } from "../errors.ts";

type Values = readonly unknown[];
type Step = (values: Values) => unknown[];
/** A part of a template, which writes its text for one value. */
type Part = (root: unknown) => string;

/**
 * Compiles a template of kubectl's `-o jsonpath=`: text with `{...}` around paths (`{.items[*].metadata.name}`), quoted text
 * (`{"\n"}`) and `{range PATH}...{end}`. A template without braces is one path.
 *
 * @throws CliError that names what cannot be read
 */
export function compileTemplate(template: string): Part {
  const text = template.includes("{") ? template : `{${template}}`;
  const tokens = [...text.matchAll(/\{((?:"(?:[^"\\]|\\.)*"|'[^']*'|[^{}"'])*)\}|([^{]+)/gs)];
  if (tokens.reduce((sum, [whole]) => sum + whole.length, 0) !== text.length) throw unreadable(template, "a brace");
  const queue = tokens.map(([, expression, literal]) => ({ expression: expression?.trim(), literal }));
  const parts = partsUntilEnd(queue, template, false);
  return (root) => parts.map((part) => part(root)).join("");
}

interface Token {
  readonly expression: string | undefined;
  readonly literal: string | undefined;
}

function partsUntilEnd(queue: Token[], template: string, inRange: boolean): Part[] {
  const parts: Part[] = [];
  for (let token = queue.shift(); token !== undefined; token = queue.shift()) {
    const { expression, literal } = token;
    if (expression === undefined) parts.push(() => literal ?? "");
    else if (expression === "end") {
      if (!inRange) throw unreadable(template, "{end} without {range}");
      return parts;
    } else if (/^range\s/.test(expression)) {
      const find = compilePath(expression.slice(5).trim());
      const inner = partsUntilEnd(queue, template, true);
      parts.push((root) =>
        find(root)
          .map((value) => inner.map((part) => part(value)).join(""))
          .join(""),
      );
    } else if (/^["']/.test(expression)) {
      const quoted = unquoted(expression);
      parts.push(() => quoted);
    } else {
      const find = compilePath(expression);
      parts.push((root) => find(root).map(shown).join(" "));
    }
  }
  if (inRange) throw unreadable(template, "{range} without {end}");
  return parts;
}

/**
 * Finds all values at a path: `.a.b`, `['a']`, `[0]`, `[-1]`, `[1:3]`, `[*]`, `[?(@.type=="Ready")]`.
 *
 * @throws CliError that names what cannot be read
 */
export function compilePath(path: string): (root: unknown) => Values {
  const steps: Step[] = [];
  let rest = path.replace(/^[$@]/, "");
  // `metadata.name` is read as `.metadata.name`, as kubectl does.
  if (/^[A-Za-z_]/.test(rest)) rest = `.${rest}`;
  while (rest !== "" && rest !== ".") {
    const found = forms.map(([pattern, make]) => ({ match: pattern.exec(rest), make })).find(({ match }) => match);
    if (found?.match == null) throw unreadable(path, rest);
    steps.push(found.make(found.match));
    rest = rest.slice(found.match[0].length);
  }
  return (root) => steps.reduce<Values>((values, step) => step(values), [root]);
}

const unreadable = (path: string, part: string) =>
  new CliError(`jsonpath ${path} cannot be read at ${part}`, {
    advice: "Write e.g. -o jsonpath='{.status.phase}' or '{range .items[*]}{.metadata.name}{\"\\n\"}{end}'.",
  });

const shown = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

function unquoted(text: string): string {
  const inner = text.slice(1, -1);
  return inner.replace(/\\(.)/g, (_, letter: string) => ({ n: "\n", t: "\t", r: "\r" })[letter] ?? letter);
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

const member =
  (name: string): Step =>
  (values) =>
    values.flatMap((value) => (isObject(value) && Object.hasOwn(value, name) ? [value[name]] : []));

const all: Step = (values) => values.flatMap((value) => (isObject(value) ? Object.values(value) : []));

const slice =
  (from: number | undefined, to: number | undefined): Step =>
  (values) =>
    values.flatMap((value) => (Array.isArray(value) ? value.slice(from, to) : []));

const index =
  (at: number): Step =>
  (values) =>
    values.flatMap((value) => (Array.isArray(value) && value.at(at) !== undefined ? [value.at(at)] : []));

function filter(path: string, operator: string | undefined, literal: string | undefined): Step {
  const find = compilePath(path);
  if (operator === undefined || literal === undefined) return (values) => all(values).filter((v) => find(v).length > 0);
  const wanted = /^["']/.test(literal) ? unquoted(literal) : (JSON.parse(literal) as unknown);
  return (values) => all(values).filter((value) => compare(find(value)[0], operator, wanted));
}

function compare(found: unknown, operator: string, wanted: unknown): boolean {
  switch (operator) {
    case "==":
      return found === wanted;
    case "!=":
      return found !== wanted;
    default: {
      if (typeof found !== "number" || typeof wanted !== "number") return false;
      const sign = Math.sign(found - wanted);
      return operator.includes("<")
        ? sign < 0 || (sign === 0 && operator === "<=")
        : sign > 0 || (sign === 0 && operator === ">=");
    }
  }
}

const forms: readonly (readonly [RegExp, (match: RegExpExecArray) => Step])[] = [
  [/^\.((?:[A-Za-z0-9_$/-]|\\.)+)/, ([, name = ""]) => member(name.replace(/\\(.)/g, "$1"))],
  [/^\[(?:'([^']*)'|"([^"]*)")\]/, ([, single, double = ""]) => member(single ?? double)],
  [/^\[(-?\d+)\]/, ([, at = "0"]) => index(Number(at))],
  [
    /^\[(-?\d+)?:(-?\d+)?\]/,
    ([, from, to]) => slice(from === undefined ? undefined : Number(from), to === undefined ? undefined : Number(to)),
  ],
  [/^(?:\.\*|\[\*\])/, () => all],
  [
    /^\[\?\(\s*@((?:\.[A-Za-z0-9_$-]+)+)\s*(?:(==|!=|<=|>=|<|>)\s*("[^"]*"|'[^']*'|-?\d+(?:\.\d+)?|true|false))?\s*\)\]/,
    ([, path = "", operator, literal]) => filter(path, operator, literal),
  ],
];

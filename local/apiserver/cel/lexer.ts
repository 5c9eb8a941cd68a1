import { CelCompileError } from "./errors.ts";
import { readString } from "./string-literal.ts";

/** Tokens of the Common Expression Language (github.com/google/cel-spec, "Syntax"). */
export type Token =
  | { readonly kind: "identifier"; readonly text: string; readonly offset: number }
  | { readonly kind: "int" | "double"; readonly value: number; readonly offset: number }
  | { readonly kind: "string"; readonly value: string; readonly offset: number }
  | { readonly kind: "operator"; readonly text: string; readonly offset: number }
  | { readonly kind: "end"; readonly offset: number };

/** Longest first, so that `<=` is not read as `<`. */
const operators = [
  "&&",
  "||",
  "==",
  "!=",
  "<=",
  ">=",
  "<",
  ">",
  "+",
  "-",
  "*",
  "/",
  "%",
  "!",
  "?",
  ":",
  ".",
  ",",
  "(",
  ")",
  "[",
  "]",
  "{",
  "}",
];
const space = /(?:\s+|\/\/[^\n]*)+/y;
const number = /0[xX][0-9a-fA-F]+|(?:\d+\.\d+|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+/y;
const identifier = /[A-Za-z_][A-Za-z0-9_]*/y;
const quote = /([rRbB]{0,2})("""|'''|"|')/y;

/** @throws CelCompileError */
export function tokenize(source: string): Token[] {
  const tokens: Token[] = [];
  let offset = 0;
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = offset;
    return pattern.exec(source);
  };
  for (;;) {
    offset += match(space)?.[0].length ?? 0;
    if (offset >= source.length) break;
    const start = offset;
    const quoted = match(quote);
    if (quoted !== null) {
      const string = readString(source, start, quoted[1] ?? "", quoted[2] ?? "");
      tokens.push({ kind: "string", value: string.value, offset: start });
      offset = string.end;
      continue;
    }
    const digits = match(number)?.[0];
    if (digits !== undefined) {
      offset += digits.length;
      tokens.push(readNumber(source, start, digits));
      continue;
    }
    const word = match(identifier)?.[0];
    if (word !== undefined) {
      offset += word.length;
      tokens.push({ kind: "identifier", text: word, offset: start });
      continue;
    }
    const operator = operators.find((candidate) => source.startsWith(candidate, start));
    if (operator === undefined) {
      throw new CelCompileError(source, start, `unexpected character ${JSON.stringify(source[start])}`);
    }
    offset += operator.length;
    tokens.push({ kind: "operator", text: operator, offset: start });
  }
  tokens.push({ kind: "end", offset: source.length });
  return tokens;
}

function readNumber(source: string, start: number, digits: string): Token {
  const following = source[start + digits.length] ?? "";
  if (following === "u" || following === "U") {
    throw new CelCompileError(source, start, "unsigned integers are not supported; leave out the 'u'");
  }
  if (/[A-Za-z0-9_]/.test(following))
    throw new CelCompileError(source, start, `malformed number near ${digits}${following}`);
  const value = Number(digits);
  if (!/^(?:0[xX][0-9a-fA-F]+|\d+)$/.test(digits)) return { kind: "double", value, offset: start };
  if (!Number.isSafeInteger(value)) {
    throw new CelCompileError(source, start, `the integer ${digits} is beyond 2^53, which is not supported`);
  }
  return { kind: "int", value, offset: start };
}

import { CelCompileError } from "./errors.ts";

const simpleEscapes: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
  "'": "'",
  '"': '"',
  "`": "`",
  "?": "?",
};

/** Digits that follow an escape letter, and in which base. */
const numericEscapes: Readonly<Record<string, number>> = { x: 2, X: 2, u: 4, U: 8 };

/**
 * Reads a string literal that starts at `start` with a prefix (`r` for raw) and a quote, single or tripled.
 *
 * @throws CelCompileError
 */
export function readString(
  source: string,
  start: number,
  prefix: string,
  quote: string,
): { readonly value: string; readonly end: number } {
  if (/b/i.test(prefix)) throw new CelCompileError(source, start, "bytes literals are not supported");
  const raw = /r/i.test(prefix);
  let value = "";
  let at = start + prefix.length + quote.length;
  for (;;) {
    if (source.startsWith(quote, at)) return { value, end: at + quote.length };
    const char = source[at];
    if (char === undefined || (char === "\n" && quote.length === 1)) {
      throw new CelCompileError(source, start, "unterminated string");
    }
    if (char === "\\" && !raw) {
      const escaped = readEscape(source, at);
      value += escaped.value;
      at = escaped.end;
    } else {
      value += char;
      at += 1;
    }
  }
}

function readEscape(source: string, at: number): { readonly value: string; readonly end: number } {
  const letter = source[at + 1] ?? "";
  const simple = simpleEscapes[letter];
  if (simple !== undefined) return { value: simple, end: at + 2 };
  const hexDigits = numericEscapes[letter];
  const pattern = hexDigits === undefined ? /^[0-3][0-7]{2}/ : new RegExp(`^[0-9a-fA-F]{${hexDigits}}`);
  const from = hexDigits === undefined ? at + 1 : at + 2;
  const digits = pattern.exec(source.slice(from, from + 8))?.[0];
  if (digits === undefined) throw new CelCompileError(source, at, `unknown escape \\${letter}`);
  const code = Number.parseInt(digits, hexDigits === undefined ? 8 : 16);
  if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
    throw new CelCompileError(source, at, "escape is not a Unicode character");
  }
  return { value: String.fromCodePoint(code), end: from + digits.length };
}

import { type Expr, ExpressionError, Lexer, Parser } from "@actions/expressions";
import type { Token } from "@actions/expressions/lexer";
import { TokenType } from "@actions/expressions/lexer";
import { listOf } from "../field-error.ts";
import { foreignNames } from "./foreign.ts";
import { functionNames, isFunction, isStatusFunction, statusFunctions } from "./functions.ts";
import { limits } from "./limits.ts";
import type { Scope } from "./scopes.ts";

/** All contexts that some place knows. */
const contextNames = new Set(["inputs", "env", "needs", "jobs", "steps", "matrix", "strategy", "run", "job"]);

/** The tree of an expression; `column` of every token in it is its offset in the text, `line` is 0. */
export type ParseResult =
  | { readonly ok: true; readonly tree: Expr }
  | { readonly ok: false; readonly offset: number; readonly message: string; readonly advice?: string };

/**
 * Parses one expression with GitHub's engine. What the engine gets wrong is put right here: columns after a string of several
 * lines, strings with more than one doubled quote, and functions that exist on every JavaScript object.
 *
 * @param scope of the place: the names that may stand at the beginning of `a.b.c`, and whether status functions may
 */
export function parseExpression(source: string, scope: Scope): ParseResult {
  if (source.length > maxKnownLength) return parse(source, scope);
  const key = `${scope.place}\n${[...scope.contexts.keys()]}\n${source}`;
  const result = known.get(key) ?? parse(source, scope);
  if (known.size >= maxKnown) known.clear();
  known.set(key, result);
  return result;
}

/** Workflows say the same again and again, and each is compiled several times: at admission, for its status, for each run. */
const known = new Map<string, ParseResult>();
/** With at most so many, of at most so many characters, that are a few megabytes. */
const maxKnown = 2000;
const maxKnownLength = 200;

function parse(source: string, scope: Scope): ParseResult {
  if (source.trim() === "") {
    return { ok: false, offset: 0, message: "the expression is empty", advice: "Write something between the braces." };
  }
  if (source.length > limits.expressionLength) {
    return { ok: false, offset: 0, message: `the expression is longer than ${limits.expressionLength} characters` };
  }
  let tokens: Token[];
  try {
    tokens = new Lexer(source).lex().tokens;
  } catch (error) {
    return lexerError(error, source);
  }
  if (tokens.length > limits.expressionTokens) {
    return { ok: false, offset: 0, message: `the expression has more than ${limits.expressionTokens} parts` };
  }
  placeTokens(tokens, source);
  const stranger = tokens.find(
    (token, index) =>
      token.type === TokenType.IDENTIFIER &&
      tokens[index + 1]?.type === TokenType.LEFT_PAREN &&
      tokens[index - 1]?.type !== TokenType.DOT &&
      !isFunction(token.lexeme) &&
      !(scope.status && isStatusFunction(token.lexeme)),
  );
  if (stranger !== undefined) return strangerError(stranger, scope);
  const contexts = [...scope.contexts.keys()];
  try {
    return { ok: true, tree: new Parser(tokens, contexts, scope.status ? statusInfos : []).parse() };
  } catch (error) {
    if (error instanceof ExpressionError) return parserError(error, source, contexts, scope);
    return { ok: false, offset: 0, message: "the expression is nested too deeply" };
  }
}

const statusInfos = statusFunctions.map((name) => ({ name, minArgs: 0, maxArgs: 0 }));

function strangerError({ lexeme, range }: Token, scope: Scope): ParseResult {
  const offset = range.start.column;
  if (isStatusFunction(lexeme)) {
    const message = `${lexeme}() cannot be asked in ${scope.place}`;
    return { ok: false, offset, message, advice: "Ask it in an if." };
  }
  const names = scope.status ? [...functionNames, ...statusFunctions] : functionNames;
  return {
    ok: false,
    offset,
    message: `there is no function "${lexeme}"`,
    advice: foreignNames.get(lexeme.toLowerCase()) ?? `Functions are ${listOf(names)}.`,
  };
}

/** Puts offsets into the tokens. Between tokens there is only white space, so each begins at the next other character. */
function placeTokens(tokens: readonly Token[], source: string): void {
  let offset = 0;
  for (const token of tokens) {
    while (offset < source.length && /\s/.test(source[offset] ?? "") && !token.lexeme.startsWith(source[offset] ?? ""))
      offset++;
    const start = offset;
    offset += token.lexeme.length;
    token.range = { start: { line: 0, column: start }, end: { line: 0, column: offset } };
    if (token.type === TokenType.STRING) token.value = token.lexeme.slice(1, -1).replaceAll("''", "'");
  }
}

function lexerError(error: unknown, source: string): ParseResult {
  const text = error instanceof Error ? error.message : String(error);
  const position = /Located at position (\d+)/.exec(text)?.[1];
  const offset = position === undefined ? 0 : Number(position) - 1;
  const character = source[offset] ?? "";
  if (character === "'") {
    return { ok: false, offset, message: "the string is not closed", advice: "End it with a single quote." };
  }
  if (character === '"') {
    return { ok: false, offset, message: "strings stand in single quotes here", advice: "Write 'text' instead." };
  }
  const symbol = /^Unexpected symbol: '([^']*)'/.exec(text)?.[1] ?? character;
  return { ok: false, offset, message: `"${symbol}" means nothing here` };
}

function parserError(error: ExpressionError, source: string, contexts: readonly string[], scope: Scope): ParseResult {
  const offset = Math.min(error.pos.column, source.length);
  const symbol = /'(.*)'$/s.exec(error.message)?.[1] ?? "";
  if (error.message.startsWith("Unrecognized named-value")) {
    return {
      ok: false,
      offset,
      message: contextNames.has(symbol.toLowerCase())
        ? `"${symbol}" is not known in ${scope.place}`
        : `there is no "${symbol}" here`,
      advice:
        foreignNames.get(symbol.toLowerCase()) ?? `Known here: ${listOf(contexts)}. Strings stand in single quotes.`,
    };
  }
  if (error.message.startsWith("Unexpected end") || symbol === "EOF" || symbol === "") {
    return { ok: false, offset, message: "the expression ends too early" };
  }
  if (error.message.startsWith("Unexpected symbol"))
    return { ok: false, offset, message: `"${symbol}" cannot stand here` };
  const [what = error.message] = error.message.split(":");
  return { ok: false, offset, message: `${what.charAt(0).toLowerCase()}${what.slice(1)} (${symbol})` };
}

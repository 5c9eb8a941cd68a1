import { type BinaryOperator, type Expr, type Macro, macros } from "./ast.ts";
import { CelCompileError } from "./errors.ts";
import { type Token, tokenize } from "./lexer.ts";

/** Words that the language keeps for itself (cel-spec, "Syntax", RESERVED). */
export const reserved: ReadonlySet<string> = new Set([
  "as",
  "break",
  "const",
  "continue",
  "else",
  "for",
  "function",
  "if",
  "import",
  "let",
  "loop",
  "package",
  "namespace",
  "return",
  "var",
  "void",
  "while",
]);

/** Operators by how tightly they bind, loosest first; all are left-associative. */
const levels: readonly (readonly BinaryOperator[])[] = [
  ["==", "!=", "<", "<=", ">", ">=", "in"],
  ["+", "-"],
  ["*", "/", "%"],
];

/** Deeper nesting would endanger the stack; the real parser allows 250. */
const maxDepth = 250;

/**
 * Parses an expression.
 *
 * @throws CelCompileError with line and column.
 */
export function parseCel(source: string): Expr {
  const parser = new Parser(source);
  return parser.parse();
}

class Parser {
  readonly #source: string;
  readonly #tokens: readonly Token[];
  #position = 0;
  #depth = 0;

  constructor(source: string) {
    this.#source = source;
    this.#tokens = tokenize(source);
  }

  parse(): Expr {
    const expr = this.#expression();
    if (this.#peek().kind !== "end") throw this.#unexpected();
    return expr;
  }

  #peek(): Token {
    return this.#tokens[this.#position] ?? { kind: "end", offset: this.#source.length };
  }

  #next(): Token {
    const token = this.#peek();
    this.#position += 1;
    return token;
  }

  /** Whether the next token is this operator or word; if so it is consumed. */
  #accept(text: string): boolean {
    const token = this.#peek();
    if ((token.kind !== "operator" && token.kind !== "identifier") || token.text !== text) return false;
    this.#position += 1;
    return true;
  }

  #expect(text: string): void {
    if (!this.#accept(text)) throw this.#unexpected(`expected '${text}'`);
  }

  #fail(offset: number, problem: string): CelCompileError {
    return new CelCompileError(this.#source, offset, problem);
  }

  #unexpected(hint = ""): CelCompileError {
    const token = this.#peek();
    const what =
      token.kind === "end" ? "end of expression" : "text" in token ? `'${token.text}'` : JSON.stringify(token.value);
    return this.#fail(token.offset, `syntax error: unexpected ${what}${hint === "" ? "" : `, ${hint}`}`);
  }

  #expression(): Expr {
    this.#depth += 1;
    if (this.#depth > maxDepth) throw this.#fail(this.#peek().offset, `nested deeper than ${maxDepth}`);
    const test = this.#or();
    const { offset } = this.#peek();
    let result = test;
    if (this.#accept("?")) {
      const then = this.#or();
      this.#expect(":");
      result = { kind: "conditional", test, then, otherwise: this.#expression(), offset };
    }
    this.#depth -= 1;
    return result;
  }

  #or(): Expr {
    let left = this.#and();
    for (;;) {
      const { offset } = this.#peek();
      if (!this.#accept("||")) return left;
      left = { kind: "logic", operator: "||", left, right: this.#and(), offset };
    }
  }

  #and(): Expr {
    let left = this.#binary(0);
    for (;;) {
      const { offset } = this.#peek();
      if (!this.#accept("&&")) return left;
      left = { kind: "logic", operator: "&&", left, right: this.#binary(0), offset };
    }
  }

  #binary(level: number): Expr {
    const operators = levels[level];
    if (operators === undefined) return this.#unary();
    let left = this.#binary(level + 1);
    for (;;) {
      const { offset } = this.#peek();
      const operator = operators.find((candidate) => this.#accept(candidate));
      if (operator === undefined) return left;
      left = { kind: "binary", operator, left, right: this.#binary(level + 1), offset };
    }
  }

  #unary(): Expr {
    const token = this.#peek();
    for (const operator of ["!", "-"] as const) {
      if (!this.#accept(operator)) continue;
      this.#depth += 1;
      if (this.#depth > maxDepth) throw this.#fail(token.offset, `nested deeper than ${maxDepth}`);
      const operand = this.#unary();
      this.#depth -= 1;
      return { kind: "unary", operator, operand, offset: token.offset };
    }
    return this.#member();
  }

  #member(): Expr {
    let expr = this.#primary();
    for (;;) {
      const { offset } = this.#peek();
      if (this.#accept(".")) {
        if (this.#accept("?")) throw this.#fail(offset, "optional selection (.?) is not supported");
        const name = this.#fieldName();
        expr = this.#accept("(")
          ? this.#method(expr, name, offset)
          : { kind: "select", operand: expr, field: name, offset };
      } else if (this.#accept("[")) {
        if (this.#accept("?")) throw this.#fail(offset, "optional indexing ([?]) is not supported");
        const index = this.#expression();
        this.#expect("]");
        expr = { kind: "index", operand: expr, index, offset };
      } else if (this.#accept("{")) {
        throw this.#fail(offset, "message literals are not supported");
      } else {
        return expr;
      }
    }
  }

  #fieldName(): string {
    const token = this.#next();
    if (token.kind !== "identifier") {
      this.#position -= 1;
      throw this.#unexpected("expected a field name");
    }
    return token.text;
  }

  #method(target: Expr, name: string, offset: number): Expr {
    const args = this.#list(")");
    if (!macros.has(name)) return { kind: "call", name, target, args, offset };
    const [variable, ...bodies] = args;
    const most = name === "map" ? 2 : 1;
    if (variable === undefined || bodies.length < 1 || bodies.length > most) {
      throw this.#fail(
        offset,
        `the macro ${name}() takes a variable and ${most === 1 ? "one expression" : "one or two expressions"}`,
      );
    }
    if (variable.kind !== "identifier")
      throw this.#fail(variable.offset, `the first argument of ${name}() must be a simple name`);
    const body = bodies[bodies.length - 1] ?? variable;
    const filter = bodies.length === 2 ? bodies[0] : undefined;
    return { kind: "macro", macro: name as Macro, operand: target, variable: variable.name, filter, body, offset };
  }

  /** Comma-separated expressions up to a closing token; a trailing comma is allowed in lists and maps only. */
  #list(close: ")" | "]"): Expr[] {
    const items: Expr[] = [];
    while (!this.#accept(close)) {
      if (items.length > 0) {
        this.#expect(",");
        if (close === "]" && this.#accept(close)) break;
      }
      items.push(this.#expression());
    }
    return items;
  }

  #primary(): Expr {
    const token = this.#next();
    const { offset } = token;
    switch (token.kind) {
      case "int":
      case "double":
      case "string":
        return { kind: "literal", type: token.kind, value: token.value, offset };
      case "identifier":
        return this.#named(token.text, offset);
      case "operator":
        if (token.text === "(") {
          const expr = this.#expression();
          this.#expect(")");
          return expr;
        }
        if (token.text === "[") return { kind: "list", items: this.#list("]"), offset };
        if (token.text === "{") return { kind: "map", entries: this.#entries(), offset };
        break;
      case "end":
        break;
    }
    this.#position -= 1;
    throw this.#unexpected();
  }

  #named(name: string, offset: number): Expr {
    if (name === "true" || name === "false") return { kind: "literal", type: "bool", value: name === "true", offset };
    if (name === "null") return { kind: "literal", type: "null", value: null, offset };
    if (reserved.has(name) || name === "in") throw this.#fail(offset, `'${name}' is a reserved word`);
    if (!this.#accept("(")) return { kind: "identifier", name, offset };
    const args = this.#list(")");
    if (name !== "has") return { kind: "call", name, target: undefined, args, offset };
    const [field] = args;
    if (args.length !== 1 || field?.kind !== "select") {
      throw this.#fail(offset, "has() takes one field selection, as in has(self.spec)");
    }
    return { kind: "has", operand: field.operand, field: field.field, offset };
  }

  #entries(): [Expr, Expr][] {
    const entries: [Expr, Expr][] = [];
    while (!this.#accept("}")) {
      if (entries.length > 0) {
        this.#expect(",");
        if (this.#accept("}")) break;
      }
      if (this.#accept("?")) throw this.#fail(this.#peek().offset, "optional entries are not supported");
      const key = this.#expression();
      this.#expect(":");
      entries.push([key, this.#expression()]);
    }
    return entries;
  }
}

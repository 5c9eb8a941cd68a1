/** Syntax of an expression, as written: names are not resolved and types not known. */
export type Expr =
  | {
      readonly kind: "literal";
      readonly type: "int" | "double" | "string" | "bool" | "null";
      readonly value: unknown;
      readonly offset: number;
    }
  | { readonly kind: "identifier"; readonly name: string; readonly offset: number }
  | { readonly kind: "select"; readonly operand: Expr; readonly field: string; readonly offset: number }
  | { readonly kind: "has"; readonly operand: Expr; readonly field: string; readonly offset: number }
  | { readonly kind: "index"; readonly operand: Expr; readonly index: Expr; readonly offset: number }
  | { readonly kind: "unary"; readonly operator: "!" | "-"; readonly operand: Expr; readonly offset: number }
  | {
      readonly kind: "binary";
      readonly operator: BinaryOperator;
      readonly left: Expr;
      readonly right: Expr;
      readonly offset: number;
    }
  | {
      readonly kind: "logic";
      readonly operator: "&&" | "||";
      readonly left: Expr;
      readonly right: Expr;
      readonly offset: number;
    }
  | {
      readonly kind: "conditional";
      readonly test: Expr;
      readonly then: Expr;
      readonly otherwise: Expr;
      readonly offset: number;
    }
  | { readonly kind: "list"; readonly items: readonly Expr[]; readonly offset: number }
  | { readonly kind: "map"; readonly entries: readonly (readonly [Expr, Expr])[]; readonly offset: number }
  | {
      readonly kind: "call";
      readonly name: string;
      readonly target: Expr | undefined;
      readonly args: readonly Expr[];
      readonly offset: number;
    }
  | {
      readonly kind: "macro";
      readonly macro: Macro;
      readonly operand: Expr;
      readonly variable: string;
      readonly filter: Expr | undefined;
      readonly body: Expr;
      readonly offset: number;
    };

/** Operators whose both sides are always evaluated. */
export type BinaryOperator = "==" | "!=" | "<" | "<=" | ">" | ">=" | "+" | "-" | "*" | "/" | "%" | "in";

/** Loops over a list or the keys of a map. */
export type Macro = "all" | "exists" | "exists_one" | "filter" | "map";

/** Names that are macros when they are called on something. */
export const macros: ReadonlySet<string> = new Set<Macro>(["all", "exists", "exists_one", "filter", "map"]);

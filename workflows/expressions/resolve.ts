import type { Expr } from "@actions/expressions";
import {
  Binary,
  ContextAccess,
  FunctionCall,
  Grouping,
  IndexAccess,
  Literal,
  Logical,
  Star,
  Unary,
} from "@actions/expressions/ast";
import { TokenType } from "@actions/expressions/lexer";
import { listOf } from "../field-error.ts";
import { quotesAdvice } from "../yaml-words.ts";
import type { Scope } from "./scopes.ts";
import { type Shape, same } from "./shape.ts";

/** What an expression refers to. */
export interface Reference {
  /**
   * Names from the context on, spelled as the spec spells them, e.g. `["steps", "build", "outputs", "tag"]`. Without the last
   * key it means all values together; what follows a whole context or a deep value is the evaluator's.
   */
  readonly path: readonly string[];
}

/** A name that does not exist, with the offset in the expression. */
export interface ResolveError {
  readonly offset: number;
  readonly message: string;
  readonly advice?: string;
}

export interface Resolved {
  /** The nodes of the tree that stand for values of contexts. A node with a key that is computed is followed at run time. */
  readonly references: ReadonlyMap<Expr, Reference>;
  readonly errors: readonly ResolveError[];
  /** Names of the functions that are called, in lower case. */
  readonly functions: ReadonlySet<string>;
}

/** One step of `a.b['c']`: the name, or a computed index, and where it stands. */
interface Link {
  readonly node: IndexAccess;
  readonly name: string | undefined;
  readonly star: boolean;
  readonly offset: number;
}

/** Follows every context access of an expression through the scope. */
export function resolveReferences(tree: Expr, scope: Scope): Resolved {
  const references = new Map<Expr, Reference>();
  const errors: ResolveError[] = [];
  const functions = new Set<string>();
  /** @param whole whether an object can stand there: as an argument of toJSON, for example. */
  const visit = (node: Expr, whole = false): void => {
    if (node instanceof Grouping) visit(node.group, whole);
    else if (node instanceof Unary) visit(node.expr);
    else if (node instanceof Logical || node instanceof FunctionCall) {
      if (node instanceof FunctionCall) functions.add(node.functionName.lexeme.toLowerCase());
      for (const arg of node.args) visit(arg, node instanceof FunctionCall);
    } else if (node instanceof Binary) {
      visit(node.left);
      visit(node.right);
    } else if (node instanceof ContextAccess || node instanceof IndexAccess) access(node, whole);
  };
  const access = (node: ContextAccess | IndexAccess, whole: boolean): void => {
    const links: Link[] = [];
    let root: Expr = node;
    for (; root instanceof IndexAccess; root = root.expr) {
      links.unshift(linkOf(root));
      if (!(root.index instanceof Literal || root.index instanceof Star)) visit(root.index);
    }
    if (!(root instanceof ContextAccess)) {
      visit(root);
      return;
    }
    const result = follow(root, links, scope, whole);
    if ("message" in result) errors.push(result);
    else references.set(result.node, result.reference);
  };
  visit(tree);
  return { references, errors, functions };
}

function linkOf(node: IndexAccess): Link {
  if (node.index instanceof Literal) {
    return {
      node,
      name: node.index.literal.coerceString(),
      star: false,
      offset: node.index.token.range.start.column,
    };
  }
  return { node, name: undefined, star: node.index instanceof Star, offset: offsetOf(node) };
}

function follow(
  root: ContextAccess,
  links: readonly Link[],
  scope: Scope,
  whole: boolean,
): { node: Expr; reference: Reference } | ResolveError {
  const found = [...scope.contexts].find(([name]) => same(name, root.name.lexeme));
  if (found === undefined) {
    return { offset: root.name.range.start.column, message: `there is no "${root.name.lexeme}" here` };
  }
  const path = [found[0]];
  let shape: Shape = found[1];
  let node: Expr = root;
  let text = path[0];
  for (const [index, link] of links.entries()) {
    if (shape.kind === "values") return lastLink(links, index, shape, path, text);
    if (shape.kind === "leaf") return { offset: link.offset, message: `"${text}" is a text and has no members` };
    if (link.star && !whole) {
      const message = `"${text}.*" is a list, which has no text of its own`;
      return { offset: link.offset, message, advice: "Hand it to contains, join or toJSON." };
    }
    if (link.star) return allMembers(links, index, shape, node, path);
    if (link.name === undefined) {
      return {
        offset: link.offset,
        message: `the ${shape.noun} after "${text}" must be written out`,
        advice: `Known here: ${listOf(shape.names())}.`,
      };
    }
    const { name }: Link = link;
    const member = shape.find(name);
    if (member === undefined) {
      return {
        offset: link.offset,
        message: shape.explain?.(name) ?? `there is no ${shape.noun} "${name}" in ${text}`,
        advice: `Known here: ${listOf(shape.names())}.`,
      };
    }
    path.push(member.name);
    text = path.join(".");
    shape = member.shape;
    node = link.node;
  }
  if (shape.kind === "leaf" || whole) return { node, reference: { path } };
  const [example = "NAME"] = shape.kind === "members" ? shape.names() : [];
  return {
    offset: offsetOf(node),
    message: `"${text}" has no value of its own`,
    advice: `Go on to a value, for example ${text}.${example}, or write toJSON(${text}).`,
  };
}

/** `needs.*.result`: the names after the star must be known to some member. The evaluator goes through the members. */
function allMembers(
  links: readonly Link[],
  index: number,
  shape: Shape & { kind: "members" },
  node: Expr,
  path: readonly string[],
): { node: Expr; reference: Reference } | ResolveError {
  const next = links[index + 1];
  const [sample = ""] = shape.names();
  const inner = shape.find(sample)?.shape;
  const unknown = next?.name !== undefined && inner?.kind === "members" && inner.find(next.name) === undefined;
  if (!unknown || next === undefined) return { node, reference: { path } };
  return {
    offset: next.offset,
    message: `there is no ${inner.noun} "${next.name}" in ${path.join(".")}.*`,
    advice: `Known here: ${listOf(inner.names())}.`,
  };
}

/** The key of a value. There may be nothing after it: values of contexts are texts. */
function lastLink(
  links: readonly Link[],
  index: number,
  shape: Shape & { kind: "values" },
  path: readonly string[],
  text: string | undefined,
): { node: Expr; reference: Reference } | ResolveError {
  const link = links[index];
  const next = links[index + 1];
  if (link === undefined) throw new Error("the link exists: the caller found it");
  if (link.star) {
    return {
      offset: link.offset,
      message: `"*" cannot follow "${text}"`,
      advice: `Write one ${shape.noun}, or toJSON(${text}) for all.`,
    };
  }
  if (next !== undefined && shape.deep !== true) {
    return {
      offset: next.offset,
      message: `an ${shape.noun} is a text and has no members`,
      advice: "If it is JSON, write fromJSON(...) around it and go on from there.",
    };
  }
  const { name } = link;
  if (name === undefined) return { node: link.node, reference: { path } };
  if (shape.keys === undefined) return { node: link.node, reference: { path: [...path, name] } };
  const key = shape.keys.find((known) => known === name) ?? shape.keys.find((known) => same(known, name));
  if (key !== undefined) return { node: link.node, reference: { path: [...path, key] } };
  return {
    offset: link.offset,
    message: `there is no ${shape.noun} "${name}" in ${text}`,
    advice: quotesAdvice(name, shape.keys) ?? `Declared there: ${listOf(shape.keys)}.`,
  };
}

/** Offset of the first token of a node that has one. */
function offsetOf(node: Expr): number {
  if (node instanceof Literal) return node.token.range.start.column;
  if (node instanceof ContextAccess) return node.name.range.start.column;
  if (node instanceof IndexAccess) return offsetOf(node.expr);
  if (node instanceof Grouping) return offsetOf(node.group);
  if (node instanceof FunctionCall) return node.functionName.range.start.column;
  if (node instanceof Unary) return node.operator.range.start.column;
  if (node instanceof Binary) return offsetOf(node.left);
  if (node instanceof Logical) return offsetOf(node.args[0] ?? node);
  return 0;
}

/** Whether the operator is `||`. */
export function isOr(node: Logical): boolean {
  return node.operator.type === TokenType.OR;
}

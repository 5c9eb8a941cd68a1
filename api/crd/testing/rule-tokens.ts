/**
 * What a CEL rule of ours is made of. Rules keep to a few operations that cost little and that the embedded API server has too;
 * everything else is refused here, when the rules are tested, and not by a cluster.
 */

/** A chain of members that a rule reads, e.g. `self.mode.task` as `["self", "mode", "task"]`. */
export type MemberChain = readonly string[];

export interface ParsedRule {
  readonly chains: readonly MemberChain[];
  /** Why the rule is refused; empty when it keeps to the allowed operations. */
  readonly faults: readonly string[];
}

const token = /\s*('(?:[^'\\]|\\.)*'|\d+|[A-Za-z_]\w*|==|!=|<=|&&|\|\||[!<+?:()[\]{},.])/y;
const functions: ReadonlySet<string> = new Set(["has", "size"]);
const methods: ReadonlySet<string> = new Set(["hasValue", "value"]);
const roots: ReadonlySet<string> = new Set(["self", "oldSelf"]);
const words: ReadonlySet<string> = new Set(["in", "true", "false", "null"]);
const isName = (text: string | undefined) => text !== undefined && /^[A-Za-z_]/.test(text);

/** Splits a rule into tokens and checks each against the allowed operations. */
export function parseRule(rule: string): ParsedRule {
  const { tokens, rest } = split(rule);
  const faults: string[] = rest === "" ? [] : [`cannot read "${rest}"`];
  const chains: string[][] = [];
  for (const [index, text] of tokens.entries()) {
    const before = tokens[index - 1];
    const after = tokens[index + 1];
    if (text === "[" && (isName(before) || before === "]" || before === ")") && before !== "in") {
      faults.push("only literal maps are indexed"); // a list may be shorter, and its items cost more
    }
    if (!isName(text)) continue;
    if (before === ".") {
      if (after === "(" && !methods.has(text)) faults.push(`method ${text}`);
      if (after !== "(") chains.at(-1)?.push(fieldName(text));
    } else if (roots.has(text)) chains.push([text]);
    else if (after === "(" ? !functions.has(text) && text !== "in" : !words.has(text)) faults.push(`name ${text}`);
  }
  return { chains, faults };
}

function split(rule: string): { tokens: string[]; rest: string } {
  const tokens: string[] = [];
  token.lastIndex = 0;
  let end = 0;
  for (let match = token.exec(rule); match !== null; match = token.exec(rule)) {
    tokens.push(match[1] ?? "");
    end = token.lastIndex;
  }
  return { tokens, rest: rule.slice(end).trim() };
}

/** Kubernetes writes reserved words and odd characters of field names so that CEL can read them. */
function fieldName(name: string): string {
  const word = /^__([a-z]+)__$/.exec(name);
  if (word?.[1] !== undefined) return word[1];
  return name.replaceAll("__dash__", "-").replaceAll("__dot__", ".").replaceAll("__slash__", "/");
}

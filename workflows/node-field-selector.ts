/** What a selector can ask of a node: a job, a step or a gate of a WorkflowRun. */
export const nodeFields = ["name", "job", "step", "displayName", "phase", "type"] as const;
export type NodeField = (typeof nodeFields)[number];

/** A job or a step as selectors see it; a field that it does not have is empty. */
export type Node = Readonly<Record<NodeField, string>>;

interface Term {
  readonly field: NodeField;
  readonly equal: boolean;
  readonly value: string;
}

/** All of its terms must hold; a selector without terms matches every node. */
export type NodeFieldSelector = readonly Term[];

export type ParsedSelector =
  | { readonly ok: true; readonly selector: NodeFieldSelector }
  | { readonly ok: false; readonly message: string };

/**
 * Reads a node field selector: the syntax of Kubernetes field selectors, `FIELD=VALUE`, `==` or `!=`, with a comma between terms, all
 * of which must hold. In a value `\`, `,` and `=` stand behind a backslash. An unknown field is an error: compared as empty, a typo in
 * a `!=` would match everything.
 */
export function parseNodeFieldSelector(text: string): ParsedSelector {
  const terms: Term[] = [];
  for (const part of splitAtCommas(text)) {
    if (part.trim() === "") continue;
    const match = /^\s*([^=!\s]*)\s*(==|!=|=)([\s\S]*)$/.exec(part);
    const [, field = "", operator, raw = ""] = match ?? [];
    if (operator === undefined) {
      return { ok: false, message: `"${part.trim()}" is no term: write FIELD=VALUE or FIELD!=VALUE` };
    }
    const known = nodeFields.find((each) => each === field);
    if (known === undefined) {
      return { ok: false, message: `there is no field "${field}": use ${nodeFields.join(", ")}` };
    }
    const value = plainValue(raw.trim());
    if (value === undefined) {
      return {
        ok: false,
        message: `"${part.trim()}": in a value write \\\\, \\, and \\= for a backslash, comma or equals sign`,
      };
    }
    terms.push({ field: known, equal: operator !== "!=", value });
  }
  return { ok: true, selector: terms };
}

/** Whether every term holds for the node. */
export function matchesNode(selector: NodeFieldSelector, node: Node): boolean {
  return selector.every(({ field, equal, value }) => (node[field] === value) === equal);
}

function splitAtCommas(text: string): string[] {
  return text.match(/(?:\\[\s\S]|[^,\\]|\\$)+/g) ?? [];
}

/** Undefined when a backslash stands before anything else, or an equals sign stands without one. */
function plainValue(raw: string): string | undefined {
  let value = "";
  for (let at = 0; at < raw.length; at++) {
    const char = raw.charAt(at);
    if (char === "=") return undefined;
    if (char !== "\\") {
      value += char;
      continue;
    }
    const next = raw.charAt(++at);
    if (!["\\", ",", "="].includes(next)) return undefined;
    value += next;
  }
  return value;
}

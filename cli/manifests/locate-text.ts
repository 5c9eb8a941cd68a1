import { isAlias, type Node, Scalar } from "yaml";
import { valueAt } from "./locate.ts";

/**
 * Offset of a place inside the text of a field, e.g. of an expression in a script; undefined where the file writes the text in a form
 * in which its lines are not those of the file.
 *
 * @param source the whole file
 * @param line and column in the text, from 1
 */
export function locateText(
  root: Node | null,
  path: string,
  source: string,
  { line, column }: { readonly line: number; readonly column: number },
): number | undefined {
  const node = valueAt(root, path);
  if (!(node instanceof Scalar) || isAlias(node) || typeof node.value !== "string") return undefined;
  const start = node.range?.[0];
  if (start === undefined || start === null) return undefined;
  switch (node.type) {
    case "BLOCK_LITERAL":
      return inBlock(source, start, line, column);
    case "PLAIN":
      return line === 1 ? start + column - 1 : undefined;
    case "QUOTE_SINGLE":
    case "QUOTE_DOUBLE":
      return line === 1 ? inQuotes(source, start, column) : undefined;
    default:
      return undefined;
  }
}

/** The lines of `|` are those of the file below its header, behind an indentation that is the same for all. */
function inBlock(source: string, header: number, line: number, column: number): number | undefined {
  let at = source.indexOf("\n", header) + 1;
  if (at === 0) return undefined;
  const explicit = /^[|>][+-]?([1-9])/.exec(source.slice(header, header + 3));
  // With a number in the header the indentation depends on what stands around; such blocks are rare.
  if (explicit !== null) return undefined;
  const indent = /^(?: *\r?\n)*( *)\S/.exec(source.slice(at))?.[1]?.length;
  if (indent === undefined) return undefined;
  for (let n = 1; n < line; n++) {
    const next = source.indexOf("\n", at);
    if (next < 0) return undefined;
    at = next + 1;
  }
  return at + indent + column - 1;
}

/** A doubled quote, or a backslash with what follows it, is one character of the text. */
function inQuotes(source: string, start: number, column: number): number {
  const quote = source[start];
  let at = start + 1;
  for (let n = 1; n < column && at < source.length; n++) {
    const long = quote === "'" ? "''" : "\\";
    if (!source.startsWith(long, at)) at++;
    else at += quote === "'" ? 2 : escapeLength(source[at + 1] ?? "");
  }
  return at;
}

const escapeLength = (kind: string): number => ({ x: 4, u: 6, U: 10 })[kind] ?? 2;

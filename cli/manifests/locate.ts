import { isAlias, isMap, isPair, isScalar, isSeq, type Node, type Pair } from "yaml";

/**
 * Offset of the field that a path of the API server names (`spec.jobs[build].steps[0].name`, `spec.jobs.build.needs`), or of the
 * nearest field above it that is written down: what is missing has no place of its own.
 */
export function locate(root: Node | null, path: string): number {
  return walk(root, path).offset;
}

/** The value of the field itself; undefined where it is not written down. */
export function valueAt(root: Node | null, path: string): unknown {
  const { node, rest } = walk(root, path);
  return rest === "" ? node : undefined;
}

function walk(root: Node | null, path: string): { offset: number; node: unknown; rest: string } {
  let node: unknown = root;
  let offset = root?.range?.[0] ?? 0;
  let rest = path;
  while (rest !== "" && !isAlias(node)) {
    const next = isSeq(node) ? item(node.items, rest) : isMap(node) ? member(node.items, rest) : undefined;
    if (next === undefined) break;
    offset = next.offset ?? offset;
    node = next.value;
    rest = next.rest;
  }
  return { offset, node, rest };
}

interface Found {
  readonly offset: number | undefined;
  readonly value: unknown;
  readonly rest: string;
}

const startOf = (node: unknown) => (node as Node | null)?.range?.[0];

function item(items: readonly unknown[], path: string): Found | undefined {
  const match = /^\[(\d+)\]/.exec(path);
  const value = match === null ? undefined : items[Number(match[1])];
  if (match === null || value === undefined) return undefined;
  return { offset: startOf(value), value, rest: path.slice(match[0].length) };
}

/** Names may hold dots and brackets, so the longest key that the path goes on with is the one that is meant. */
function member(pairs: readonly (Pair | unknown)[], path: string): Found | undefined {
  let found: Found | undefined;
  let longest = -1;
  for (const pair of pairs) {
    if (!isPair(pair) || !isScalar(pair.key)) continue;
    const name = String(pair.key.value);
    const rest = after(path, name);
    if (rest === undefined || name.length <= longest) continue;
    longest = name.length;
    found = { offset: startOf(pair.key), value: pair.value, rest };
  }
  return found;
}

/** What follows a member in a path; undefined when the path goes on with something else. */
function after(path: string, name: string): string | undefined {
  for (const form of [`[${name}]`, `.${name}`, name]) {
    if (!path.startsWith(form)) continue;
    const rest = path.slice(form.length);
    if (rest === "" || rest.startsWith(".") || rest.startsWith("[")) return rest;
  }
  return undefined;
}

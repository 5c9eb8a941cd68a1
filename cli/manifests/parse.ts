import { type Document, isAlias, isScalar, LineCounter, type Node, parseAllDocuments, visit } from "yaml";
import { isTruthWord } from "#workflows/yaml-words.ts";
import { locate, valueAt } from "./locate.ts";
import { locateText } from "./locate-text.ts";
import type { Position, Problem } from "./problem.ts";

/** A value as it is read, and as the file spells it where that is known. */
export interface Scalar {
  readonly value: unknown;
  readonly source: string | undefined;
}

/** One document of a file, read but not judged. */
export interface ParsedDocument {
  readonly file: string;
  readonly value: unknown;
  /**
   * Where the field of a path is written, or the nearest one above it.
   *
   * @param inText a place in the text of the field, for the place in the file; where that cannot be told, the field is meant
   */
  at(path: string, inText?: Position): Position;
  /** The number, the truth value or the text that is written at a path; undefined where none is. */
  scalar(path: string): Scalar | undefined;
  /** A line of the file, from 1. */
  line(number: number): string;
}

export interface Parsed {
  readonly documents: readonly ParsedDocument[];
  readonly problems: readonly Problem[];
}

/**
 * YAML as kubectl reads it, which is YAML 1.1 without its times and base-60 numbers, and without types that JSON has not: a manifest
 * must not mean one thing here and another one on a real cluster.
 */
const options = {
  version: "1.1",
  prettyErrors: false,
  // The library would write its warnings past us.
  logLevel: "error",
  customTags: (tags: readonly unknown[]) => tags.filter((tag) => !isForeign(tag)),
} as const;

const foreign = new Set(["timestamp", "binary", "omap", "pairs", "set"].map((name) => `tag:yaml.org,2002:${name}`));

function isForeign(tag: unknown): boolean {
  const { tag: uri = "", format } = tag as { tag?: string; format?: string };
  return foreign.has(uri) || format === "TIME";
}

/** The documents of a file, JSON included. Documents without content are left out. */
export function parseManifests(file: string, text: string): Parsed {
  const lines = new LineCounter();
  const fileLines = text.split(/\r?\n/);
  const documents: ParsedDocument[] = [];
  const problems: Problem[] = [];
  let read: Document[] = [];
  try {
    const all = parseAllDocuments(text, { ...(options as object), lineCounter: lines });
    if (!("empty" in all)) read = all as Document[];
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    problems.push({ file, line: 1, column: 1, message: tooDeep });
  }
  for (const document of read) {
    const place = (offset: number): Position => position(lines, offset);
    // What follows the first error of a document is mostly its echo. A warning is a tag that nobody knows.
    const [error] = [...document.errors, ...document.warnings];
    if (error !== undefined) {
      const word = error.code === "DUPLICATE_KEY" ? /^\w+/.exec(text.slice(error.pos[0]))?.[0] : undefined;
      const why = word !== undefined && isTruthWord(word) ? `: without quotes YAML reads ${word} as true or false` : "";
      const message = endOfStack.test(error.message) ? tooDeep : `${lowerFirst(error.message)}${why}`;
      problems.push({ file, ...place(error.pos[0]), message });
      continue;
    }
    const root = document.contents as Node | null;
    if (root === null) continue;
    const fault = faultOf(document);
    if (fault !== undefined) {
      problems.push({ file, ...place(fault.offset), message: fault.message });
      continue;
    }
    try {
      const value = document.toJS() as unknown;
      if (value === null || value === undefined) continue;
      documents.push({
        file,
        value,
        at: (path, inText) => place((inText && locateText(root, path, text, inText)) ?? locate(root, path)),
        scalar: (path) => scalarOf(valueAt(root, path)),
        line: (number) => fileLines[number - 1] ?? "",
      });
    } catch (error) {
      // So many aliases that the document would explode.
      const message = error instanceof RangeError ? tooDeep : lowerFirst(whyOf(error));
      problems.push({ file, ...place(root.range?.[0] ?? 0), message });
    }
  }
  return { documents, problems };
}

const scalarOf = (node: unknown): Scalar | undefined =>
  isScalar(node) ? { value: node.value, source: node.source } : undefined;

/** What YAML allows and JSON does not, and what the library would report without a place. */
function faultOf(document: Document): { readonly offset: number; readonly message: string } | undefined {
  let fault: { offset: number; message: string } | undefined;
  visit(document, {
    Pair(_, { key }) {
      if (isScalar(key) || isAlias(key)) return undefined;
      fault = { offset: (key as Node | null)?.range?.[0] ?? 0, message: "a key must be text" };
      return visit.BREAK;
    },
    Scalar(_, { value, range }) {
      if (typeof value !== "number" || Number.isFinite(value)) return undefined;
      fault = { offset: range?.[0] ?? 0, message: "a number must be finite" };
      return visit.BREAK;
    },
    Alias(_, alias, path) {
      const target = alias.resolve(document);
      if (target !== undefined && !path.includes(target)) return undefined;
      const message = target === undefined ? "there is no anchor" : "an alias cannot stand in its own anchor,";
      fault = { offset: alias.range?.[0] ?? 0, message: `${message} &${alias.source}` };
      return visit.BREAK;
    },
  });
  return fault;
}

function position(lines: LineCounter, offset: number): Position {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(1, line), column: Math.max(1, col) };
}

/** The library's parser is a recursion, and now and then reports its end as if it were in the text. */
const endOfStack = /^Maximum call stack/;
const tooDeep = "lists and maps are nested too deeply";

const whyOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Messages stand behind a colon. */
function lowerFirst(message: string): string {
  return `${message.charAt(0).toLowerCase()}${message.slice(1)}`.replace(/\.$/, "");
}

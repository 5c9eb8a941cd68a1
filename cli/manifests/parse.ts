import { type Document, LineCounter, type Node, parseAllDocuments } from "yaml";
import { locate } from "./locate.ts";
import type { Position, Problem } from "./problem.ts";

/** One document of a file, read but not judged. */
export interface ParsedDocument {
  readonly file: string;
  readonly value: unknown;
  /** Where the field of a path is written, or the nearest one above it. */
  at(path: string): Position;
}

export interface Parsed {
  readonly documents: readonly ParsedDocument[];
  readonly problems: readonly Problem[];
}

/**
 * YAML as kubectl reads it, which is YAML 1.1 without its times and base-60 numbers: a manifest must not mean one thing here and
 * another one on a real cluster.
 */
const options = {
  version: "1.1",
  prettyErrors: false,
  customTags: (tags: readonly unknown[]) => tags.filter((tag) => !isTime(tag)),
} as const;

function isTime(tag: unknown): boolean {
  const { tag: uri, format } = tag as { tag?: string; format?: string };
  return uri === "tag:yaml.org,2002:timestamp" || format === "TIME";
}

/** The documents of a file, JSON included. Documents without content are left out. */
export function parseManifests(file: string, text: string): Parsed {
  const lines = new LineCounter();
  const read = parseAllDocuments(text, { ...(options as object), lineCounter: lines });
  const documents: ParsedDocument[] = [];
  const problems: Problem[] = [];
  for (const document of "empty" in read ? [] : (read as Document[])) {
    const place = (offset: number): Position => position(lines, offset);
    if (document.errors.length > 0) {
      // What follows the first error of a document is mostly its echo.
      const [error] = document.errors;
      problems.push({ file, ...place(error?.pos[0] ?? 0), message: lowerFirst(error?.message ?? "not YAML") });
      continue;
    }
    const root = document.contents as Node | null;
    if (root === null) continue;
    try {
      const value = document.toJS() as unknown;
      if (value === null || value === undefined) continue;
      documents.push({ file, value, at: (path) => place(locate(root, path)) });
    } catch (error) {
      // Aliases: to nothing, to themselves, or so many that the document would explode.
      const message = error instanceof Error ? lowerFirst(error.message) : String(error);
      problems.push({ file, ...place(root.range?.[0] ?? 0), message });
    }
  }
  return { documents, problems };
}

function position(lines: LineCounter, offset: number): Position {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(1, line), column: Math.max(1, col) };
}

/** Messages stand behind a colon. */
function lowerFirst(message: string): string {
  return `${message.charAt(0).toLowerCase()}${message.slice(1)}`.replace(/\.$/, "");
}

/** A place in the text of a field; both count from 1, columns in UTF-16 units as editors do. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** Longest part of a line that an excerpt shows. */
const excerptWidth = 100;

export function positionAt(text: string, offset: number): Position {
  const before = text.slice(0, offset);
  const lineStart = before.lastIndexOf("\n") + 1;
  return { line: before.split("\n").length, column: offset - lineStart + 1 };
}

/**
 * `LINE:COLUMN: message` with the line of the text below it and a caret under the place. Long lines are cut around the place, tabs
 * count as one column.
 */
export function pointAt(text: string, offset: number, message: string): string {
  const { line, column } = positionAt(text, offset);
  const full = (text.split("\n")[line - 1] ?? "").replaceAll("\t", " ").replaceAll("\r", "");
  const from = Math.max(0, Math.min(column - 1 - excerptWidth / 2, full.length - excerptWidth));
  const excerpt = full.slice(from, from + excerptWidth);
  return `${line}:${column}: ${message}\n    ${excerpt}\n    ${" ".repeat(Math.max(0, column - 1 - from))}^`;
}

import { invalid } from "#api/validation/rule.ts";
import type { FieldError } from "../field-error.ts";

/** A place in the text of a field; both count from 1, columns in UTF-16 units as editors do. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** Longest part of a line that an excerpt shows. */
const excerptWidth = 100;

export function positionAt(text: string, offset: number): Position {
  const before = text.slice(0, offset);
  return { line: before.split("\n").length, column: offset - before.lastIndexOf("\n") };
}

/**
 * An error at a place in the text of a field: `LINE:COLUMN: message`, and below the advice the line with a caret under the place.
 * Long lines are cut around the place, tabs count as one column.
 */
export function located(
  path: string,
  text: string,
  offset: number,
  problem: { readonly message: string; readonly advice?: string | undefined },
): FieldError {
  const { line, column } = positionAt(text, offset);
  const excerpt = excerptOf(text.split("\n")[line - 1] ?? "", column - 1);
  const advice = problem.advice === undefined ? "Correct the text here:" : problem.advice;
  return invalid(path, `${line}:${column}: ${problem.message}`, `${advice}\n${excerpt}`);
}

function excerptOf(line: string, at: number): string {
  const full = line.replace(/\r$/, "").replace(/\s/g, " ");
  const from = Math.max(0, Math.min(at - excerptWidth / 2, full.length - excerptWidth));
  return `    ${full.slice(from, from + excerptWidth)}\n    ${" ".repeat(at - from)}^`;
}

import { cut } from "#workflows/text.ts";
import { formatProblem } from "../manifests/problem.ts";
import type { Finding } from "./lint.ts";

/** In the order in which a reader meets them; what stands twice is named once. */
export function ordered(findings: readonly Finding[]): Finding[] {
  const files = [...new Set(findings.map(({ file }) => file))];
  const seen = new Set<string>();
  return findings
    .toSorted((a, b) => files.indexOf(a.file) - files.indexOf(b.file) || a.line - b.line || a.column - b.column)
    .filter((finding) => {
      const text = formatProblem(finding);
      return seen.size < seen.add(text).size;
    });
}

/** Widest line of a file that is shown. */
const width = 120;

/**
 * A finding as people read it: what and where, the line of the file, and a caret under the place.
 *
 * @param line of a file, from 1; empty where nobody knows it
 */
export function findingLines(finding: Finding, line: (file: string, number: number) => string): string[] {
  const { severity, file, column } = finding;
  const text = line(file, finding.line).replaceAll("\t", " ");
  const problem = formatProblem(finding);
  const head = severity === "warning" ? problem.replace(/^(\S+:\d+:\d+: )/, "$1warning: ") : problem;
  if (text.trim() === "") return [head];
  // A long line is shown from a little before the place.
  const from = column > width ? column - width / 2 : 0;
  return [head, `    ${cut(text.slice(from), width)}`, `    ${" ".repeat(Math.max(0, column - 1 - from))}^`];
}

/** A place in a text, from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** Something that is wrong in a file that a user wrote. */
export interface Problem extends Position {
  readonly file: string;
  /** What is wrong: a clause without a full stop. */
  readonly message: string;
  /** What to write instead: a sentence. */
  readonly advice?: string | undefined;
}

/** `file:line:column: message. Advice.`, a form that editors and terminals turn into links. */
export function formatProblem({ file, line, column, message, advice }: Problem): string {
  return `${file}:${line}:${column}: ${message}${advice === undefined ? "" : `. ${advice}`}`;
}

/** In the order in which a reader meets them; what stands twice is named once. */
export function formatProblems(problems: readonly Problem[]): string[] {
  const files = [...new Set(problems.map(({ file }) => file))];
  const sorted = problems.toSorted(
    (a, b) => files.indexOf(a.file) - files.indexOf(b.file) || a.line - b.line || a.column - b.column,
  );
  return [...new Set(sorted.map(formatProblem))];
}

/** Files that cannot be run as they are. */
export class ManifestError extends Error {
  override readonly name = "ManifestError";
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(formatProblems(problems).join("\n"));
    this.problems = problems;
  }
}

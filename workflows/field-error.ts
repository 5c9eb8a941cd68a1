/** A fault of a field that a user wrote. Structurally the same everywhere: admission, conditions and krt print it alike. */
export interface FieldError {
  /** Path of the field, e.g. `spec.jobs.deploy.steps[0].artifacts[1].from`. */
  readonly path: string;
  /** What is wrong with it, one sentence; expressions add a line with the text and one with a caret. */
  readonly message: string;
  /** What to write instead. */
  readonly advice?: string;
}

/** Errors as one text: `path: message. advice`, one after the other, at most `limit` of them and how many more there are. */
export function formatErrors(errors: readonly FieldError[], limit = 10): string {
  const shown = errors.slice(0, limit).map(formatError);
  if (errors.length > limit) shown.push(`and ${errors.length - limit} more`);
  return shown.join("\n");
}

/** One error as text. */
export function formatError({ path, message, advice }: FieldError): string {
  if (advice === undefined) return `${path}: ${message}`;
  // An excerpt with a caret ends the message: the advice then needs a line of its own.
  return message.includes("\n") ? `${path}: ${message}\n${advice}` : `${path}: ${message}. ${advice}`;
}

/** Names as a list for people: `a, b and c`, or `nothing`. Long lists are cut. */
export function listOf(names: Iterable<string>, limit = 20): string {
  const all = [...names];
  if (all.length === 0) return "nothing";
  if (all.length > limit) return `${all.slice(0, limit).join(", ")} and ${all.length - limit} more`;
  return all.length === 1 ? `${all[0]}` : `${all.slice(0, -1).join(", ")} and ${all.at(-1)}`;
}

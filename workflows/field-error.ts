import { type FieldError, fieldPath, formatFieldError, type PathSegment } from "#api/field-error.ts";

export type { FieldError } from "#api/field-error.ts";

/** Path of what lies below a field: `under("spec.jobs", "build", "steps", 0)` is `spec.jobs.build.steps[0]`. */
export function under(path: string, ...segments: readonly PathSegment[]): string {
  return path + fieldPath("_", ...segments).slice(1);
}

/** Errors as one text, one below the other: at most `limit` of them and how many more there are. */
export function formatErrors(errors: readonly FieldError[], limit = 10): string {
  const shown = errors.slice(0, limit).map(formatFieldError);
  if (errors.length > limit) shown.push(`and ${errors.length - limit} more`);
  return shown.join("\n");
}

/** Names as a list for people: `a, b and c`, or `none`. Long lists are cut. */
export function listOf(names: Iterable<string>, limit = 20): string {
  const all = [...names];
  if (all.length === 0) return "none";
  if (all.length > limit) return `${all.slice(0, limit).join(", ")} and ${all.length - limit} more`;
  return all.length === 1 ? `${all[0]}` : `${all.slice(0, -1).join(", ")} and ${all.at(-1)}`;
}

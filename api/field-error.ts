/** Kinds of field errors, spelled as the causes of a Kubernetes Status are. */
export type FieldErrorType =
  | "FieldValueRequired"
  | "FieldValueInvalid"
  | "FieldValueDuplicate"
  | "FieldValueForbidden"
  | "FieldValueNotSupported"
  | "FieldValueTooLong";

/** Why a field of an object is refused. */
export interface FieldError {
  /** Path of the field, e.g. `spec.jobs.build.steps[0].if`. */
  readonly path: string;
  /** What is wrong: a clause without a full stop. */
  readonly message: string;
  /** What to write instead: a sentence. */
  readonly advice?: string;
  readonly type: FieldErrorType;
}

/** A member name or a list index. */
export type PathSegment = string | number;

const plain = /^[A-Za-z_][A-Za-z0-9_-]*$/;

/** The path of a field: `.name` for ordinary names, `[0]` for items of lists, `[other name]` for the rest. */
export function fieldPath(...segments: readonly PathSegment[]): string {
  return segments
    .map((segment, index) => {
      if (typeof segment === "number" || !plain.test(segment)) return `[${segment}]`;
      return index === 0 ? segment : `.${segment}`;
    })
    .join("");
}

/** One line for people: `path: message. Advice.` */
export function formatFieldError({ path, message, advice }: FieldError): string {
  return advice === undefined ? `${path}: ${message}` : `${path}: ${message}. ${advice}`;
}

/**
 * What is wrong with one field, with the texts of the API server (k8s.io/apimachinery field.Error): tools and people
 * read them, so they are the same here.
 */

export type FieldErrorType =
  | "Invalid"
  | "Required"
  | "NotSupported"
  | "Duplicate"
  | "Forbidden"
  | "TooLong"
  | "TooMany"
  | "TypeInvalid"
  | "InternalError";

export interface FieldError {
  readonly type: FieldErrorType;
  /** e.g. `spec.jobs[build].steps[0].name`; `<nil>` where no field is to blame. */
  readonly field: string;
  /** First half of a sentence: what was given and why it is refused, e.g. `Invalid value: "x": must be short`. */
  readonly body: string;
}

/** The path that is printed when an error belongs to no field. */
export const noField = "<nil>";

/** Renders a value as the API server does inside a message. */
export function renderValue(value: unknown): string {
  if (value === null || value === undefined) return "null";
  return JSON.stringify(value);
}

export function invalid(field: string, value: unknown, detail: string): FieldError {
  return { type: "Invalid", field, body: `Invalid value: ${renderValue(value)}${detail === "" ? "" : `: ${detail}`}` };
}

export function typeInvalid(field: string, value: unknown, detail: string): FieldError {
  return { type: "TypeInvalid", field, body: `Invalid value: ${renderValue(value)}: ${detail}` };
}

export function required(field: string, detail = ""): FieldError {
  return { type: "Required", field, body: `Required value${detail === "" ? "" : `: ${detail}`}` };
}

export function forbidden(field: string, detail: string): FieldError {
  return { type: "Forbidden", field, body: `Forbidden: ${detail}` };
}

export function duplicate(field: string, value: unknown): FieldError {
  return { type: "Duplicate", field, body: `Duplicate value: ${renderValue(value)}` };
}

export function notSupported(field: string, value: unknown, supported: readonly unknown[]): FieldError {
  const values = supported.map((item) => JSON.stringify(typeof item === "string" ? item : JSON.stringify(item)));
  return {
    type: "NotSupported",
    field,
    body: `Unsupported value: ${renderValue(value)}: supported values: ${values.join(", ")}`,
  };
}

export function tooLong(field: string, max: number): FieldError {
  return { type: "TooLong", field, body: `Too long: may not be more than ${max} bytes` };
}

export function tooMany(field: string, actual: number, max: number): FieldError {
  return { type: "TooMany", field, body: `Too many: ${actual}: must have at most ${max} items` };
}

/** All errors as one text: bare when there is one, in brackets when there are several; repetitions are dropped. */
export function describeAll(errors: readonly FieldError[]): string {
  const lines = [...new Set(errors.map((error) => `${error.field}: ${error.body}`))];
  return lines.length === 1 ? (lines[0] ?? "") : `[${lines.join(", ")}]`;
}

/** The reason in `details.causes` of an Invalid status. */
export function causeReason(type: FieldErrorType): string {
  return type === "InternalError" ? "InternalError" : `FieldValue${type}`;
}

/**
 * What is wrong with one field, with the texts of the API server (k8s.io/apimachinery field.Error): tools and people
 * read them, so they are the same here.
 */

/** Kinds of errors, as in `details.causes` after the prefix `FieldValue`. */
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

/** One thing that is wrong. */
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

/** The value is not allowed. */
export function invalid(field: string, value: unknown, detail: string): FieldError {
  return { type: "Invalid", field, body: `Invalid value: ${renderValue(value)}${detail === "" ? "" : `: ${detail}`}` };
}

/** The value has the wrong type. */
export function typeInvalid(field: string, value: unknown, detail: string): FieldError {
  return { type: "TypeInvalid", field, body: `Invalid value: ${renderValue(value)}: ${detail}` };
}

/** The value is missing. */
export function required(field: string, detail = ""): FieldError {
  return { type: "Required", field, body: `Required value${detail === "" ? "" : `: ${detail}`}` };
}

/** The value may not be set here, now, or by this user. */
export function forbidden(field: string, detail: string): FieldError {
  return { type: "Forbidden", field, body: `Forbidden: ${detail}` };
}

/** The value must be unique and is not. */
export function duplicate(field: string, value: unknown): FieldError {
  return { type: "Duplicate", field, body: `Duplicate value: ${renderValue(value)}` };
}

/** The value is none of the allowed ones. */
export function notSupported(field: string, value: unknown, supported: readonly unknown[]): FieldError {
  const values = supported.map((item) => JSON.stringify(typeof item === "string" ? item : JSON.stringify(item)));
  return {
    type: "NotSupported",
    field,
    body: `Unsupported value: ${renderValue(value)}: supported values: ${values.join(", ")}`,
  };
}

/** @param max in bytes, says the message; schemas count characters. */
export function tooLong(field: string, max: number): FieldError {
  return { type: "TooLong", field, body: `Too long: may not be more than ${max} ${max === 1 ? "byte" : "bytes"}` };
}

/** A list or map has more than `max` entries. */
export function tooMany(field: string, actual: number, max: number): FieldError {
  const detail = `must have at most ${max} ${max === 1 ? "item" : "items"}`;
  return { type: "TooMany", field, body: `Too many: ${actual}: ${detail}` };
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

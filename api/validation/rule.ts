import type { FieldError } from "../field-error.ts";

/** A rule looks at one object, already valid by its schema, and answers what is wrong with it. It needs no other object. */
export type Rule<T> = (object: T) => readonly FieldError[];

/** A field whose value cannot be. */
export const invalid = (path: string, message: string, advice: string): FieldError => ({
  path,
  message,
  advice,
  type: "FieldValueInvalid",
});

/** A field that may not be set, or not to this value. */
export const forbidden = (path: string, message: string, advice: string): FieldError => ({
  path,
  message,
  advice,
  type: "FieldValueForbidden",
});

/** A field that must be there. */
export const required = (path: string, message: string, advice: string): FieldError => ({
  path,
  message,
  advice,
  type: "FieldValueRequired",
});

/** A value that stands somewhere else already. */
export const duplicate = (path: string, message: string, advice: string): FieldError => ({
  path,
  message,
  advice,
  type: "FieldValueDuplicate",
});

/** A value beyond a limit. */
export const tooLong = (path: string, message: string, advice: string): FieldError => ({
  path,
  message,
  advice,
  type: "FieldValueTooLong",
});

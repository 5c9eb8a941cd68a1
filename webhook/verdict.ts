import type { FieldError } from "#api/field-error.ts";

/** What becomes of a request. */
export type Verdict =
  | {
      readonly kind: "admitted";
      /** What the requester should know all the same; one line each. */
      readonly warnings: readonly string[];
    }
  /** The object is wrong, whoever sends it. */
  | { readonly kind: "invalid"; readonly errors: readonly FieldError[] }
  /** This requester may not do that. */
  | { readonly kind: "forbidden"; readonly message: string }
  /** Whether the requester may do that could not be found out. Refused, since a permission is never assumed. */
  | { readonly kind: "undecided"; readonly message: string };

export const admitted: Verdict = { kind: "admitted", warnings: [] };

/** Invalid if there are errors, else admitted. */
export function verdictOf(errors: readonly FieldError[], warnings: readonly string[] = []): Verdict {
  return errors.length > 0 ? { kind: "invalid", errors } : { kind: "admitted", warnings };
}

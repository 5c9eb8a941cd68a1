import type { Kind } from "../crd/kinds.ts";

/** A field, or a value of a field, that no code honours. */
export interface Unsupported {
  readonly kind: Kind;
  /** Path of the field; `*` stands for every member of a map and every item of a list. */
  readonly path: string;
  /** Whether this value of the field is meant; absent means any. */
  readonly when?: (value: unknown) => boolean;
  /** What is wrong, without the path. */
  readonly message: string;
  /** What to write instead. */
  readonly advice: string;
}

/** A field that will be honoured one day. */
export const notYet = "not supported yet";

/** A field that belongs to something else. */
export const never = "not supported";

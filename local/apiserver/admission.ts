import { forbiddenRequest, invalidObject, unavailable } from "./errors.ts";
import { type FieldError, forbidden, invalid } from "./field-errors.ts";
import type { Kind, ReadonlyDraft, StoredObject, UserInfo } from "./types.ts";

/** What a rule gets to see: the parts of an AdmissionReview request that ours use. */
export interface AdmissionRequest {
  readonly operation: "CREATE" | "UPDATE" | "DELETE";
  /** `plural.group`, e.g. `runs.kruntimes.io`; `pods` for the core group. */
  readonly resource: string;
  readonly kind: string;
  readonly subresource: string | undefined;
  readonly namespace: string;
  readonly name: string;
  /** Undefined for DELETE. */
  readonly object: ReadonlyDraft | undefined;
  /** Undefined for CREATE. */
  readonly oldObject: StoredObject | undefined;
  readonly userInfo: UserInfo | undefined;
  /** Tells the requester something all the same; one line. */
  warn(text: string): void;
}

/** Why a request is refused. */
export interface Violation {
  /** Says what is wrong and what to write instead. */
  readonly message: string;
  /** Path of the field to blame, e.g. `spec.mode.session`. */
  readonly field?: string;
  /** What stands in the field, for the message. */
  readonly value?: unknown;
  /** 422 (default) for a bad object, 403 for a request that this user may not make, 503 when that is not known at the moment. */
  readonly code?: 403 | 422 | 503;
}

/** Runs after schema validation on every write; undefined or an empty list admits the request. */
export type AdmissionRule = (
  request: AdmissionRequest,
) => readonly Violation[] | undefined | Promise<readonly Violation[] | undefined>;

/**
 * Asks all rules. Synchronous as long as they are: then nothing can change between the decision and the write.
 *
 * @throws StatusError 403, 422 or 503 with every violation of the first rule that has any.
 */
export function admit(rules: readonly AdmissionRule[], kind: Kind, request: AdmissionRequest): void | Promise<void> {
  for (let i = 0; i < rules.length; i++) {
    const violations = rules[i]?.(request);
    if (violations instanceof Promise) return admitLater(violations, rules.slice(i + 1), kind, request);
    refuse(violations, kind, request.name);
  }
}

async function admitLater(
  pending: Promise<readonly Violation[] | undefined>,
  rest: readonly AdmissionRule[],
  kind: Kind,
  request: AdmissionRequest,
): Promise<void> {
  refuse(await pending, kind, request.name);
  await admit(rest, kind, request);
}

function refuse(violations: readonly Violation[] | undefined, kind: Kind, name: string): void {
  if (violations === undefined || violations.length === 0) return;
  const said = (code: Violation["code"]) => {
    const texts = violations.filter((violation) => violation.code === code).map(({ message }) => message);
    return texts.length === 0 ? undefined : texts.join("; ");
  };
  const denied = said(403);
  if (denied !== undefined) throw forbiddenRequest(kind, name, denied);
  const unknown = said(503);
  if (unknown !== undefined) throw unavailable(kind, name, unknown);
  throw invalidObject(kind, name, violations.map(toFieldError));
}

function toFieldError(violation: Violation): FieldError {
  const field = violation.field ?? "<nil>";
  return violation.value === undefined
    ? forbidden(field, violation.message)
    : invalid(field, violation.value, violation.message);
}

import { kinds } from "#api/crd/kinds.ts";
import { type FieldError, formatFieldError } from "#api/field-error.ts";
import { group } from "#api/labels.ts";
import type { ApiStatus, KubeObject } from "#api/meta.ts";
import { clip } from "#api/text.ts";
import { failure } from "#kube/transport.ts";
import { readRequester } from "./requester.ts";
import { isOwnKind, type Review } from "./review.ts";
import type { Verdict } from "./verdict.ts";

/** An API server passes on so many characters of one warning, and of all. */
const longestWarning = 256;
const longestWarnings = 4096;

/** The version of the contract between API server and webhook that is spoken here. */
const apiVersion = "admission.k8s.io/v1";

/** What is asked; `review` is absent for what no rule of ours is about. */
export interface Question {
  readonly uid: string;
  /** `CREATE Run`: for logs and metrics. */
  readonly title: string;
  readonly review: Review | undefined;
}

interface AdmissionRequest {
  readonly uid: string;
  readonly kind?: { readonly group?: string; readonly kind?: string };
  readonly operation?: string;
  readonly subResource?: string;
  readonly namespace?: string;
  readonly object?: KubeObject | null;
  readonly oldObject?: KubeObject | null;
  readonly userInfo?: unknown;
}

/** The body is no AdmissionReview. The API server takes such an answer as a failure of the webhook. */
export class MalformedReviewError extends Error {
  override readonly name = "MalformedReviewError";
}

/**
 * Reads the body of a call.
 *
 * @throws MalformedReviewError also for a change without what was before: what may not change could not be judged
 */
export function readReview(body: string): Question {
  const request = requestIn(body);
  const { uid, kind, operation = "", subResource, namespace = "", object, oldObject } = request;
  const name = kind?.kind ?? "";
  const question = { uid, title: `${operation} ${name}` };
  const isOurs = kind?.group === group && isOwnKind(name) && (subResource ?? "") === "";
  if (!isOurs || (operation !== "CREATE" && operation !== "UPDATE")) return { ...question, review: undefined };
  if (!object) throw new MalformedReviewError(`the ${operation} of a ${name} has no object`);
  if (operation === "UPDATE" && !oldObject) throw new MalformedReviewError(`the UPDATE of a ${name} has no oldObject`);
  const requester = readRequester(request.userInfo);
  return {
    ...question,
    review: {
      operation,
      kind: name,
      namespace,
      object,
      ...(oldObject ? { oldObject } : {}),
      ...(requester === undefined ? {} : { requester }),
    },
  };
}

function requestIn(body: string): AdmissionRequest {
  let review: unknown;
  try {
    review = JSON.parse(body);
  } catch (cause) {
    throw new MalformedReviewError("the body is no JSON", { cause });
  }
  const { apiVersion: version, kind, request } = Object(review) as { [field: string]: unknown };
  if (kind !== "AdmissionReview" || version !== apiVersion) {
    throw new MalformedReviewError(
      `${shown(version)} ${shown(kind)} is not understood here; ${apiVersion} AdmissionReview is`,
    );
  }
  if (typeof request !== "object" || request === null || typeof Reflect.get(request, "uid") !== "string") {
    throw new MalformedReviewError("the AdmissionReview has no request with a uid");
  }
  const { operation, subResource, namespace, kind: asked } = request as { [field: string]: unknown };
  const { group: ofGroup, kind: ofKind } = Object(asked) as { [field: string]: unknown };
  for (const [name, value] of Object.entries({ operation, subResource, namespace, group: ofGroup, kind: ofKind })) {
    if (typeof (value ?? "") !== "string") throw new MalformedReviewError(`the ${name} of the request is no text`);
  }
  return request as AdmissionRequest;
}

/** A foreign value for people. */
const shown = (value: unknown): string =>
  typeof value === "string" ? clip(value, longestWarning) : Array.isArray(value) ? "list" : typeof value;

/** The answer to a question: admitted, perhaps with warnings, or refused and why. */
export function answerTo({ uid, review }: Question, verdict: Verdict): string {
  const response =
    review === undefined || verdict.kind === "admitted"
      ? { uid, allowed: true, ...warningsOf(verdict) }
      : { uid, allowed: false, status: refusal(review, verdict) };
  return JSON.stringify({ apiVersion, kind: "AdmissionReview", response });
}

function warningsOf(verdict: Verdict): { warnings?: readonly string[] } {
  if (verdict.kind !== "admitted" || verdict.warnings.length === 0) return {};
  return {
    warnings: verdict.warnings.slice(0, longestWarnings / longestWarning).map((text) => clip(text, longestWarning)),
  };
}

/** As the API server itself says it, so that clients show it as they are used to. */
function refusal(review: Review, verdict: Exclude<Verdict, { kind: "admitted" }>): ApiStatus {
  switch (verdict.kind) {
    case "invalid":
      return invalid(review, verdict.errors);
    case "forbidden":
      return denied(review, 403, "Forbidden", `is forbidden: ${verdict.message}`);
    // One that clients try again.
    case "undecided":
      return denied(review, 503, "ServiceUnavailable", `cannot be admitted now: ${verdict.message}`);
  }
}

const nameOf = ({ metadata }: KubeObject): string => metadata.name || metadata.generateName || "";

function denied({ kind, object }: Review, code: number, reason: string, text: string): ApiStatus {
  const { plural } = kinds[kind].resource;
  const name = nameOf(object);
  return failure(code, reason, `${plural}.${group} "${name}" ${text}`, { name, group, kind: plural });
}

/** Field by field. */
function invalid({ kind, object }: Review, errors: readonly FieldError[]): ApiStatus {
  const lines = errors.map(formatFieldError);
  const name = nameOf(object);
  const text = lines.length === 1 ? lines[0] : `[${lines.join(", ")}]`;
  return failure(422, "Invalid", `${kind}.${group} "${name}" is invalid: ${text}`, {
    name,
    group,
    kind,
    causes: errors.map((error) => ({
      reason: error.type,
      message: formatFieldError(error).slice(error.path.length + 2),
      field: error.path,
    })),
  });
}

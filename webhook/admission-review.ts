import { type FieldError, formatFieldError } from "#api/field-error.ts";
import { group } from "#api/labels.ts";
import type { ApiStatus, KubeObject } from "#api/meta.ts";
import { failure } from "#kube/transport.ts";
import { isOwnKind, type Review } from "./review.ts";

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
}

/** The body is no AdmissionReview. The API server takes such an answer as a failure of the webhook. */
export class MalformedReviewError extends Error {
  override readonly name = "MalformedReviewError";
}

/** Reads the body of a call. */
export function readReview(body: string): Question {
  const request = requestIn(body);
  const { uid, kind, operation = "", subResource, namespace = "", object, oldObject } = request;
  const name = kind?.kind ?? "";
  const question = { uid, title: `${operation} ${name}` };
  const isOurs = kind?.group === group && isOwnKind(name) && (subResource ?? "") === "";
  if (!isOurs || (operation !== "CREATE" && operation !== "UPDATE") || !object)
    return { ...question, review: undefined };
  return { ...question, review: { operation, kind: name, namespace, object, ...(oldObject ? { oldObject } : {}) } };
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
    throw new MalformedReviewError(`${version} ${kind} is not understood here; ${apiVersion} AdmissionReview is`);
  }
  if (typeof request !== "object" || request === null || typeof Reflect.get(request, "uid") !== "string") {
    throw new MalformedReviewError("the AdmissionReview has no request with a uid");
  }
  return request as AdmissionRequest;
}

/** The answer to a question: admitted, or refused with a cause for each field. */
export function answerTo({ uid, review }: Question, errors: readonly FieldError[]): string {
  const refused = review !== undefined && errors.length > 0;
  const response = refused ? { uid, allowed: false, status: invalid(review, errors) } : { uid, allowed: true };
  return JSON.stringify({ apiVersion, kind: "AdmissionReview", response });
}

/** As the API server itself says that an object is invalid, so that clients show it field by field. */
function invalid({ kind, object }: Review, errors: readonly FieldError[]): ApiStatus {
  const lines = errors.map(formatFieldError);
  const name = object.metadata.name || object.metadata.generateName || "";
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

import { copyBody } from "../decode.ts";
import { isObject } from "../json.ts";
import type { Answer, VerbRequest } from "../types.ts";
import { defineKind } from "./define.ts";

/**
 * Access reviews: questions that are answered and not stored. There is no RBAC in this server, so everything is
 * allowed.
 */
const group = { group: "authorization.k8s.io", version: "v1" } as const;

/** The kinds of questions about access. */
export const accessReviews = [
  defineKind({ ...group, kind: "SubjectAccessReview", plural: "subjectaccessreviews", namespaced: false }),
  defineKind({ ...group, kind: "SelfSubjectAccessReview", plural: "selfsubjectaccessreviews", namespaced: false }),
  defineKind({ ...group, kind: "LocalSubjectAccessReview", plural: "localsubjectaccessreviews" }),
];

/** The answer to an access review: yes. */
export function review(request: VerbRequest): Answer {
  const body = copyBody(request.body);
  const { kind, apiVersion } = request.target.kind;
  const status = { allowed: true, reason: "the embedded API server has no RBAC" };
  return { code: 201, body: { ...(isObject(body) ? body : {}), kind, apiVersion, status }, warnings: [] };
}

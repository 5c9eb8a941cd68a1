import { copyBody } from "../decode.ts";
import { isObject } from "../json.ts";
import type { Answer, Kind, VerbRequest } from "../types.ts";
import { defineKind } from "./define.ts";

/**
 * Reviews: questions about access and identity that are answered and not stored. There is no RBAC in this server, so
 * everything is allowed.
 */
const authorization = { group: "authorization.k8s.io", version: "v1" } as const;
const selfReview = { kind: "SelfSubjectReview", plural: "selfsubjectreviews" } as const;
const rulesReview = { kind: "SelfSubjectRulesReview", plural: "selfsubjectrulesreviews" } as const;

/** The kinds of questions. */
export const accessReviews = [
  defineKind({ ...authorization, kind: "SubjectAccessReview", plural: "subjectaccessreviews", namespaced: false }),
  defineKind({
    ...authorization,
    kind: "SelfSubjectAccessReview",
    plural: "selfsubjectaccessreviews",
    namespaced: false,
  }),
  defineKind({ ...authorization, kind: "LocalSubjectAccessReview", plural: "localsubjectaccessreviews" }),
  defineKind({ ...authorization, ...rulesReview, namespaced: false }),
  defineKind({ group: "authentication.k8s.io", version: "v1", ...selfReview, namespaced: false }),
];

/** Whether objects of a kind are questions. */
export function isReview({ group }: Pick<Kind, "group">): boolean {
  return group === "authorization.k8s.io" || group === "authentication.k8s.io";
}

/** The answer to a review: yes. */
export function review(request: VerbRequest): Answer {
  const body = copyBody(request.body);
  const { kind, apiVersion } = request.target.kind;
  return {
    code: 201,
    body: { ...(isObject(body) ? body : {}), kind, apiVersion, status: statusOf(request) },
    warnings: [],
  };
}

function statusOf({ target, user }: VerbRequest): object {
  switch (target.kind.kind) {
    case selfReview.kind:
      return { userInfo: { ...user, username: user?.username ?? "system:anonymous" } };
    case rulesReview.kind:
      return {
        resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }],
        nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
        incomplete: false,
      };
    default:
      return { allowed: true, reason: "the embedded API server has no RBAC" };
  }
}

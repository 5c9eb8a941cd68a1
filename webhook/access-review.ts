import { group, version } from "#api/labels.ts";
import { persistentWorkspaces } from "#api/resources.ts";
import type { Transport } from "#kube/transport.ts";
import type { Requester } from "./requester.ts";

/** How long the API server has for a review, in milliseconds: about two seconds, as the specification has it. */
export const reviewTimeoutMs = 2000;

const apiVersion = "authorization.k8s.io/v1";

/** The one right that a Run in a workspace needs. */
export const useOfWorkspace = { verb: "use", resource: persistentWorkspaces.plural, subresource: "use" } as const;

/** What the authorizers of the API server say. */
export type Access =
  | { readonly allowed: true }
  | {
      readonly allowed: false;
      /** What they give as the reason; often nothing. */
      readonly why: string;
    };

/** The answer to a review is none. */
export class MalformedAccessReviewError extends Error {
  override readonly name = "MalformedAccessReviewError";
}

/**
 * Asks whether somebody may use a workspace.
 *
 * @throws StatusError, TransportError, MalformedAccessReviewError when there is no answer: then nothing is permitted
 */
export async function reviewUse(
  transport: Transport,
  requester: Requester,
  workspace: { readonly namespace: string; readonly name: string },
): Promise<Access> {
  const { username: user, uid, groups, extra } = requester;
  const answer = await transport.request({
    method: "POST",
    path: `/apis/${apiVersion}/subjectaccessreviews`,
    timeoutMs: reviewTimeoutMs,
    body: {
      apiVersion,
      kind: "SubjectAccessReview",
      spec: {
        user,
        ...(uid === undefined ? {} : { uid }),
        ...(groups === undefined ? {} : { groups }),
        ...(extra === undefined ? {} : { extra }),
        resourceAttributes: { ...workspace, group, version, ...useOfWorkspace },
      },
    },
  });
  return readAccess(answer);
}

/** An authorizer that failed while another one permits is no obstacle; a denial always is one. */
function readAccess(answer: unknown): Access {
  const status = Object(Object(answer).status) as { [field: string]: unknown };
  const { allowed, denied, reason, evaluationError } = status;
  if (typeof allowed !== "boolean" || (denied !== undefined && typeof denied !== "boolean")) {
    throw new MalformedAccessReviewError("the answer to the SubjectAccessReview does not say whether it is allowed");
  }
  if (allowed && denied !== true) return { allowed: true };
  return {
    allowed: false,
    why: [reason, evaluationError].filter((text) => text && typeof text === "string").join("; "),
  };
}

import { formatFieldError } from "#api/field-error.ts";
import type { KubeObject } from "#api/meta.ts";
import type { Clock } from "#kube/ports.ts";
import type { Client } from "#kube/resource.ts";
import type { AdmissionRequest, AdmissionRule, UserInfo, Violation } from "#local/apiserver/index.ts";
import { liveLookups } from "#webhook/lookups.ts";
import { isOwnKind, type Review, review } from "#webhook/review.ts";
import type { Verdict } from "#webhook/verdict.ts";
import { controllerUser, systemUser } from "./identities.ts";

/**
 * Our admission rules, asked in the process: the same code that the webhook serves on a real cluster, with the same questions to
 * the API server. The embedded one has no RBAC and answers every access review with yes, so here only the proof of the controller
 * can fail.
 *
 * @param identify who stands behind a request
 */
export function localAdmission(
  client: () => Client,
  clock: Clock,
  identify: (user: UserInfo | undefined) => UserInfo = (user) => user ?? systemUser,
): AdmissionRule {
  const deps = { lookups: liveLookups(client, clock), controller: controllerUser.username };
  return (request) => {
    const { operation, kind, subresource, namespace, object, oldObject, userInfo } = request;
    // Without a promise where there is nothing to ask: most writes are of status.
    if (operation === "DELETE" || subresource !== undefined || object === undefined || !isOwnKind(kind)) return;
    const requester = identify(userInfo);
    const asked = { operation, kind, namespace, object: object as KubeObject, requester };
    return judge(request, { ...asked, ...(oldObject && { oldObject }) });
  };

  async function judge({ warn }: AdmissionRequest, asked: Review): Promise<readonly Violation[]> {
    const verdict = await review(asked, deps);
    if (verdict.kind !== "admitted") return violationsOf(verdict);
    for (const text of verdict.warnings) warn(text);
    return [];
  }
}

function violationsOf(verdict: Exclude<Verdict, { kind: "admitted" }>): readonly Violation[] {
  switch (verdict.kind) {
    case "forbidden":
      return [{ code: 403, message: verdict.message }];
    case "undecided":
      return [{ code: 503, message: verdict.message }];
    case "invalid":
      return verdict.errors.map((error) => ({
        field: error.path,
        message: formatFieldError(error).slice(error.path.length + 2),
      }));
  }
}

import { formatFieldError } from "#api/field-error.ts";
import type { KubeObject } from "#api/meta.ts";
import type { Client } from "#kube/resource.ts";
import type { AdmissionRule } from "#local/apiserver/index.ts";
import { liveLookups } from "#webhook/lookups.ts";
import { isOwnKind, review } from "#webhook/review.ts";

/** Our admission rules, asked in the process: the same code that the webhook serves on a real cluster. */
export function localAdmission(client: () => Client): AdmissionRule {
  const lookups = liveLookups(client);
  return (request) => {
    const { operation, kind, subresource, namespace, object, oldObject } = request;
    // Without a promise where there is nothing to ask: most writes are of status.
    if (operation === "DELETE" || subresource !== undefined || object === undefined || !isOwnKind(kind)) return;
    return judge({ operation, kind, namespace, object: object as KubeObject, ...(oldObject && { oldObject }) });
  };

  async function judge(request: Parameters<typeof review>[0]) {
    const errors = await review(request, lookups);
    return errors.map((error) => ({
      field: error.path,
      message: formatFieldError(error).slice(error.path.length + 2),
    }));
  }
}

import type { Context } from "../context.ts";
import { copyBody, decodeObject } from "../decode.ts";
import { methodNotAllowed } from "../errors.ts";
import { getPath } from "../json.ts";
import type { Verb } from "../routes.ts";
import type { Answer, VerbRequest } from "../types.ts";
import { mutate } from "./update.ts";

/** PUT to `namespaces/NAME/finalize`: the only way to change `spec.finalizers`. */
export async function finalize(context: Context, verb: Verb, request: VerbRequest): Promise<Answer> {
  if (verb !== "update") throw methodNotAllowed();
  const { draft } = decodeObject(request.target.kind, copyBody(request.body));
  const finalizers = getPath(draft, ["spec", "finalizers"]);
  return mutate(context, request, (old) => ({
    draft: { ...old, metadata: { ...old.metadata }, spec: { finalizers: Array.isArray(finalizers) ? finalizers : [] } },
    warnings: [],
  }));
}

import { isObject, mergePatch } from "#kube/json.ts";
import { StatusError } from "#kube/transport.ts";
import type { Context } from "../context.ts";
import { checkUnknown, copyBody, type Decoded, decodeObject, readFieldValidation } from "../decode.ts";
import { badRequest, invalidPatch, patchRejected, requestTooLarge, unsupportedMediaType } from "../errors.ts";
import { invalid } from "../field-errors.ts";
import { applyJsonPatch, PatchApplyError, PatchSyntaxError, parseJsonPatch } from "../patch/json-patch.ts";
import { mergeNodeOf } from "../patch/merge-keys.ts";
import { strategicMerge } from "../patch/strategic-merge.ts";
import type { Answer, Kind, Target, VerbRequest } from "../types.ts";
import { encode } from "./prepare.ts";
import { mutate } from "./update.ts";

type Patch = (current: unknown) => unknown;

/** PATCH of an object or of its status, as merge patch, JSON patch or (built-in kinds) strategic merge patch. */
export async function patch(context: Context, request: VerbRequest): Promise<Answer> {
  const { target } = request;
  const mode = readFieldValidation(request.query.fieldValidation, "PatchOptions");
  const apply = readPatch(request);
  return mutate(context, request, (old) => {
    const patched = patchedBody(apply, encode(target, old));
    const { draft, unknown } = decodePatched(target.kind, patched);
    const warnings = checkUnknown(unknown, mode, (text) => unusablePatch(patched, text));
    return { draft, warnings };
  });
}

/** Operations of one JSON patch that the real server takes. */
const maxOperations = 10_000;

/** Patch types of a kind: custom objects have no strategic merge, as on the real server. */
function acceptedTypes({ kind }: Pick<Target, "kind">): string[] {
  const common = ["application/json-patch+json", "application/merge-patch+json"];
  return kind.custom ? common : [...common, "application/strategic-merge-patch+json"];
}

/** Server-side apply needs a record of who owns which field, which this server does not keep. */
const noApply =
  "server-side apply is not supported by this API server: use kubectl apply without --server-side, or a merge patch";

/**
 * Reads the patch of a request, once for all attempts.
 *
 * @throws StatusError 415 for other patch types, 400 for a document that is none.
 */
export function readPatch(request: Pick<VerbRequest, "body" | "contentType" | "target">): Patch {
  const { target, contentType } = request;
  if (/^application\/apply-patch\+/.test(contentType)) throw unsupportedMediaType(acceptedTypes(target), noApply);
  if (!acceptedTypes(target).includes(contentType)) throw unsupportedMediaType(acceptedTypes(target));
  switch (contentType) {
    case "application/merge-patch+json": {
      const document = copyBody(request.body);
      if (!isObject(document)) throw badRequest("error decoding patch: a merge patch of an object is an object");
      return (current) => mergePatch(current, document);
    }
    case "application/json-patch+json": {
      const operations = readOperations(copyBody(request.body));
      if (operations.length > maxOperations) {
        const why = `The allowed maximum operations in a JSON patch is ${maxOperations}, got ${operations.length}`;
        throw requestTooLarge(why);
      }
      return (current) => applyJsonPatch(current, operations);
    }
    default: {
      const document = copyBody(request.body);
      // A scale has no lists to merge.
      const node = target.subresource === "scale" ? {} : mergeNodeOf(target.kind);
      return (current) => strategicMerge(current, document, node);
    }
  }
}

function readOperations(document: unknown) {
  try {
    return parseJsonPatch(document);
  } catch (error) {
    if (error instanceof PatchSyntaxError) throw badRequest(`error decoding patch: ${error.message}`);
    throw error;
  }
}

/** @throws StatusError 422 when the patch does not fit, 400 when it turns out to be none. */
export function patchedBody(apply: Patch, current: unknown): unknown {
  try {
    return apply(current);
  } catch (error) {
    if (error instanceof PatchSyntaxError) throw badRequest(`error decoding patch: ${error.message}`);
    if (error instanceof PatchApplyError) throw patchRejected(error.message);
    throw error;
  }
}

/** What cannot be read of the result is the fault of the patch, not of the request. */
function decodePatched(kind: Kind, patched: unknown): Decoded {
  try {
    return decodeObject(kind, copyBody(patched));
  } catch (error) {
    if (error instanceof StatusError && error.code === 400) throw unusablePatch(patched, error.message);
    throw error;
  }
}

function unusablePatch(patched: unknown, text: string): StatusError {
  return invalidPatch([invalid("patch", JSON.stringify(patched), text)]);
}

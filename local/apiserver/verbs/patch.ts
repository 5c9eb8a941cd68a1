import { isObject, mergePatch } from "#kube/json.ts";
import { StatusError } from "#kube/transport.ts";
import type { Context } from "../context.ts";
import { checkUnknown, copyBody, type Decoded, decodeObject, readFieldValidation } from "../decode.ts";
import { badRequest, invalidPatch, patchRejected, requestTooLarge, unsupportedMediaType } from "../errors.ts";
import { invalid } from "../field-errors.ts";
import { applyJsonPatch, PatchApplyError, PatchSyntaxError, parseJsonPatch } from "../patch/json-patch.ts";
import type { Answer, Kind, VerbRequest } from "../types.ts";
import { encode } from "./prepare.ts";
import { mutate } from "./update.ts";

type Patch = (current: unknown) => unknown;

/** PATCH of an object or of its status, as merge patch or JSON patch. */
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

/** Only these are accepted; which of them a kind takes is the same for all kinds. */
const acceptedTypes = ["application/json-patch+json", "application/merge-patch+json"];

/**
 * Reads the patch of a request, once for all attempts.
 *
 * @throws StatusError 415 for other patch types, 400 for a document that is none.
 */
export function readPatch(request: Pick<VerbRequest, "body" | "contentType">): Patch {
  switch (request.contentType) {
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
    default:
      throw unsupportedMediaType(acceptedTypes);
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

/** @throws StatusError 422 when the patch does not fit. */
export function patchedBody(apply: Patch, current: unknown): unknown {
  try {
    return apply(current);
  } catch (error) {
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

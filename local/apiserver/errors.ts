import type { ApiStatus } from "#api/meta.ts";
import { failure, StatusError } from "#kube/transport.ts";
import { causeReason, describeAll, type FieldError, invalid } from "./field-errors.ts";
import type { Kind } from "./types.ts";

/** Every failure the server answers with, in the words of the real one (k8s.io/apimachinery api/errors). */

/** The names that a failure is about. */
export type Named = Pick<Kind, "group" | "kind" | "plural" | "resource">;
type NamedKind = Pick<Kind, "group" | "kind">;

function details(kind: Named, name: string, as: "plural" | "kind"): ApiStatus["details"] {
  return { ...(name === "" ? {} : { name }), ...(kind.group === "" ? {} : { group: kind.group }), kind: kind[as] };
}

/** `Run.kruntimes.io`: the kind as errors of validation name it. */
export function groupKind(kind: NamedKind): string {
  return kind.group === "" ? kind.kind : `${kind.kind}.${kind.group}`;
}

/** There is no such object. */
export function notFound(kind: Named, name: string): StatusError {
  return new StatusError(
    failure(404, "NotFound", `${kind.resource} "${name}" not found`, details(kind, name, "plural")),
  );
}

/** The path leads to nothing that is served. */
export function noSuchResource(advice: string): StatusError {
  const message = `the server could not find the requested resource${advice === "" ? "" : ` (${advice})`}`;
  return new StatusError(failure(404, "NotFound", message, {}));
}

/** There is such an object already. @param leaving whether it is being deleted. */
export function alreadyExists(kind: Named, name: string, leaving: boolean): StatusError {
  const message = `${leaving ? "object is being deleted: " : ""}${kind.resource} "${name}" already exists`;
  return new StatusError(failure(409, "AlreadyExists", message, details(kind, name, "plural")));
}

/** Every name that was drawn for an object was taken. */
export function noFreeName(kind: Named, name: string): StatusError {
  const message = `${kind.resource} "${name}" already exists, the server was not able to generate a unique name for the object`;
  return new StatusError(
    failure(409, "AlreadyExists", message, { ...details(kind, name, "plural"), retryAfterSeconds: 1 }),
    1000,
  );
}

/** The request does not fit the object as it is now. */
export function conflict(kind: Named, name: string, why: string, as: "plural" | "kind" = "plural"): StatusError {
  const subject = as === "plural" ? kind.resource : groupKind(kind);
  const message = `Operation cannot be fulfilled on ${subject} "${name}": ${why}`;
  return new StatusError(failure(409, "Conflict", message, details(kind, name, as)));
}

/** The object changed since the version that the request was computed from. */
export function modified(kind: Named, name: string): StatusError {
  return conflict(
    kind,
    name,
    "the object has been modified; please apply your changes to the latest version and try again",
  );
}

/** The object is not valid; every error becomes a cause. */
export function invalidObject(kind: NamedKind, name: string, errors: readonly FieldError[]): StatusError {
  return new StatusError(
    failure(422, "Invalid", `${groupKind(kind)} ${JSON.stringify(name)} is invalid: ${describeAll(errors)}`, {
      ...(name === "" ? {} : { name }),
      ...(kind.group === "" ? {} : { group: kind.group }),
      kind: kind.kind,
      causes: errors.map((error) => ({
        reason: causeReason(error.type),
        message: error.body,
        field: error.field,
      })),
    }),
  );
}

/** A patch whose result cannot be read; the real server names no kind here. */
export function invalidPatch(errors: readonly FieldError[]): StatusError {
  return invalidObject({ group: "", kind: "" }, "", errors);
}

/** Parameters of a request that make no sense. @param kind e.g. `DeleteOptions`. */
export function invalidOptions(kind: string, errors: readonly FieldError[]): StatusError {
  return invalidObject({ group: "meta.k8s.io", kind }, "", errors);
}

/** A PUT that does not say which version it replaces; the real server names the resource where others name the kind. */
export function missingVersion(kind: Named, name: string): StatusError {
  return invalidObject({ group: kind.group, kind: kind.plural }, name, [
    invalid("metadata.resourceVersion", 0, "must be specified for an update"),
  ]);
}

/** A JSON patch that cannot be applied (a failed test, a missing path). */
export function patchRejected(why: string): StatusError {
  return new StatusError(
    failure(422, "Invalid", "the server rejected our request due to an error in our request", {
      causes: [{ reason: "UnexpectedServerResponse", message: why }],
    }),
  );
}

/** The request cannot be understood. */
export function badRequest(message: string): StatusError {
  return new StatusError(failure(400, "BadRequest", message));
}

/** The request is understood and not allowed. */
export function forbiddenRequest(
  kind: Named,
  name: string,
  why: string,
  causes?: { reason?: string; message?: string; field?: string }[],
): StatusError {
  const subject = name === "" ? `${kind.resource} is forbidden` : `${kind.resource} "${name}" is forbidden`;
  return new StatusError(
    failure(403, "Forbidden", `${subject}: ${why}`, {
      ...details(kind, name, "plural"),
      ...(causes === undefined ? {} : { causes }),
    }),
  );
}

/** Whether the request is allowed cannot be told at the moment. */
export function unavailable(kind: Named, name: string, why: string): StatusError {
  return new StatusError(
    failure(
      503,
      "ServiceUnavailable",
      `${kind.resource} "${name}" cannot be admitted now: ${why}`,
      details(kind, name, "plural"),
    ),
  );
}

/** The namespace goes and takes nothing new. */
export function namespaceTerminating(kind: Named, name: string, namespace: string): StatusError {
  return forbiddenRequest(
    kind,
    name,
    `unable to create new content in namespace ${namespace} because it is being terminated`,
    [
      {
        reason: "NamespaceTerminating",
        message: `namespace ${namespace} is being terminated`,
        field: "metadata.namespace",
      },
    ],
  );
}

/** The resource does not have this verb. */
export function methodNotAllowed(): StatusError {
  return new StatusError(
    failure(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {}),
  );
}

/** The body is in a form that is not read here. */
export function unsupportedMediaType(accepted: readonly string[], advice?: string): StatusError {
  const known = `the body of the request was in an unknown format - accepted media types include: ${accepted.join(", ")}`;
  const message = advice === undefined ? known : `${known}: ${advice}`;
  return new StatusError(failure(415, "UnsupportedMediaType", message));
}

/** @param why e.g. `limit is 3145728`. */
export function requestTooLarge(why: string): StatusError {
  return new StatusError(failure(413, "RequestEntityTooLarge", `Request entity too large: ${why}`));
}

/** History no longer reaches back to the requested version. */
export function expired(message: string, continueToken?: string): StatusError {
  const status = failure(410, "Expired", message);
  return new StatusError(continueToken === undefined ? status : { ...status, metadata: { continue: continueToken } });
}

/** A version that this server has not reached yet. */
export function versionTooLarge(requested: number, current: number): StatusError {
  return new StatusError(
    failure(504, "Timeout", `Timeout: Too large resource version: ${requested}, current: ${current}`, {
      retryAfterSeconds: 1,
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
    }),
    1000,
  );
}

/** @param retryAfterMs when to come again. */
export function tooManyRequests(retryAfterMs: number): StatusError {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
  return new StatusError(
    failure(429, "TooManyRequests", "the server has received too many requests, please try again later", {
      retryAfterSeconds: seconds,
    }),
    retryAfterMs,
  );
}

/** The server failed. */
export function internalError(why: string): StatusError {
  return new StatusError(
    failure(500, "InternalError", `Internal error occurred: ${why}`, { causes: [{ message: why }] }),
  );
}

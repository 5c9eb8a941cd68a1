import type { StatusError } from "#kube/transport.ts";
import { badRequest, invalidOptions, requestTooLarge } from "./errors.ts";
import { notSupported } from "./field-errors.ts";
import { copyJson, isObject, JsonLimitError, type JsonObject } from "./json.ts";
import { readMetadata } from "./metadata.ts";
import type { Draft, FieldValidation, Kind } from "./types.ts";

/** Bodies of requests: private copies, of bounded size, of the kind that the path promises. */

/** Bytes of a request body that the API server reads (its default of 3 MiB). */
export const maxBodyBytes = 3 * 1024 * 1024;

/**
 * Copies a body so that the caller's later changes do not reach the store.
 *
 * @throws StatusError 413 above {@link maxBodyBytes}, 400 when nested too deeply.
 */
export function copyBody(body: unknown): unknown {
  try {
    return copyJson(body, { bytes: maxBodyBytes });
  } catch (error) {
    if (!(error instanceof JsonLimitError)) throw error;
    throw error.limit === "size" ? requestTooLarge(`limit is ${maxBodyBytes}`) : badRequest("json: exceeded max depth");
  }
}

/** The members of a body as an object of a kind, before pruning. */
export interface Decoded {
  readonly draft: Draft;
  /** Paths of members that the kind does not have. */
  readonly unknown: string[];
}

/**
 * Reads a copied body as an object of a kind, in the stored form.
 *
 * @throws StatusError 400 when it is of another kind or cannot be read at all.
 */
export function decodeObject(kind: Kind, body: unknown): Decoded {
  if (!isObject(body)) {
    throw badRequest(
      `the object provided is unrecognized (must be of type ${kind.kind}): couldn't get version/kind; json parse error: a JSON object is expected`,
    );
  }
  const { apiVersion, kind: name } = typeOf(kind, body);
  if (apiVersion !== kind.apiVersion) {
    throw badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version (${kind.apiVersion})`,
    );
  }
  if (name !== kind.kind) {
    throw badRequest(`${name} in version ${JSON.stringify(kind.version)} cannot be handled as a ${kind.kind}`);
  }
  const unknown: string[] = [];
  const metadata = readMetadata(body, unknown, decodingContext(kind));
  const draft = kind.admit({ ...body, apiVersion, kind: name, metadata }, unknown);
  return { draft, unknown };
}

/** Built-in kinds are known by the path; custom objects must name their type, as on the real server. */
function typeOf(kind: Kind, body: JsonObject): { apiVersion: unknown; kind: unknown } {
  if (!kind.custom) return { apiVersion: body.apiVersion ?? kind.apiVersion, kind: body.kind ?? kind.kind };
  for (const member of ["kind", "apiVersion"] as const) {
    if (typeof body[member] !== "string" || body[member] === "") {
      const text = JSON.stringify(body);
      throw badRequest(`Object '${member === "kind" ? "Kind" : "apiVersion"}' is missing in '${text.slice(0, 200)}'`);
    }
  }
  return { apiVersion: body.apiVersion, kind: body.kind };
}

/** Beginning of the message about a body that cannot be read as a kind. */
export function decodingContext(kind: Kind): string {
  return `${kind.kind} in version ${JSON.stringify(kind.version)} cannot be handled as a ${kind.kind}: `;
}

/** `strict decoding error: unknown field "spec.x", ...`: what Strict refuses and Warn reports. */
export function strictText(unknown: readonly string[]): string {
  return `strict decoding error: ${unknown.map((path) => `unknown field ${JSON.stringify(path)}`).join(", ")}`;
}

/**
 * Applies the `fieldValidation` parameter to what decoding found unknown.
 *
 * @returns warnings for the answer.
 * @throws StatusError from `refuse` under Strict.
 */
export function checkUnknown(
  unknown: readonly string[],
  mode: FieldValidation,
  refuse: (text: string) => StatusError,
): string[] {
  if (unknown.length === 0 || mode === "Ignore") return [];
  if (mode === "Strict") throw refuse(strictText(unknown));
  return unknown.map((path) => `unknown field ${JSON.stringify(path)}`);
}

/**
 * The `fieldValidation` parameter.
 *
 * @param options what the parameters of the verb are called, e.g. `CreateOptions`.
 * @throws StatusError 422 for any other word.
 */
export function readFieldValidation(value: string | undefined, options: string): FieldValidation {
  switch (value) {
    case undefined:
    case "":
    case "Warn":
      return "Warn";
    case "Strict":
    case "Ignore":
      return value;
    default:
      throw invalidOptions(options, [notSupported("fieldValidation", value, ["", "Ignore", "Strict", "Warn"])]);
  }
}

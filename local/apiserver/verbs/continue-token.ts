import { badRequest } from "../errors.ts";
import { isObject } from "../json.ts";

/** Where a paged list goes on: the state it belongs to, and the last object of the page before. */
export interface ContinueToken {
  readonly revision: number;
  readonly after: { readonly namespace: string; readonly name: string } | undefined;
}

interface Wire {
  readonly v: "meta.k8s.io/v1";
  readonly rv: number;
  readonly start: string;
}

/** Opaque to clients; the same members as the real server's token. */
export function encodeContinue({ revision, after }: ContinueToken): string {
  const wire: Wire = { v: "meta.k8s.io/v1", rv: revision, start: `${after?.namespace ?? ""}/${after?.name ?? ""}` };
  return Buffer.from(JSON.stringify(wire)).toString("base64url");
}

/** @throws StatusError 400 for anything that {@link encodeContinue} did not make. */
export function decodeContinue(token: string): ContinueToken {
  let wire: unknown;
  try {
    wire = JSON.parse(Buffer.from(token, "base64url").toString());
  } catch {
    throw badRequest("continue key is not valid: it is not the token of an earlier answer");
  }
  if (!isObject(wire) || wire.v !== "meta.k8s.io/v1") {
    throw badRequest("continue key is not valid: server does not recognize this encoded version");
  }
  const { rv, start } = wire;
  if (typeof rv !== "number" || !Number.isSafeInteger(rv) || rv < 1 || typeof start !== "string") {
    throw badRequest("continue key is not valid: incorrect encoded start resourceVersion");
  }
  const slash = start.indexOf("/");
  if (slash < 0) throw badRequest("continue key is not valid: encoded start key has no name");
  return { revision: rv, after: { namespace: start.slice(0, slash), name: start.slice(slash + 1) } };
}

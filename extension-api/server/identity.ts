import { failure, StatusError } from "#kube/transport.ts";
import type { RequestHeaders } from "./request-header.ts";

/** In whose name a request is made. */
export interface Caller {
  readonly user: string;
  readonly groups: readonly string[];
}

/** What is known of the other end of a connection. */
export interface Peer {
  /** Its certificate is signed by an authority of the aggregation layer. */
  readonly trusted: boolean;
  /** Common name of that certificate; undefined without one. */
  readonly name: string | undefined;
}

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Headers are believed only where the certificate of the connection is that of the API server's aggregation layer: everybody can send
 * headers.
 *
 * @throws StatusError 401
 */
export function callerOf(peer: Peer, headers: Headers, config: RequestHeaders): Caller {
  if (!peer.trusted) {
    throw unauthorized(
      peer.name === undefined
        ? "this API is reached through the Kubernetes API server only"
        : `the client certificate of ${peer.name} is not signed by the authority of the aggregation layer`,
    );
  }
  const { allowedNames } = config;
  if (peer.name === undefined || (allowedNames.length > 0 && !allowedNames.includes(peer.name))) {
    throw unauthorized(`${peer.name ?? "a certificate without a name"} is no name of the aggregation layer`);
  }
  const [user] = present(headers, config.username);
  if (user === undefined) throw unauthorized(`the request names no user (${config.username.join(", ")})`);
  // Node joins headers that come several times; names of groups have no commas.
  const groups = present(headers, config.group).flatMap((value) => value.split(/\s*,\s*/));
  return { user, groups };
}

function present(headers: Headers, names: readonly string[]): readonly string[] {
  return names.flatMap((name) => headers[name] ?? []).filter(Boolean);
}

const unauthorized = (message: string) => new StatusError(failure(401, "Unauthorized", message));

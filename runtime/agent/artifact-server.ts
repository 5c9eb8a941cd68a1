import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import { runs, workflowRuns } from "#api/resources.ts";
import type { Client } from "#kube/resource.ts";
import { failure, isNotFound, StatusError, TransportError } from "#kube/transport.ts";
import {
  ArtifactInvalidError,
  ArtifactMissingError,
  type ArtifactStore,
  type OpenedArtifact,
  StoreUnavailableError,
} from "#runtime/artifacts/store.ts";
import { type ArtifactRequest, isRefOf, parseArtifactRequest } from "./artifact-request.ts";
import { parseRange } from "./byte-range.ts";

/** An HTTP request, as far as it matters here. */
export interface ArtifactHttpRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: { readonly range?: string | undefined; readonly "if-match"?: string | undefined };
  readonly signal: AbortSignal;
}

export interface ArtifactHttpResponse {
  readonly code: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterable<Uint8Array> | string;
  /** Always to be called when the body was sent, or is not wanted any more. */
  close(): Promise<void>;
}

export interface ArtifactServerDeps {
  readonly client: Client;
  readonly store: ArtifactStore;
  readonly namespace: string;
}

/** Downloads at a time in one Pod: the Runs of the Pod need the store too. */
const maxDownloads = 16;

/**
 * Reads stored artifacts back. Served is only what the status of a Run or WorkflowRun of the agent's namespace records now, by
 * a live read: a path that nobody was given leads nowhere, and the store refuses what another cluster or namespace owns.
 */
export function createArtifactServer(
  deps: ArtifactServerDeps,
): (request: ArtifactHttpRequest) => Promise<ArtifactHttpResponse> {
  let downloads = 0;
  return async (request) => {
    if (downloads >= maxDownloads) return failed(tooMany());
    downloads++;
    let left = false;
    const leave = () => {
      if (!left) downloads--;
      left = true;
    };
    try {
      const response = await respond(deps, request);
      return {
        ...response,
        close: async () => {
          leave();
          await response.close();
        },
      };
    } catch (error) {
      leave();
      return failed(asStatusError(error));
    }
  };
}

async function respond(deps: ArtifactServerDeps, request: ArtifactHttpRequest): Promise<ArtifactHttpResponse> {
  if (request.method !== "GET" && request.method !== "HEAD") {
    throw new StatusError(failure(405, "MethodNotAllowed", `artifacts are read with GET, not ${request.method}`));
  }
  const asked = parseArtifactRequest(request.url);
  const ref = await recordedRef(deps, asked, request.signal);
  const etag = `"${ref.digest}"`;
  if (request.headers["if-match"] !== undefined && request.headers["if-match"] !== etag) {
    throw new StatusError(
      failure(412, "PreconditionFailed", `artifact ${asked.name} has another digest: ${ref.digest}`),
    );
  }
  const opened = await deps.store.open(ref);
  try {
    return transfer(ref, opened, request, etag);
  } catch (error) {
    await opened.close();
    throw error;
  }
}

function transfer(
  ref: ArtifactRef,
  opened: OpenedArtifact,
  { method, headers }: ArtifactHttpRequest,
  etag: string,
): ArtifactHttpResponse {
  const { sizeBytes } = opened;
  if (sizeBytes !== ref.sizeBytes) {
    const message = `the store has ${sizeBytes} bytes of artifact ${ref.name}, its reference says ${ref.sizeBytes}`;
    throw new StatusError(failure(500, "InternalError", `${message}; the store was changed by somebody else`));
  }
  const range = parseRange(headers.range, sizeBytes);
  if (range === "unsatisfiable") {
    const refusal = new StatusError(
      failure(416, "RequestedRangeNotSatisfiable", `artifact ${ref.name} has ${sizeBytes} bytes`),
    );
    return { ...failed(refusal, { "content-range": `bytes */${sizeBytes}` }), close: () => opened.close() };
  }
  const { start, end } = range ?? { start: 0, end: sizeBytes };
  return {
    code: range === undefined ? 200 : 206,
    headers: {
      "content-type": ref.contentType ?? "application/octet-stream",
      "content-length": String(end - start),
      "accept-ranges": "bytes",
      etag,
      "repr-digest": `sha-256=:${Buffer.from(ref.digest.slice("sha256:".length), "hex").toString("base64")}:`,
      "x-content-type-options": "nosniff",
      ...(range !== undefined && { "content-range": `bytes ${start}-${end - 1}/${sizeBytes}` }),
    },
    body: method === "HEAD" ? "" : opened.read(start, end),
    close: () => opened.close(),
  };
}

/** The reference that the holder's status records. */
async function recordedRef(
  deps: ArtifactServerDeps,
  asked: ArtifactRequest,
  signal: AbortSignal,
): Promise<ArtifactRef> {
  const { kind, name } = asked.holder;
  try {
    const refs = await refsOf(deps, asked, signal);
    const found = refs.find((ref) => isRefOf(ref, asked));
    if (found !== undefined) return found;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    throw new StatusError(failure(404, "NotFound", `there is no ${kind} ${name} in namespace ${deps.namespace}`));
  }
  const message = `${kind} ${name} has no artifact ${asked.name} of Run ${asked.runUid}`;
  throw new StatusError(failure(404, "NotFound", message));
}

async function refsOf(
  { client, namespace }: ArtifactServerDeps,
  { runUid, holder }: ArtifactRequest,
  signal: AbortSignal,
): Promise<readonly ArtifactRef[]> {
  const ref = { namespace, name: holder.name };
  if (holder.kind === "Run") {
    const { metadata, status } = await client.of(runs).get(ref, signal);
    return metadata.uid === runUid ? (status?.artifactRefs ?? []) : [];
  }
  const { status } = await client.of(workflowRuns).get(ref, signal);
  return Object.values(status?.jobs ?? {}).flatMap((job) => Object.values(job.artifacts ?? {}));
}

const tooMany = () =>
  new StatusError(failure(429, "TooManyRequests", `${maxDownloads} artifacts are being read already`), 1000);

function asStatusError(error: unknown): StatusError {
  if (error instanceof StatusError) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof ArtifactMissingError) return new StatusError(failure(404, "NotFound", message));
  if (error instanceof ArtifactInvalidError) return new StatusError(failure(403, "Forbidden", message));
  if (error instanceof StoreUnavailableError || error instanceof TransportError) {
    return new StatusError(failure(503, "ServiceUnavailable", message), 1000);
  }
  return new StatusError(failure(500, "InternalError", message));
}

function failed(error: StatusError, more: Readonly<Record<string, string>> = {}): ArtifactHttpResponse {
  const body = JSON.stringify(error.status);
  return {
    code: error.code,
    headers: {
      "content-type": "application/json",
      "content-length": String(Buffer.byteLength(body)),
      ...(error.retryAfterMs !== undefined && { "retry-after": String(Math.ceil(error.retryAfterMs / 1000)) }),
      ...more,
    },
    body,
    close: async () => {},
  };
}

import type { ApiStatus } from "#api/meta.ts";

/** How bodies of a patch are read (RFC 7386, RFC 6902, Kubernetes strategic merge). */
export type PatchType =
  | "application/merge-patch+json"
  | "application/json-patch+json"
  | "application/strategic-merge-patch+json";

export interface ApiRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path of the API, e.g. `/apis/kruntimes.io/v1alpha1/namespaces/default/runs/a/status`; no query. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
  /** Default `application/json`; a {@link PatchType} for PATCH. */
  readonly contentType?: string;
  /** Accept header; default `application/json`. */
  readonly accept?: string;
  readonly signal?: AbortSignal;
  /** Deadline of the whole call in milliseconds; default 30,000; not applied to streams once they are open. */
  readonly timeoutMs?: number;
  /** Told the size of the answer's body in bytes; transports without a wire do not call it. */
  readonly onBytes?: (bytes: number) => void;
}

/**
 * One connection to an API server: the real one over HTTP (`http-transport.ts`) or the embedded one in the same
 * process (`memory.ts`). Both answer failures with {@link StatusError} and lost connections with
 * {@link TransportError}.
 */
export interface Transport {
  /** Sends one request and returns the parsed body of its 2xx answer. */
  request<T = unknown>(request: ApiRequest): Promise<T>;
  /**
   * Opens a streaming answer (watch, follow) and yields its parsed JSON lines. Resolves when the headers were
   * received; the iterator ends when the server closes and throws {@link TransportError} when the line breaks.
   * `return()` on the iterator, or the signal, closes the connection.
   */
  stream<T = unknown>(request: ApiRequest): Promise<AsyncIterable<T>>;
  /**
   * The same for an answer that is no JSON (the log of a container): its bytes as they come. Transports without a wire have none.
   */
  streamBytes?(request: ApiRequest): Promise<AsyncIterable<Buffer>>;
  /** Opens a WebSocket through the API server (port-forward, sessions). Transports without a wire have none. */
  openSocket?(request: SocketRequest): Promise<MessageSocket>;
  close(): Promise<void>;
}

export interface SocketRequest extends Pick<ApiRequest, "path" | "query" | "signal" | "timeoutMs"> {
  /** Subprotocols, the best first. */
  readonly protocols: readonly string[];
}

/** An open WebSocket. */
export interface MessageSocket {
  /** The subprotocol that the server chose. */
  readonly protocol: string;
  /** Sends one binary message. Resolves when there is room for more. */
  send(data: Uint8Array): Promise<void>;
  /** The messages that come; to be read once. Ends when the server closes, throws {@link TransportError} when the line breaks. */
  messages(): AsyncIterable<Buffer>;
  close(): void;
}

/**
 * The API server answered with a Status.
 *
 * What to do: decide by `code` and `reason` (see the helpers below), never by the text.
 */
export class StatusError extends Error {
  override readonly name = "StatusError";
  readonly status: ApiStatus;
  /** Milliseconds from a Retry-After header, if there was one. */
  readonly retryAfterMs: number | undefined;

  constructor(status: ApiStatus, retryAfterMs?: number, options?: ErrorOptions) {
    super(status.message ?? `${status.code} ${status.reason ?? "Unknown"}`, options);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }

  get code(): number {
    return this.status.code;
  }

  get reason(): string {
    return this.status.reason ?? "Unknown";
  }
}

/**
 * No answer: refused, reset, timed out, or a body that is no JSON. The request may or may not have taken effect.
 *
 * What to do: read the object again before you decide.
 */
export class TransportError extends Error {
  override readonly name = "TransportError";
}

const hasCode = (error: unknown, code: number): error is StatusError =>
  error instanceof StatusError && error.code === code;

export const isNotFound = (error: unknown): error is StatusError => hasCode(error, 404);
/** The object changed since it was read, or a precondition (uid, resourceVersion) does not hold. */
export const isConflict = (error: unknown): error is StatusError =>
  hasCode(error, 409) && (error as StatusError).reason === "Conflict";
export const isAlreadyExists = (error: unknown): error is StatusError =>
  hasCode(error, 409) && (error as StatusError).reason === "AlreadyExists";
export const isForbidden = (error: unknown): error is StatusError => hasCode(error, 403);
/** A ResourceQuota has no room at the moment. Kubernetes tells this refusal from others by its text alone. */
export const isOverQuota = (error: unknown): boolean => isForbidden(error) && error.message.includes("exceeded quota");
/** The watch cannot be resumed from this version: list again. */
export const isGone = (error: unknown): error is StatusError => hasCode(error, 410);

/** A Status for a failure, in the shape of the API server's own. */
export function failure(code: number, reason: string, message: string, details?: ApiStatus["details"]): ApiStatus {
  return {
    apiVersion: "v1",
    kind: "Status",
    metadata: {},
    status: "Failure",
    message,
    reason,
    code,
    ...(details === undefined ? {} : { details }),
  };
}

import type { ApiStatus } from "#api/meta.ts";

/** A request as it came over the wire, without the wire. */
export interface HttpRequest {
  readonly method: string;
  /** Path as sent, still percent-encoded. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Empty where there is none. */
  readonly body: Buffer;
  /** Aborted when the caller has gone. */
  readonly signal: AbortSignal;
}

/** What goes back over the wire. */
export interface HttpAnswer {
  readonly code: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** The whole text, or its pieces as they come: each is sent at once. */
  readonly body: string | AsyncIterable<string>;
}

/** Answers one request. */
export type HttpHandler = (request: HttpRequest) => Promise<HttpAnswer>;

/** A JSON answer. */
export function jsonAnswer(code: number, body: unknown, headers: HttpAnswer["headers"] = {}): HttpAnswer {
  return { code, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) };
}

/** A text answer. */
export function textAnswer(code: number, body: string): HttpAnswer {
  return { code, headers: { "content-type": "text/plain; charset=utf-8" }, body };
}

/** A Status as an answer; `retryAfterMs` becomes a Retry-After header. */
export function statusAnswer(status: ApiStatus, retryAfterMs?: number): HttpAnswer {
  const headers = retryAfterMs === undefined ? {} : { "retry-after": String(Math.ceil(retryAfterMs / 1000)) };
  return jsonAnswer(status.code, status, headers);
}

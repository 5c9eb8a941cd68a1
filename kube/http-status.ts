import type { ApiStatus } from "#api/meta.ts";
import { isObject } from "#kube/json.ts";
import { failure, StatusError } from "#kube/transport.ts";

/** Reasons of metav1.Status for answers that bring none. */
const reasons: Readonly<Record<number, string>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  406: "NotAcceptable",
  409: "Conflict",
  410: "Gone",
  413: "RequestEntityTooLarge",
  415: "UnsupportedMediaType",
  422: "Invalid",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
  504: "Timeout",
};

/**
 * The error for an answer that is not 2xx: the Status in its body, or one made from what proxies, load balancers and
 * panicking servers send instead.
 *
 * @param what request in words, for the message.
 * @param retryAfter the Retry-After header, if any.
 * @param now wall clock in milliseconds, for a Retry-After that is a date.
 */
export function statusError(
  what: string,
  code: number,
  body: string,
  retryAfter: string | undefined,
  now: number,
): StatusError {
  const status = parseStatus(body);
  if (status !== undefined) return new StatusError({ ...status, code }, retryAfterMs(retryAfter, now));
  const text = body.trim().replaceAll(/\s+/g, " ").slice(0, 200);
  const reason = reasons[code] ?? "Unknown";
  const message = `${what}: ${code} ${reason}${text === "" ? "" : `: ${text}`}`;
  return new StatusError(failure(code, reason, message), retryAfterMs(retryAfter, now));
}

function parseStatus(body: string): ApiStatus | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return isObject(value) && value.kind === "Status" ? (value as unknown as ApiStatus) : undefined;
  } catch {
    return undefined;
  }
}

/** Retry-After is a number of seconds or a date (RFC 9110, 10.2.3). */
function retryAfterMs(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

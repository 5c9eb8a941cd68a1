import type { ApiStatus } from "#api/meta.ts";
import { failure, StatusError } from "#kube/transport.ts";
import { LogUnavailableError, PodGoneError, PositionLostError, TooSlowError } from "./ports.ts";

/** After this long it makes sense to ask again, in milliseconds. */
const retryAfterMs = 1000;

export const badRequest = (message: string) => new StatusError(failure(400, "BadRequest", message));

export const expired = (message: string) =>
  new StatusError(failure(410, "Expired", `${message}; ask again without a cursor`));

export const tooMany = (message: string) => new StatusError(failure(429, "TooManyRequests", message), retryAfterMs);

/** How the API tells a failure. */
export function statusErrorOf(error: unknown): StatusError {
  if (error instanceof StatusError) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof PodGoneError) return new StatusError(failure(409, "Conflict", message));
  if (error instanceof PositionLostError) return expired(message);
  if (error instanceof TooSlowError) return tooMany(message);
  if (error instanceof LogUnavailableError) {
    return new StatusError(failure(503, "ServiceUnavailable", message), retryAfterMs);
  }
  return new StatusError(failure(500, "InternalError", message), undefined, { cause: error });
}

export const statusOf = (error: unknown): ApiStatus => statusErrorOf(error).status;

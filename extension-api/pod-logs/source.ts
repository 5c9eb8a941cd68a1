import { podContainers } from "#api/pod-layout.ts";
import { StatusError, type Transport } from "#kube/transport.ts";
import { LogUnavailableError, PodGoneError } from "../logs/ports.ts";

export interface PodRef {
  readonly namespace: string;
  readonly name: string;
}

/** Which lines of the agent's log are asked for; default all of the container that runs. */
export interface StoredRange {
  /** Of the container's run before its last restart. */
  readonly previous?: boolean;
  /** Goes on as long as the container runs. */
  readonly follow?: boolean;
  readonly tailLines?: number;
  /** No more than so many bytes from the beginning. */
  readonly limitBytes?: number;
  /** RFC 3339 in whole seconds. */
  readonly sinceTime?: string | undefined;
}

/** How long a node may take to begin its answer, in milliseconds. */
const answerMs = 10_000;

/** There is a Pod, but no such log: the container has not begun, or was never restarted. */
export class NoSuchLogError extends Error {
  override readonly name = "NoSuchLogError";
}

/**
 * Opens the log of the agent of a Pod, with the time before each line. Resolves when the node has answered.
 *
 * @throws PodGoneError, NoSuchLogError, LogUnavailableError
 */
export async function openStored(
  transport: Transport,
  { namespace, name }: PodRef,
  range: StoredRange,
  signal: AbortSignal,
): Promise<AsyncIterable<Buffer>> {
  if (transport.streamBytes === undefined) throw new LogUnavailableError("logs need a connection to an API server");
  const { previous, follow, tailLines, limitBytes, sinceTime } = range;
  try {
    const bytes = await transport.streamBytes({
      method: "GET",
      path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}/log`,
      query: {
        container: podContainers.agent,
        timestamps: "true",
        previous: previous ? "true" : undefined,
        follow: follow ? "true" : undefined,
        tailLines: tailLines === undefined ? undefined : String(tailLines),
        limitBytes: limitBytes === undefined ? undefined : String(limitBytes),
        sinceTime,
      },
      accept: "*/*",
      timeoutMs: answerMs,
      signal,
    });
    return unbroken(bytes, name);
  } catch (error) {
    throw storedError(error, name);
  }
}

/** A connection that breaks is a log that cannot be read now. */
async function* unbroken(bytes: AsyncIterable<Buffer>, pod: string): AsyncGenerator<Buffer> {
  const iterator = bytes[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await iterator.next().catch((error: unknown) => {
        throw storedError(error, pod);
      });
      if (next.done) return;
      yield next.value;
    }
  } finally {
    await iterator.return?.();
  }
}

/** What a failure of the API server or the node means for the log. */
export function storedError(error: unknown, pod: string): Error {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof StatusError && error.code === 404) {
    return podGone(pod, error);
  }
  if (error instanceof StatusError && error.code === 400) return new NoSuchLogError(message, { cause: error });
  return new LogUnavailableError(`the log of Pod ${pod} cannot be read now: ${message}`, { cause: error });
}

export const podGone = (pod: string, cause?: unknown) =>
  new PodGoneError(`Pod ${pod} does not exist any more, and its log went with it`, { cause });

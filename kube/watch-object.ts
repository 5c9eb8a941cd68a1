import type { KubeObject } from "#api/meta.ts";
import { backoff } from "#kube/backoff.ts";
import { type Clock, type Random, sleep } from "#kube/ports.ts";
import type { Client, ObjectRef, ResourceType } from "#kube/resource.ts";
import { isGone, StatusError, TransportError } from "#kube/transport.ts";

/** Pauses before a watch that broke is opened again, in milliseconds: doubled from the first to the longest. */
const firstPauseMs = 100;
const longestPauseMs = 5000;

/** The object is not there any more. */
export class DeletedError extends Error {
  override readonly name = "DeletedError";
}

export interface WatchObjectOptions<T> {
  /** Called with the object as it is, and after each change. */
  readonly onChange?: (object: T) => void;
  /** Until when: the state that is waited for. */
  readonly until: (object: T) => boolean;
  readonly signal?: AbortSignal;
}

/**
 * Follows one object until it is as it should be, over broken connections and servers that restart.
 *
 * @returns the object, or undefined when the signal was aborted before that
 * @throws DeletedError when it is deleted (or replaced by another of its name); StatusError for a refusal
 */
export async function watchObject<T extends KubeObject>(
  resource: ResourceType<T>,
  ref: ObjectRef,
  { onChange, until, signal }: WatchObjectOptions<T>,
  { client, clock, random }: { readonly client: Client; readonly clock: Clock; readonly random: Random },
): Promise<T | undefined> {
  const kind = client.of(resource);
  let uid: string | undefined;
  let failures = 0;
  while (!signal?.aborted) {
    try {
      const first = await kind.get(ref, signal);
      uid ??= first.metadata.uid;
      if (first.metadata.uid !== uid)
        throw new DeletedError(`${resource.kind} ${ref.name} was replaced by another one`);
      failures = 0;
      onChange?.(first);
      if (until(first)) return first;
      const events = await kind.watch({
        namespace: ref.namespace,
        fieldSelector: `metadata.name=${ref.name}`,
        resourceVersion: first.metadata.resourceVersion,
        signal,
      });
      for await (const event of events) {
        if (event.type === "ERROR") break;
        if (event.type === "BOOKMARK") continue;
        if (event.type === "DELETED") throw new DeletedError(`${resource.kind} ${ref.name} was deleted`);
        onChange?.(event.object);
        if (until(event.object)) return event.object;
      }
    } catch (error) {
      if (signal?.aborted) return undefined;
      if (error instanceof StatusError && error.code === 404 && uid !== undefined) {
        throw new DeletedError(`${resource.kind} ${ref.name} was deleted`, { cause: error });
      }
      // A cluster that was there a moment ago may come back; one that never answered is told of at once.
      if (!(isTransient(error) && uid !== undefined)) throw error;
      await sleep(clock, backoff(++failures, firstPauseMs, longestPauseMs, random), signal);
    }
  }
  return undefined;
}

function isTransient(error: unknown): boolean {
  if (error instanceof TransportError || isGone(error)) return true;
  return error instanceof StatusError && (error.code === 429 || error.code >= 500);
}

import { failure } from "#kube/transport.ts";
import type { Context } from "../context.ts";
import { badRequest, invalidOptions, versionTooLarge } from "../errors.ts";
import type { WatchFault } from "../faults.ts";
import { forbidden } from "../field-errors.ts";
import { compileSelectors } from "../selectors/match.ts";
import type { VerbRequest } from "../types.ts";
import { eventFor, type Subscription } from "../watch-hub.ts";
import { EventQueue, type ServerEvent } from "../watcher.ts";
import { encode } from "./prepare.ts";
import { readVersion } from "./read.ts";

/** A watch without a timeout lives between this and twice this, as on the real server (min-request-timeout). */
const minLifetimeMs = 1_800_000;

/**
 * Opens a watch. Events from history and the first objects are queued before this returns, so nothing is lost between.
 *
 * @param route sends an event on its way; where faults are injected it may hold, drop or double it.
 * @param open gets, while the watch lives, what ends it.
 * @throws StatusError 400, 504
 */
export function watch(
  context: Context,
  request: VerbRequest,
  signal: AbortSignal | undefined,
  route: WatchFault,
  open: Set<() => void>,
): AsyncIterable<ServerEvent> {
  const { query } = request;
  const { kind } = request.target;
  const fields =
    request.target.name === undefined ? query.fieldSelector : onlyNamed(request.target.name, query.fieldSelector);
  const match = compileSelectors(kind, query.labelSelector, fields);
  const current = context.storage.revision;
  const from = startOf(query, current);
  const seconds = readTimeout(query.timeoutSeconds);

  let release = (): void => undefined;
  const queue = new EventQueue(context.watchBuffer, () => release());
  const deliver = (event: ServerEvent): void => route(event, queue);
  const subscription: Subscription = {
    resource: kind.resource,
    namespace: kind.namespaced ? request.target.namespace : "",
    match,
    bookmarks: isTrue(query.allowWatchBookmarks),
    deliver: (event) => deliver(encodeEvent(event)),
    bookmark: (revision) => bookmark(revision),
  };

  const history = from.revision === undefined ? [] : context.storage.changes(kind.resource, from.revision);
  if (history === undefined) {
    const oldest = `too old resource version: ${from.revision} (${current})`;
    queue.fail(failure(410, "Expired", oldest));
    return queue;
  }
  const namespace = subscription.namespace === "" ? undefined : subscription.namespace;
  const first: ServerEvent[] = [];
  if (from.initial) {
    for (const object of context.storage.list(kind.resource, namespace)) {
      if (match(object)) first.push({ type: "ADDED", object });
    }
    if (from.announceEnd) first.push(bookmark(current, true));
  }
  for (const change of history) {
    if (namespace !== undefined && change.object.metadata.namespace !== namespace) continue;
    const event = eventFor(change, match);
    if (event !== undefined) first.push(event);
  }
  queue.preload(first.map(encodeEvent));

  const unsubscribe = context.hub.subscribe(subscription);
  const lifetime = seconds === undefined ? minLifetimeMs * (1 + context.random.next()) : seconds * 1000;
  const cancelTimeout = context.clock.after(lifetime, () => queue.close());
  const onAbort = (): void => void queue.return();
  open.add(onAbort);
  signal?.addEventListener("abort", onAbort, { once: true });
  release = () => {
    unsubscribe();
    cancelTimeout();
    open.delete(onAbort);
    signal?.removeEventListener("abort", onAbort);
  };
  if (signal?.aborted) onAbort();
  return queue;

  function encodeEvent(event: ServerEvent): ServerEvent {
    if (event.type === "BOOKMARK" || event.type === "ERROR" || kind.encode === undefined) return event;
    return { type: event.type, object: encode(request.target, event.object) };
  }

  function bookmark(revision: number, initialEnd = false): ServerEvent {
    const metadata = {
      resourceVersion: String(revision),
      creationTimestamp: null,
      ...(initialEnd ? { annotations: { "k8s.io/initial-events-end": "true" } } : {}),
    };
    return {
      type: "BOOKMARK",
      object: { kind: kind.kind, apiVersion: kind.apiVersion, metadata } as { metadata: { resourceVersion: string } },
    };
  }
}

interface Start {
  /** Changes after this revision are replayed; undefined for none. */
  readonly revision: number | undefined;
  /** Whether everything that exists is sent as ADDED first. */
  readonly initial: boolean;
  /** Whether a marked bookmark ends the initial events. */
  readonly announceEnd: boolean;
}

function startOf(query: VerbRequest["query"], current: number): Start {
  const version = query.resourceVersion ?? "";
  const streamsList = isTrue(query.sendInitialEvents);
  if (streamsList && query.resourceVersionMatch !== "NotOlderThan") {
    const why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
    throw invalidOptions("ListOptions", [forbidden("resourceVersionMatch", why)]);
  }
  if (version === "" || version === "0") {
    // `sendInitialEvents=false` starts at the present, unset sends what exists first
    return {
      revision: undefined,
      initial: streamsList || query.sendInitialEvents === undefined,
      announceEnd: streamsList,
    };
  }
  const revision = readVersion(version);
  if (revision > current) throw versionTooLarge(revision, current);
  return streamsList
    ? { revision: undefined, initial: true, announceEnd: isTrue(query.allowWatchBookmarks) }
    : { revision, initial: false, announceEnd: false };
}

/** A watch on the path of one object is a watch of the collection by name. */
function onlyNamed(name: string, fieldSelector: string | undefined): string {
  const byName = `metadata.name=${name}`;
  return fieldSelector === undefined || fieldSelector === "" ? byName : `${byName},${fieldSelector}`;
}

function readTimeout(text: string | undefined): number | undefined {
  if (text === undefined || text === "" || text === "0") return undefined;
  const seconds = Number(text);
  if (!Number.isFinite(seconds) || seconds < 0) {
    throw badRequest(`timeoutSeconds: Invalid value: ${JSON.stringify(text)}: must be a number of seconds`);
  }
  return seconds;
}

const isTrue = (text: string | undefined): boolean => text === "true" || text === "1";

import type { Cancel, Clock } from "#kube/ports.ts";
import type { Match } from "./selectors/match.ts";
import type { Change } from "./storage.ts";
import type { StoredObject } from "./types.ts";
import type { ServerEvent } from "./watcher.ts";

/** One watch as the hub sees it. */
export interface Subscription {
  readonly resource: string;
  /** `""` for all namespaces. */
  readonly namespace: string;
  readonly match: Match;
  readonly bookmarks: boolean;
  deliver(event: ServerEvent): void;
  /** A BOOKMARK of this kind with the given version. */
  bookmark(revision: number): ServerEvent;
}

/** How often watchers that asked for bookmarks get one; about the real server's interval. */
const bookmarkIntervalMs = 60_000;

/** Sends each change to the watches of its resource and namespace, and to no others. */
export interface WatchHub {
  publish(change: Change): void;
  subscribe(subscription: Subscription): Cancel;
  close(): void;
}

/** @param revision of the storage, for bookmarks. */
export function createWatchHub(clock: Clock, revision: () => number): WatchHub {
  /** By resource, then by namespace. */
  const topics = new Map<string, Map<string, Set<Subscription>>>();
  const bookmarked = new Set<Subscription>();
  let cancelBookmarks: Cancel | undefined;

  // One timer for all, and only while somebody wants bookmarks: an idle server has no timers.
  const scheduleBookmarks = (): void => {
    if (cancelBookmarks !== undefined || bookmarked.size === 0) return;
    cancelBookmarks = clock.after(bookmarkIntervalMs, () => {
      cancelBookmarks = undefined;
      for (const subscription of bookmarked) subscription.deliver(subscription.bookmark(revision()));
      scheduleBookmarks();
    });
  };

  return {
    publish(change) {
      const topic = topics.get(change.resource);
      if (topic === undefined) return;
      const namespace = change.object.metadata.namespace ?? "";
      send(topic.get(""), change);
      if (namespace !== "") send(topic.get(namespace), change);
    },

    subscribe(subscription) {
      const { resource, namespace } = subscription;
      const topic = topics.get(resource) ?? new Map<string, Set<Subscription>>();
      topics.set(resource, topic);
      const subscriptions = topic.get(namespace) ?? new Set<Subscription>();
      topic.set(namespace, subscriptions);
      subscriptions.add(subscription);
      if (subscription.bookmarks) bookmarked.add(subscription);
      scheduleBookmarks();
      return () => {
        subscriptions.delete(subscription);
        if (subscriptions.size === 0 && topic.get(namespace) === subscriptions) topic.delete(namespace);
        if (topic.size === 0 && topics.get(resource) === topic) topics.delete(resource);
        bookmarked.delete(subscription);
        if (bookmarked.size === 0) {
          cancelBookmarks?.();
          cancelBookmarks = undefined;
        }
      };
    },

    close() {
      cancelBookmarks?.();
      cancelBookmarks = undefined;
      topics.clear();
      bookmarked.clear();
    },
  };
}

function send(subscriptions: Set<Subscription> | undefined, change: Change): void {
  if (subscriptions === undefined) return;
  for (const subscription of subscriptions) {
    const event = eventFor(change, subscription.match);
    if (event !== undefined) subscription.deliver(event);
  }
}

/**
 * What a watch with a selector sees of a change: an object that begins to match is ADDED, one that ceases to is
 * DELETED (in its last matching form, with the version of the change).
 */
export function eventFor(change: Change, match: Match): ServerEvent | undefined {
  const { type, object, previous } = change;
  const before = previous !== undefined && match(previous);
  if (type === "DELETED") return before ? { type: "DELETED", object } : undefined;
  if (match(object)) return { type: before ? "MODIFIED" : "ADDED", object };
  return before && previous !== undefined
    ? { type: "DELETED", object: atVersion(previous, object.metadata.resourceVersion) }
    : undefined;
}

function atVersion(object: StoredObject, resourceVersion: string): StoredObject {
  return Object.freeze({ ...object, metadata: Object.freeze({ ...object.metadata, resourceVersion }) });
}

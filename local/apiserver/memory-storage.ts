import { freezeJson } from "./json.ts";
import { SortedNames } from "./sorted-names.ts";
import { type Change, compareNamespaces, type Storage, type StorageKey } from "./storage.ts";
import type { Draft, StoredObject } from "./types.ts";

interface Bucket {
  readonly objects: Map<string, StoredObject>;
  readonly names: SortedNames;
}

interface Shelf {
  readonly buckets: Map<string, Bucket>;
  readonly namespaces: SortedNames;
  /** The newest changes, oldest first. */
  history: Change[];
  /** Revision up to which history was dropped. */
  compacted: number;
  count: number;
}

/** What an earlier process stored. */
export interface Restored {
  /** Revision of its last change. */
  readonly revision: number;
  /** Deeply frozen. */
  readonly objects: Iterable<{ readonly resource: string; readonly object: StoredObject }>;
}

/**
 * Objects in maps, gone with the process. Keeps `historyLength` changes of each resource for watches to resume from.
 *
 * @param restored where to begin; what changed before is not known, so watches resume from its revision at the earliest
 */
export function createMemoryStorage(historyLength: number, restored?: Restored): Storage {
  const shelves = new Map<string, Shelf>();
  let revision = restored?.revision ?? 1;
  let compactedAll = restored?.revision ?? 0;

  const shelfOf = (resource: string): Shelf => {
    let shelf = shelves.get(resource);
    if (shelf === undefined) {
      shelf = {
        buckets: new Map(),
        namespaces: new SortedNames(compareNamespaces),
        history: [],
        compacted: compactedAll,
        count: 0,
      };
      shelves.set(resource, shelf);
    }
    return shelf;
  };

  const bucketOf = (shelf: Shelf, namespace: string): Bucket => {
    let bucket = shelf.buckets.get(namespace);
    if (bucket === undefined) {
      bucket = { objects: new Map(), names: new SortedNames() };
      shelf.buckets.set(namespace, bucket);
      shelf.namespaces.add(namespace);
    }
    return bucket;
  };

  const place = (shelf: Shelf, object: StoredObject): StoredObject | undefined => {
    const { name, namespace = "" } = object.metadata;
    const bucket = bucketOf(shelf, namespace);
    const previous = bucket.objects.get(name);
    bucket.objects.set(name, object);
    if (previous === undefined) {
      bucket.names.add(name);
      shelf.count += 1;
    }
    return previous;
  };
  for (const { resource, object } of restored?.objects ?? []) place(shelfOf(resource), object);

  const stamp = (draft: Draft | StoredObject): StoredObject => {
    revision += 1;
    const { metadata } = draft;
    return freezeJson({ ...draft, metadata: { ...metadata, resourceVersion: String(revision) } }) as StoredObject;
  };

  const remember = (shelf: Shelf, change: Change): Change => {
    shelf.history.push(change);
    // Cut in one go at twice the length: shifting one entry a write would cost as much as the write.
    if (shelf.history.length >= 2 * historyLength) {
      const dropped = shelf.history.length - historyLength;
      shelf.compacted = shelf.history[dropped - 1]?.revision ?? shelf.compacted;
      shelf.history = shelf.history.slice(dropped);
    }
    return change;
  };

  return {
    get revision() {
      return revision;
    },

    get({ resource, namespace, name }: StorageKey) {
      return shelves.get(resource)?.buckets.get(namespace)?.objects.get(name);
    },

    *list(resource, namespace, after) {
      const shelf = shelves.get(resource);
      if (shelf === undefined) return;
      const namespaces = namespace !== undefined ? [namespace] : shelf.namespaces.from(firstNamespace(shelf, after));
      for (const current of namespaces) {
        const bucket = shelf.buckets.get(current);
        if (bucket === undefined) continue;
        const start = after?.namespace === current ? bucket.names.indexAfter(after.name) : 0;
        for (const name of bucket.names.from(start)) {
          const object = bucket.objects.get(name);
          if (object !== undefined) yield object;
        }
      }
    },

    count(resource, namespace, after) {
      const shelf = shelves.get(resource);
      if (shelf === undefined) return 0;
      if (namespace === undefined && after === undefined) return shelf.count;
      const sizeOf = (name: string): number => {
        const bucket = shelf.buckets.get(name);
        if (bucket === undefined) return 0;
        return bucket.objects.size - (after?.namespace === name ? bucket.names.indexAfter(after.name) : 0);
      };
      if (namespace !== undefined) return sizeOf(namespace);
      return shelf.namespaces.from(firstNamespace(shelf, after)).reduce((sum, name) => sum + sizeOf(name), 0);
    },

    put(resource, draft) {
      const shelf = shelfOf(resource);
      const object = stamp(draft);
      const previous = place(shelf, object);
      return remember(shelf, {
        type: previous === undefined ? "ADDED" : "MODIFIED",
        resource,
        revision,
        object,
        previous,
      });
    },

    delete({ resource, namespace, name }) {
      const shelf = shelfOf(resource);
      const bucket = bucketOf(shelf, namespace);
      const previous = bucket.objects.get(name);
      if (previous === undefined) throw new Error(`${resource} ${namespace}/${name} is not stored`);
      bucket.objects.delete(name);
      bucket.names.remove(name);
      if (bucket.objects.size === 0) {
        shelf.buckets.delete(namespace);
        shelf.namespaces.remove(namespace);
      }
      shelf.count -= 1;
      return remember(shelf, { type: "DELETED", resource, revision: revision + 1, object: stamp(previous), previous });
    },

    changes(resource, after) {
      const shelf = shelfOf(resource);
      if (after < shelf.compacted) return undefined;
      return shelf.history.slice(firstAfter(shelf.history, after));
    },

    compact(upTo) {
      compactedAll = Math.max(compactedAll, upTo);
      for (const shelf of shelves.values()) {
        shelf.history = shelf.history.slice(firstAfter(shelf.history, upTo));
        shelf.compacted = Math.max(shelf.compacted, upTo);
      }
    },
  };
}

/** Index of the first namespace that may hold something after a place. */
function firstNamespace({ namespaces }: Shelf, after: { readonly namespace: string } | undefined): number {
  if (after === undefined) return 0;
  const behind = namespaces.indexAfter(after.namespace);
  return namespaces.at(behind - 1) === after.namespace ? behind - 1 : behind;
}

function firstAfter(history: readonly Change[], revision: number): number {
  let low = 0;
  let high = history.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((history[middle]?.revision ?? 0) <= revision) low = middle + 1;
    else high = middle;
  }
  return low;
}

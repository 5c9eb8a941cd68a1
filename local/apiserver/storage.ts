import type { Draft, StoredObject } from "./types.ts";

/** One committed change. `previous` is what the key held before; `object` of a DELETED carries the deletion's version. */
export interface Change {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly resource: string;
  readonly revision: number;
  readonly object: StoredObject;
  readonly previous: StoredObject | undefined;
}

/** Where an object is kept. `namespace` is `""` for cluster-scoped ones. */
export interface StorageKey {
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
}

/**
 * What keeps the objects. All of it is synchronous, so that a verb reads, decides and writes without anything in
 * between. One revision counts all changes of all resources; it is the resourceVersion of what it wrote.
 */
export interface Storage {
  /** Revision of the last change; at least 1. */
  readonly revision: number;
  get(key: StorageKey): StoredObject | undefined;
  /**
   * Objects in order of namespace and name.
   *
   * @param namespace all of them when undefined
   * @param after only what comes after this place
   */
  list(
    resource: string,
    namespace?: string,
    after?: { readonly namespace: string; readonly name: string },
  ): Iterable<StoredObject>;
  /** Number of objects that {@link list} would give, without walking them. */
  count(resource: string, namespace?: string, after?: { readonly namespace: string; readonly name: string }): number;
  /** Stores under the next revision, which becomes the object's resourceVersion; the draft is frozen by it. */
  put(resource: string, draft: Draft): Change;
  /** Removes an object that exists. */
  delete(key: StorageKey): Change;
  /** Changes of a resource after a revision, oldest first; undefined when history does not reach back that far. */
  changes(resource: string, after: number): readonly Change[] | undefined;
  /** Forgets the history up to and including a revision. */
  compact(revision: number): void;
  /**
   * Resolves when everything stored so far survives the death of the process. Absent where nothing does. Who answers to
   * other processes waits for it: they must never see what is lost again.
   */
  settled?(): Promise<void>;
}

/** Order of keys as in etcd, where a namespace is followed by a slash. */
export function compareNamespaces(a: string, b: string): number {
  const left = `${a}/`;
  const right = `${b}/`;
  return left < right ? -1 : left > right ? 1 : 0;
}

import { type Change, compareNamespaces, type Storage } from "./storage.ts";
import type { StoredObject } from "./types.ts";

/**
 * The objects of a resource as they were at a revision, in key order: what is stored now, with the changes since then
 * taken back. That keeps a paged list consistent without keeping copies.
 *
 * @returns undefined when history does not reach back to the revision.
 */
export function listAt(
  storage: Storage,
  resource: string,
  namespace: string | undefined,
  revision: number,
  after?: { readonly namespace: string; readonly name: string },
): Iterable<StoredObject> | undefined {
  const changes = storage.changes(resource, revision);
  if (changes === undefined) return undefined;
  if (changes.length === 0) return storage.list(resource, namespace, after);
  return takeBack(storage.list(resource, namespace, after), changes, namespace, after);
}

function takeBack(
  current: Iterable<StoredObject>,
  changes: readonly Change[],
  namespace: string | undefined,
  after: { readonly namespace: string; readonly name: string } | undefined,
): StoredObject[] {
  const before = new Map<string, StoredObject | undefined>();
  for (const { object, previous } of changes) {
    const key = placeKey(object);
    if (!before.has(key)) before.set(key, previous); // the first change after the revision knows what was there
  }
  const objects: StoredObject[] = [];
  for (const object of current) {
    const key = placeKey(object);
    if (!before.has(key)) objects.push(object);
  }
  for (const object of before.values()) {
    if (object === undefined) continue;
    const place = { namespace: object.metadata.namespace ?? "", name: object.metadata.name };
    if (namespace !== undefined && place.namespace !== namespace) continue;
    if (after !== undefined && comparePlaces(place, after) <= 0) continue;
    objects.push(object);
  }
  return objects.sort((a, b) =>
    comparePlaces(
      { namespace: a.metadata.namespace ?? "", name: a.metadata.name },
      { namespace: b.metadata.namespace ?? "", name: b.metadata.name },
    ),
  );
}

const placeKey = (object: StoredObject): string => `${object.metadata.namespace ?? ""}/${object.metadata.name}`;

function comparePlaces(
  a: { readonly namespace: string; readonly name: string },
  b: { readonly namespace: string; readonly name: string },
): number {
  return compareNamespaces(a.namespace, b.namespace) || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
}

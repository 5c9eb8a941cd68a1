import type { Change, Storage } from "#local/apiserver/index.ts";

/**
 * A storage that tells of every change at the moment it is committed: the view of the world without any delay, loss or
 * cache in between, which is what the invariants judge by.
 */
export function observedStorage(storage: Storage, onChange: (change: Change) => void): Storage {
  const told = (change: Change): Change => {
    onChange(change);
    return change;
  };
  return {
    get revision() {
      return storage.revision;
    },
    get: (key) => storage.get(key),
    list: (...args) => storage.list(...args),
    count: (...args) => storage.count(...args),
    put: (resource, draft) => told(storage.put(resource, draft)),
    delete: (key) => told(storage.delete(key)),
    changes: (resource, after) => storage.changes(resource, after),
    compact: (revision) => storage.compact(revision),
  };
}

import { freezeJson } from "#local/apiserver/json.ts";
import { createMemoryStorage } from "#local/apiserver/memory-storage.ts";
import type { Storage } from "#local/apiserver/storage.ts";
import type { StoredObject } from "#local/apiserver/types.ts";
import type { Database, Row } from "./database.ts";

/** A storage that an end can be put to. */
export interface DurableStorage extends Storage {
  settled(): Promise<void>;
  /** Commits what is pending and lets go of the file. Nothing may be stored afterwards. */
  close(): void;
}

export interface SqliteStorageOptions {
  readonly database: Database;
  /** Changes of each resource that watches can resume from; those of an earlier process are not kept. */
  readonly watchHistory: number;
  /** Calls back once, soon: all changes until then are committed together. */
  readonly soon: (commit: () => void) => void;
}

/**
 * Objects in memory for reading, and every change in a file. Changes that come close together share a commit;
 * {@link DurableStorage.settled} tells when it has happened.
 *
 * When the file cannot be written, `soon` gets a callback that throws, which ends the process: memory shows what will
 * never be stored. Nothing that was acknowledged is lost by that, and nothing is acknowledged any more.
 */
export function createSqliteStorage({ database, watchHistory, soon }: SqliteStorageOptions): DurableStorage {
  const memory = createMemoryStorage(watchHistory, {
    revision: Math.max(1, database.revision()),
    objects: restore(database.rows()),
  });
  let pending: PromiseWithResolvers<void> | undefined;

  let broken: Error | undefined;

  const commit = (): void => {
    if (broken !== undefined) throw broken;
    if (pending === undefined) return;
    const { resolve } = pending;
    attempt(() => database.commit());
    pending = undefined;
    resolve();
  };

  const change = (store: () => void): void => {
    if (pending === undefined) {
      pending = Promise.withResolvers<void>();
      soon(commit);
      attempt(() => database.begin());
    }
    attempt(store);
  };

  /** The first failure is the last thing that happens. */
  const attempt = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      broken = new Error(`the state of the local cluster cannot be written: ${why}; it ends here`, { cause: error });
      throw broken;
    }
  };

  return {
    get revision() {
      return memory.revision;
    },
    get: (key) => memory.get(key),
    list: (resource, namespace, after) => memory.list(resource, namespace, after),
    count: (resource, namespace, after) => memory.count(resource, namespace, after),
    changes: (resource, after) => memory.changes(resource, after),
    compact: (revision) => memory.compact(revision),

    put(resource, draft) {
      if (broken !== undefined) throw broken;
      const done = memory.put(resource, draft);
      const { name, namespace = "" } = done.object.metadata;
      const body = JSON.stringify(done.object);
      change(() => database.put({ resource, namespace, name, revision: done.revision, body }));
      return done;
    },

    delete(key) {
      if (broken !== undefined) throw broken;
      const done = memory.delete(key);
      change(() => database.remove(key, done.revision));
      return done;
    },

    settled: async () => pending?.promise,

    close() {
      commit();
      database.close();
    },
  };
}

function* restore(rows: Iterable<Row>): Iterable<{ resource: string; object: StoredObject }> {
  for (const { resource, body } of rows) yield { resource, object: freezeJson(JSON.parse(body) as StoredObject) };
}

import { DatabaseSync, type StatementSync } from "node:sqlite";

/** One stored object as a row. */
export interface Row {
  readonly resource: string;
  /** JSON text of the object. */
  readonly body: string;
}

/** The file in which objects are kept: rows in, rows out. Every call is carried out at once. */
export interface Database {
  /** Revision of the last change, 0 when nothing was ever stored. */
  revision(): number;
  rows(): Iterable<Row>;
  /** Changes up to {@link commit} are stored together or not at all. */
  begin(): void;
  put(row: Row & { readonly namespace: string; readonly name: string; readonly revision: number }): void;
  remove(key: { readonly resource: string; readonly namespace: string; readonly name: string }, revision: number): void;
  commit(): void;
  close(): void;
}

/** Calls back when everything that is under way in this turn of the event loop has happened. */
export const soon = (fn: () => void): void => void setImmediate(fn);

/** Form of the file; a later form gets the next number. */
const formatVersion = 1;

/**
 * Opens or makes the file. Nobody else can open it until it is closed or the process ends.
 *
 * Commits survive the death of this process at any moment. After a power failure the last ones may be missing, but what
 * is there belongs together (WAL with `synchronous=NORMAL`: nothing waits for the disk).
 *
 * @throws Error with advice when it is no database or of a newer form
 */
export function openDatabase(file: string): Database {
  const database = open(file);
  const revision = database.prepare(
    "SELECT max(revision) AS revision FROM (SELECT revision FROM meta UNION ALL SELECT max(revision) FROM objects)",
  );
  const rows = database.prepare("SELECT resource, body FROM objects ORDER BY resource, namespace, name");
  const put = database.prepare(
    "INSERT INTO objects (resource, namespace, name, revision, body) VALUES (?, ?, ?, ?, ?) " +
      "ON CONFLICT (resource, namespace, name) DO UPDATE SET revision = excluded.revision, body = excluded.body",
  );
  const remove = database.prepare("DELETE FROM objects WHERE resource = ? AND namespace = ? AND name = ?");
  const setRevision = database.prepare("UPDATE meta SET revision = ?");
  return {
    revision: () => Number(revision.get()?.revision ?? 0),
    rows: () => readRows(rows),
    begin: () => database.exec("BEGIN"),
    put: (row) => void put.run(row.resource, row.namespace, row.name, row.revision, row.body),
    remove({ resource, namespace, name }, at) {
      remove.run(resource, namespace, name);
      setRevision.run(at); // an object that is gone no longer tells how far the counter was
    },
    commit: () => database.exec("COMMIT"),
    close: () => database.close(),
  };
}

function* readRows(statement: StatementSync): Iterable<Row> {
  for (const { resource, body } of statement.iterate()) yield { resource: String(resource), body: String(body) };
}

function open(file: string): DatabaseSync {
  const database = new DatabaseSync(file);
  try {
    database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
    const found = Number(database.prepare("PRAGMA user_version").get()?.user_version ?? 0);
    if (found > formatVersion) {
      throw new Error(`it has form ${found}, and this version of kruntimes reads form ${formatVersion} at most`);
    }
    if (found === 0) {
      database.exec(`
        BEGIN;
        CREATE TABLE objects (
          resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
          revision INTEGER NOT NULL, body TEXT NOT NULL,
          PRIMARY KEY (resource, namespace, name)
        );
        CREATE TABLE meta (revision INTEGER NOT NULL);
        INSERT INTO meta VALUES (0);
        PRAGMA user_version = ${formatVersion};
        COMMIT;
      `);
    }
    return database;
  } catch (error) {
    database.close();
    const why = error instanceof Error ? error.message : String(error);
    const message = `${file} cannot be opened: ${why}. Use the version that made it, or delete it to begin anew.`;
    throw new Error(message, { cause: error });
  }
}

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, describe, expect, test } from "vitest";
import { describeStorage } from "#local/apiserver/testing/storage-contract.ts";
import type { Draft } from "#local/apiserver/types.ts";
import { type Database, openDatabase } from "./database.ts";
import { createSqliteStorage, type DurableStorage } from "./sqlite-storage.ts";

const directories: string[] = [];
const opened: DurableStorage[] = [];
afterEach(() => {
  for (const storage of opened.splice(0)) storage.close();
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
});

function newFile(): string {
  const directory = mkdtempSync(join(tmpdir(), "krt-storage-"));
  directories.push(directory);
  return join(directory, "state.sqlite");
}

/** Commits wait until they are called for. */
function open(file: string, watchHistory = 1000) {
  const commits: (() => void)[] = [];
  const storage = createSqliteStorage({ database: openDatabase(file), watchHistory, soon: (fn) => commits.push(fn) });
  opened.push(storage);
  const reopen = () => {
    opened.splice(opened.indexOf(storage), 1);
    storage.close();
    return open(file, watchHistory);
  };
  return { storage, commits, reopen };
}

describe("the storage contract", () => {
  describeStorage((historyLength) => open(":memory:", historyLength).storage);
});

const draft = (name: string, value: unknown = 0, namespace = "a"): Draft => ({
  apiVersion: "v1",
  kind: "Thing",
  metadata: { name, namespace, uid: `uid-${name}` },
  value,
});
const key = (name: string) => ({ resource: "things", namespace: "a", name });

test("what was stored is there when the file is opened again, frozen and at its version", () => {
  const { storage, reopen } = open(newFile());
  storage.put("things", draft("x", { text: "ä\u0000\u{1F600}", list: [1, null] }));
  const changed = storage.put("things", draft("x", "second"));
  const other = storage.put("others", draft("x"));
  storage.put("things", draft("y"));
  storage.delete(key("y"));
  const again = reopen().storage;
  expect([...again.list("things")]).toEqual([changed.object]);
  expect([...again.list("others")]).toEqual([other.object]);
  expect(Object.isFrozen(again.get(key("x")))).toBe(true);
  expect(again.count("things")).toBe(1);
});

test("revisions go on where they were, also when the last change was a deletion", () => {
  const { storage, reopen } = open(newFile());
  storage.put("things", draft("x"));
  const { revision } = storage.delete(key("x"));
  const again = reopen();
  expect(again.storage.revision).toBe(revision);
  expect(again.storage.put("things", draft("x")).revision).toBe(revision + 1);
  expect(again.reopen().storage.revision).toBe(revision + 1);
});

test("watches cannot resume from before a restart, but from the state that was found", () => {
  const { storage, reopen } = open(newFile());
  const { revision } = storage.put("things", draft("x"));
  const again = reopen().storage;
  expect(again.changes("things", revision - 1)).toBeUndefined();
  expect(again.changes("things", revision)).toEqual([]);
  const { revision: next } = again.put("things", draft("y"));
  expect(again.changes("things", revision)).toMatchObject([{ type: "ADDED", revision: next }]);
});

test("changes that come together share a commit, and are settled with it", async () => {
  const { storage, commits } = open(newFile());
  await storage.settled(); // nothing is pending
  storage.put("things", draft("x"));
  storage.put("things", draft("y"));
  expect(commits).toHaveLength(1);
  let settled = false;
  const waiting = storage.settled().then(() => {
    settled = true;
  });
  await Promise.resolve();
  expect(settled).toBe(false);
  commits[0]?.();
  await waiting;
  storage.put("things", draft("z"));
  expect(commits).toHaveLength(2);
});

test("a file that is no database, or of a newer form, is refused with what to do", () => {
  const file = newFile();
  writeFileSync(file, "no database at all, but long enough to have a header of the wrong kind".repeat(10));
  expect(() => openDatabase(file)).toThrow(/cannot be opened: file is not a database\. Use the version that made it/);
});

test("nothing is stored or acknowledged after the file could not be written", async () => {
  const fails = () => {
    throw new Error("database or disk is full");
  };
  const rest = { revision: () => 0, rows: () => [], begin() {}, put() {}, remove() {}, close() {} };
  const database: Database = { ...rest, commit: fails };
  const commits: (() => void)[] = [];
  const storage = createSqliteStorage({ database, watchHistory: 10, soon: (fn) => commits.push(fn) });
  storage.put("things", draft("x"));
  let settled = false;
  void storage.settled().then(() => {
    settled = true;
  });
  expect(() => commits[0]?.()).toThrow("cannot be written: database or disk is full");
  expect(() => storage.put("things", draft("y"))).toThrow("cannot be written");
  expect(() => storage.delete(key("x"))).toThrow("cannot be written");
  await Promise.resolve();
  expect(settled).toBe(false);
});

/** A process that stores without end and prints the revision of everything that it was told is stored. */
const writer = (file: string) => `
  const { openDatabase } = await import(${JSON.stringify(join(import.meta.dirname, "database.ts"))});
  const { createSqliteStorage } = await import(${JSON.stringify(join(import.meta.dirname, "sqlite-storage.ts"))});
  const storage = createSqliteStorage({ database: openDatabase(${JSON.stringify(file)}), watchHistory: 10, soon: setImmediate });
  for (let n = storage.revision; ; n++) {
    const name = "x" + (n % 50);
    const key = { resource: "things", namespace: "a", name };
    if (n % 7 === 0 && storage.get(key) !== undefined) storage.delete(key);
    else storage.put("things", { apiVersion: "v1", kind: "Thing", metadata: { name, namespace: "a" }, n });
    await storage.settled();
    process.stdout.write(storage.revision + "\\n");
  }
`;

test("nothing that was acknowledged is lost by kill -9 in the middle of writes", async () => {
  const file = newFile();
  const acknowledged: number[] = [];
  for (const lines of [1, 40, 300]) {
    const child = spawn(process.execPath, ["--input-type=module", "-e", writer(file)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const before = acknowledged.length;
    for await (const line of createInterface({ input: child.stdout })) {
      acknowledged.push(Number(line));
      if (acknowledged.length - before === lines) child.kill("SIGKILL");
    }
    const { storage } = open(file);
    expect(storage.revision).toBeGreaterThanOrEqual(Math.max(...acknowledged));
    // The objects are those of one moment: each was written at its own revision, none is newer than the counter.
    const revisions = [...storage.list("things")].map(({ metadata }) => Number(metadata.resourceVersion));
    expect(Math.max(...revisions)).toBeLessThanOrEqual(storage.revision);
    expect(new Set(revisions).size).toBe(revisions.length);
    opened.splice(0);
    storage.close();
  }
});

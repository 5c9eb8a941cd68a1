import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

/** Holds a state directory for this process. */
export interface StateLock {
  release(): void;
}

/** A state directory is in use. */
export class StateInUseError extends Error {
  override readonly name = "StateInUseError";
  /** Process that holds it, where that is known. */
  readonly pid: number | undefined;

  constructor(directory: string, pid: number | undefined) {
    const holder = pid === undefined ? "another process" : `process ${pid}`;
    super(`the state directory ${directory} is in use by ${holder}; stop it, or choose another directory`);
    this.pid = pid;
  }
}

/** Locks are held for the blink of an eye by those who only look. */
const patienceMs = 250;

/**
 * Takes a state directory, which exists, for as long as the process lives. The kernel holds the lock (through SQLite,
 * because Node.js has no file locks of its own), so it is gone with the process however that ends.
 *
 * @throws StateInUseError
 */
export function lockState(directory: string): StateLock {
  const database = new DatabaseSync(lockFile(directory), { timeout: patienceMs });
  try {
    // Never committed: the lock lasts as long as the transaction.
    database.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    throw isBusy(error) ? new StateInUseError(directory, holderOf(directory)) : error;
  }
  writeFileSync(pidFile(directory), `${process.pid}\n`, { mode: 0o600 });
  return { release: () => database.close() };
}

/** Process that holds a state directory; undefined when none does, `"unknown"` where it does not say who it is. */
export function stateHolder(directory: string): number | "unknown" | undefined {
  if (!existsSync(lockFile(directory))) return undefined;
  const database = new DatabaseSync(lockFile(directory), { readOnly: true, timeout: 0 });
  try {
    database.exec("SELECT count(*) FROM sqlite_master");
    return undefined;
  } catch (error) {
    if (isBusy(error)) return holderOf(directory) ?? "unknown";
    throw error;
  } finally {
    database.close();
  }
}

const lockFile = (directory: string): string => `${directory}/lock`;
const pidFile = (directory: string): string => `${directory}/pid`;

/** SQLITE_BUSY. */
const isBusy = (error: unknown): boolean => error instanceof Error && "errcode" in error && error.errcode === 5;

function holderOf(directory: string): number | undefined {
  try {
    const pid = Number(readFileSync(pidFile(directory), "utf8").trim());
    return Number.isSafeInteger(pid) && pid > 0 ? pid : undefined;
  } catch {
    return undefined;
  }
}

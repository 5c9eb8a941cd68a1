import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { lockState, StateInUseError, stateHolder } from "./lock.ts";

const directories: string[] = [];
afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
});

function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "krt-lock-"));
  directories.push(directory);
  return directory;
}

test("a state directory is held by one at a time, and the other is told who has it", () => {
  const directory = newDirectory();
  expect(stateHolder(directory)).toBeUndefined();
  const lock = lockState(directory);
  expect(stateHolder(directory)).toBe(process.pid);
  expect(() => lockState(directory)).toThrow(
    `the state directory ${directory} is in use by process ${process.pid}; stop it, or choose another directory`,
  );
  lock.release();
  expect(stateHolder(directory)).toBeUndefined();
  lockState(directory).release();
});

test("the lock of another process counts until that process is gone, however it ends", async () => {
  const directory = newDirectory();
  const script = `
    const { lockState } = await import(${JSON.stringify(join(import.meta.dirname, "lock.ts"))});
    lockState(${JSON.stringify(directory)});
    process.stdout.write("locked");
    setInterval(() => {}, 1000);
  `;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  expect(stateHolder(directory)).toBe(child.pid);
  const refused = expect.objectContaining({ name: StateInUseError.name, pid: child.pid });
  expect(() => lockState(directory)).toThrow(refused);
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(stateHolder(directory)).toBeUndefined();
  lockState(directory).release();
});

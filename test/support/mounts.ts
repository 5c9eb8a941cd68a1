/** Real volumes for tests, where this user may mount: as root, or by a sudo that asks for no password. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const prefix = process.getuid?.() === 0 ? [] : ["sudo", "-n"];

function run(...command: readonly string[]): void {
  const [program = "", ...args] = [...prefix, ...command];
  execFileSync(program, args, { stdio: "pipe" });
}

/** A file system in memory of that many bytes, on a directory that exists. */
export function mountTmpfs(directory: string, sizeBytes: number): void {
  run("mount", "-t", "tmpfs", "-o", `size=${sizeBytes},mode=0777`, "tmpfs", directory);
}

/** What is at `from` at `directory`, too: a mount with the device number of what it is mounted on. */
export function mountBind(from: string, directory: string): void {
  run("mount", "--bind", from, directory);
}

export function unmount(directory: string): void {
  run("umount", "--lazy", directory);
}

/** Whether tests can mount here. */
export const canMount = (() => {
  if (process.platform !== "linux") return false;
  const directory = mkdtempSync(join(tmpdir(), "krt-mount-"));
  try {
    mountTmpfs(directory, 4096);
    unmount(directory);
    return true;
  } catch {
    return false;
  } finally {
    rmdirSync(directory);
  }
})();

/** Adapter: how often the kernel's OOM killer has acted in this container. */
import { readFileSync } from "node:fs";

/** Where cgroup v2, then v1, keep the count, seen from inside a container. */
const countFiles = ["/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"];

/** Undefined where the machine does not tell (no container, or another cgroup layout). */
export function countOomKills(files: readonly string[] = countFiles): number | undefined {
  for (const file of files) {
    try {
      const match = /^oom_kill (\d+)$/m.exec(readFileSync(file, "latin1"));
      if (match !== null) return Number(match[1]);
    } catch {
      // not this layout
    }
  }
  return undefined;
}

/**
 * Whether an end looks like the OOM killer's work: it acted meanwhile, and the process, or the last command of the shell that
 * it is, was killed hard (128 + 9).
 */
export function looksOutOfMemory(
  before: number | undefined,
  after: number | undefined,
  end: { readonly exitCode?: number; readonly signal?: string },
): boolean {
  return (
    before !== undefined && after !== undefined && after > before && (end.signal === "SIGKILL" || end.exitCode === 137)
  );
}

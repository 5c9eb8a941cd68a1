/** Adapter: how often the kernel's OOM killer has acted in this container. */
import { readFileSync } from "node:fs";

/** Where cgroup v2, then v1, keep the count, seen from inside a container. */
const countFiles = ["/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"];

/** How to read the count; gives undefined where the machine does not tell (no container, or another cgroup layout). */
export function oomCounter(files: readonly string[] = countFiles): () => number | undefined {
  // Found once, as it is read at each start of a process, and a failed read is much slower than a good one.
  const file = files.find((candidate) => countIn(candidate) !== undefined);
  return () => (file === undefined ? undefined : countIn(file));
}

function countIn(file: string): number | undefined {
  try {
    const match = /^oom_kill (\d+)$/m.exec(readFileSync(file, "latin1"));
    return match === null ? undefined : Number(match[1]);
  } catch {
    return undefined;
  }
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

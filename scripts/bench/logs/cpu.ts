import { readdirSync, readFileSync } from "node:fs";

/** What a process is called by its command line and number; undefined: not counted. */
export type NameOf = (command: string, pid: number) => string | undefined;

/** CPU time in milliseconds by name. */
export type CpuTimes = ReadonlyMap<string, number>;

/** The kernel counts in hundredths of a second. */
const msPerTick = 10;

/** Counts the CPU time of processes of this machine from now on. @returns what they used up to the call */
export function countCpu(nameOf: NameOf): () => CpuTimes {
  const before = look(nameOf);
  return () => {
    const times = new Map<string, number>();
    for (const [pid, { name, ms }] of look(nameOf)) {
      times.set(name, (times.get(name) ?? 0) + ms - (before.get(pid)?.ms ?? 0));
    }
    return times;
  };
}

function look(nameOf: NameOf): Map<number, { readonly name: string; readonly ms: number }> {
  const processes = new Map<number, { readonly name: string; readonly ms: number }>();
  for (const entry of readdirSync("/proc")) {
    const pid = Number(entry);
    if (!Number.isInteger(pid)) continue;
    try {
      const name = nameOf(readFileSync(`/proc/${pid}/cmdline`, "latin1").replaceAll("\0", " "), pid);
      if (name === undefined) continue;
      const fields = readFileSync(`/proc/${pid}/stat`, "latin1").split(") ").at(-1)?.split(" ") ?? [];
      processes.set(pid, { name, ms: (Number(fields[11]) + Number(fields[12])) * msPerTick });
    } catch {
      // It has ended meanwhile.
    }
  }
  return processes;
}

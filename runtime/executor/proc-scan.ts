/** Adapter: the processes of this machine (in a Pod: of the container) as `/proc` shows them, and signals to them. */
import { readdirSync, readFileSync } from "node:fs";
import { type Marks, marksIn } from "#runtime/executor/environment.ts";

export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** Absent when it has none, has overwritten its environment, or belongs to another user. */
  readonly marks: Marks | undefined;
}

export type ProcessSignal = "SIGTERM" | "SIGCONT" | "SIGKILL";

/** What the killing side needs of the machine. */
export interface Processes {
  /** All processes but zombies, PID 1 and ourselves. */
  scan(): readonly ProcessEntry[];
  /** False when no such process (or group, for a negative number) is left, or it cannot be signalled. */
  signal(pid: number, signal: ProcessSignal): boolean;
  /** Whether the group has any member; one that ended and was not reaped yet counts. */
  groupExists(group: number): boolean;
}

export const systemProcesses: Processes = {
  scan() {
    const entries: ProcessEntry[] = [];
    for (const name of readdirSync("/proc")) {
      const pid = Number(name);
      if (!Number.isInteger(pid) || pid <= 1 || pid === process.pid) continue;
      const entry = readProcess(pid);
      if (entry !== undefined) entries.push(entry);
    }
    return entries;
  },
  signal(pid, signal) {
    try {
      return process.kill(pid, signal);
    } catch {
      return false;
    }
  },
  groupExists(group) {
    try {
      return process.kill(-group, 0);
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === "EPERM"; // it exists, under another user
    }
  },
};

/** Undefined when the process is gone or a zombie: it runs nothing any more. */
function readProcess(pid: number): ProcessEntry | undefined {
  const stat = readProcFile(pid, "stat");
  if (stat === undefined) return undefined;
  // "pid (name) state ppid pgrp session ..."; the name may hold blanks and brackets, so the last bracket counts.
  const [state, parent, group, session] = stat
    .toString("latin1")
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ");
  if (state === undefined || state === "Z" || state === "X") return undefined;
  const environ = readProcFile(pid, "environ");
  return {
    pid,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    marks: environ === undefined ? undefined : marksIn(environ),
  };
}

function readProcFile(pid: number, file: string): Buffer | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`);
  } catch {
    return undefined; // ended meanwhile, or not ours to read
  }
}

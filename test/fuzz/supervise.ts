import { fork } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Report, Task } from "./child.ts";
import type { Target } from "./target.ts";

export interface Limits {
  /** Milliseconds after which an input that is still tried counts as one that never ends. */
  readonly hangMs: number;
  /** Mebibytes that one target may hold. */
  readonly memoryMb: number;
}

/** A second is far beyond what any input may take, and a machine may be busy; 512 MiB are what a Pod of ours may use at most. */
export const defaultLimits: Limits = { hangMs: 30_000, memoryMb: 512 };

/** Last lines of what a process says before it ends; stacks of the virtual machine follow. */
const shownEnd = 600;

/** Fuzzes a target in a process of its own: an input that never ends, or ends the process, is a failure as well. */
export async function supervise(
  { target, ...rest }: Omit<Task, "target" | "beat"> & { readonly target: Target },
  limits: Limits = defaultLimits,
): Promise<Report> {
  const directory = mkdtempSync(join(tmpdir(), "fuzz-"));
  const task: Task = { ...rest, target: target.name, beat: join(directory, "beat") };
  const child = fork(fileURLToPath(new URL("child.ts", import.meta.url)), {
    execArgv: [`--max-old-space-size=${limits.memoryMb}`],
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  const begun = performance.now();
  const { promise, resolve } = Promise.withResolvers<Report | string>();
  let seen = 0;
  const watch = setInterval(() => {
    const [tried = 0] = readBeat(task.beat);
    if (tried === seen && tried > 0) resolve(`it did not end within ${limits.hangMs / 1000} s`);
    seen = tried;
  }, limits.hangMs);
  let said = "";
  child.stderr?.on("data", (chunk) => {
    said += chunk;
  });
  child.once("message", (report) => resolve(report as Report));
  child.once("close", (code, signal) => {
    const fatal = /^FATAL ERROR.*/m.exec(said)?.[0] ?? said.slice(-shownEnd);
    resolve(`it ended the process with ${signal ?? code}: ${fatal}`);
  });
  child.send(task);
  try {
    const report = await promise;
    if (typeof report !== "string") return report;
    const [executions = 0, seed = 0, run = 0] = readBeat(task.beat);
    if (executions === 0) throw new Error(`target ${target.name}: ${report}`);
    // What is tried again is the only one of its batch.
    const path = rest.path ?? String(run);
    const input = await target.inputAt(seed, Number.parseInt(path, 10));
    const failure = { seed, path, input, error: report, shrinks: 0 };
    return { executions, outcomes: {}, seconds: (performance.now() - begun) / 1000, failure };
  } finally {
    clearInterval(watch);
    child.kill("SIGKILL");
    rmSync(directory, { recursive: true });
  }
}

/** Nothing before the first input. */
function readBeat(file: string): Int32Array {
  try {
    const { buffer, byteOffset, byteLength } = readFileSync(file);
    return new Int32Array(buffer.slice(byteOffset, byteOffset + byteLength));
  } catch {
    return new Int32Array();
  }
}

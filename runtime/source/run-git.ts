/** Runs one git command under limits. Adapter: starts processes. */
import { spawn } from "node:child_process";
import type { Clock } from "#kube/ports.ts";
import { Masker, secretPatterns } from "#runtime/logs/masker.ts";
import { Tail } from "#runtime/logs/tail.ts";

export interface GitProcess {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** No file that the command writes may become larger. */
  readonly maxFileBytes: number;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Texts that its messages do not repeat. */
  readonly secrets?: readonly (string | Uint8Array)[];
  readonly onOutput?: (chunk: Uint8Array) => void;
}

/** How a command ended. `stderr` is its end only, however much it wrote. */
export interface GitExit {
  readonly ok: boolean;
  readonly timedOut: boolean;
  readonly stderr: string;
}

/** `ulimit -f` counts blocks of 512 bytes in POSIX shells (bash: 1024, so there the limit is looser). */
const ulimitBlockBytes = 512;
const stderrBytes = 2048;

/** Runs git to its end. When the signal is aborted, the command and all that it started are killed, and its reason is thrown. */
export async function runGit(command: GitProcess): Promise<GitExit> {
  const { args, cwd, env, maxFileBytes, timeoutMs, clock, signal, secrets = [], onOutput } = command;
  signal.throwIfAborted();
  const blocks = String(Math.ceil(maxFileBytes / ulimitBlockBytes));
  const child = spawn("/bin/sh", ["-c", 'ulimit -f "$1"; shift; exec git "$@"', "sh", blocks, ...args], {
    cwd,
    env,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true, // a process group of its own: git starts helpers
  });
  const killAll = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // it has ended by itself
    }
  };
  let timedOut = false;
  const cancelTimer = clock.after(timeoutMs, () => {
    timedOut = true;
    killAll();
  });
  signal.addEventListener("abort", killAll, { once: true });
  const stderr = new Tail(stderrBytes);
  const masker = new Masker(secretPatterns(secrets));
  child.stderr.on("data", (chunk: Buffer) => stderr.push(masker.push(chunk)));
  child.stdout.on("data", (chunk: Buffer) => onOutput?.(chunk));
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
    signal.throwIfAborted();
    stderr.push(masker.end());
    return { ok: code === 0, timedOut, stderr: stderr.text() };
  } finally {
    cancelTimer();
    signal.removeEventListener("abort", killAll);
  }
}

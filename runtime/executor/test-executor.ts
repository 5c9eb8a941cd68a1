/** For tests: an executor in a process of its own, so that it can be killed hard. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { executorNodeArguments } from "#runtime/executor/node-arguments.ts";

export interface TestExecutor {
  readonly socketPath: string;
  readonly pid: number;
  /** Its log so far. */
  readonly log: () => string;
  /** Sends a signal and waits for the end. */
  end(signal: "SIGTERM" | "SIGKILL"): Promise<{ readonly code: number | null; readonly signal: string | null }>;
}

/** Resolves when it serves. */
export async function startTestExecutor(
  socketPath: string,
  options: { readonly command?: readonly string[]; readonly retainedBytes?: number } = {},
  env: NodeJS.ProcessEnv = process.env,
): Promise<TestExecutor> {
  const main = new URL("main.ts", import.meta.url).href;
  const whole = JSON.stringify({ interpreter: "bash", ...options, socketPath });
  const code = `import { runExecutor } from "${main}"; await runExecutor(${whole});`;
  const child = spawn(process.execPath, [...executorNodeArguments, "--input-type=module", "--eval", code], {
    stdio: ["ignore", "ignore", "pipe"],
    env,
  });
  let log = "";
  child.stderr.on("data", (data) => {
    log += data;
  });
  await serving(child, () => log);
  return {
    socketPath,
    pid: child.pid ?? 0,
    log: () => log,
    async end(signal) {
      if (child.exitCode === null && child.signalCode === null) {
        const exit = once(child, "exit");
        child.kill(signal);
        await exit;
      }
      return { code: child.exitCode, signal: child.signalCode };
    },
  };
}

async function serving(child: ChildProcess, log: () => string): Promise<void> {
  const failed = once(child, "exit").then(() => {
    throw new Error(`the executor ended: ${log()}`);
  });
  failed.catch(() => {}); // an end after the start is the test's business
  const ready = new Promise<void>((resolve) => {
    child.stderr?.on("data", () => {
      if (log().includes('"serving"')) resolve();
    });
  });
  await Promise.race([ready, failed]);
}

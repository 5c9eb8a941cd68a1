import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { mkdir, readdir, readFile, realpath } from "node:fs/promises";
import { podMark } from "#local/node/processes.ts";
import type { Machine } from "../environment.ts";

/** @param program path of `krt` */
export function systemMachine(program: string): Machine {
  return {
    async makeDirectory(path) {
      await mkdir(path, { recursive: true, mode: 0o700 });
      return realpath(path);
    },
    spawn(args, logFile) {
      const log = openSync(logFile, "a", 0o600);
      const child = spawn(process.execPath, [program, ...args], { detached: true, stdio: ["ignore", log, log] });
      closeSync(log);
      const ended = new Promise<string>((resolve) => {
        child.once("error", (error) => resolve(error.message));
        child.once("exit", (code, signal) => resolve(signal === null ? `exit code ${code}` : `signal ${signal}`));
      });
      child.unref();
      return { pid: child.pid ?? 0, ended };
    },
    signal,
    isAlive,
    async crash(podUid, component) {
      const pids = await processesOf(podUid, component);
      return pids.filter((pid) => signal(pid, "SIGKILL")).length;
    },
  };
}

/** A process that has ended and that nobody has asked about yet is there no more. */
function isAlive(pid: number): boolean {
  try {
    return !/\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

function signal(pid: number, name: "SIGTERM" | "SIGKILL"): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
    throw error;
  }
}

/** Processes of a Pod that are a component of ours, and not what a Run has started. */
async function processesOf(podUid: string, component: string): Promise<number[]> {
  const names = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    names.map(async (name) => {
      const [environment, commandLine] = await Promise.all(
        ["environ", "cmdline"].map((file) => readFile(`/proc/${name}/${file}`, "utf8").catch(() => "")),
      );
      const isOfPod = `\0${environment}`.includes(`\0${podMark}=${podUid}\0`);
      return isOfPod && isComponent(commandLine ?? "", component) ? Number(name) : undefined;
    }),
  );
  return found.filter((pid) => pid !== undefined);
}

/** Whether a command line is `node ... kruntimes.mjs COMPONENT ...`. */
function isComponent(commandLine: string, component: string): boolean {
  const words = commandLine.split("\0");
  const at = words.findIndex((word) => word.endsWith("kruntimes.mjs"));
  return at > 0 && words[at + 1] === component;
}

import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import type { Clock } from "#kube/ports.ts";
import { sleep } from "#kube/ports.ts";
import { executorNodeArguments } from "#runtime/executor/node-arguments.ts";
import { followLines } from "./lines.ts";
import { type Process, type Processes, podMark, type StartRequest } from "./processes.ts";

/** Variables of our own environment that the processes of Pods may see; everything else stays here. */
const inherited = ["PATH", "LANG", "LC_ALL", "TZ", "HOME", "USER", "TMPDIR"];

/**
 * Real processes of this machine.
 * @param entry node and the program that takes a component and its flags: `[node, bin/kruntimes.mjs]`
 */
export function systemProcesses(entry: readonly string[], clock: Clock): Processes {
  return {
    start: (request) => startProcess(entry, request),
    async endPod(podUid, except = new Set()) {
      // What is signalled may have forked meanwhile: look again until nothing is left.
      for (;;) {
        const pids = (await markedProcesses(`${podMark}=${podUid}`)).filter((pid) => !except.has(pid));
        if (pids.length === 0) return;
        for (const pid of pids) signalProcess(pid, "SIGKILL");
        await sleep(clock, 5);
      }
    },
  };
}

function startProcess(entry: readonly string[], request: StartRequest): Process {
  const [node = "", ...program] = entry;
  const nodeArguments = request.args[0] === "executor" ? executorNodeArguments : [];
  const errors = openSync(request.errorLog, "a", 0o600);
  let child: ChildProcess;
  try {
    child = spawn(node, [...nodeArguments, ...program, ...request.args], {
      cwd: request.workingDirectory,
      detached: true,
      // The channel tells the process when we are gone, however we went.
      stdio: ["ignore", "pipe", errors, "ipc"],
      env: {
        ...Object.fromEntries(inherited.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))),
        ...request.env,
        [podMark]: request.podUid,
      },
    });
  } finally {
    closeSync(errors);
  }
  const ended = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(`could not be started: ${error.message}`));
    child.once("close", (code, signal) => resolve(signal === null ? `exit code ${code}` : `signal ${signal}`));
  });
  child.on("message", request.onMessage);
  if (child.stdout !== null) followLines(child.stdout, request.onOutput);
  const { pid } = child;
  return {
    pid: pid ?? 0,
    ended,
    signal(name) {
      if (pid !== undefined && child.exitCode === null && child.signalCode === null) signalProcess(pid, name);
    },
  };
}

function signalProcess(pid: number, name: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error; // gone already is what we wanted
  }
}

/** Process ids whose environment has the variable; zombies have none and do not count. */
async function markedProcesses(variable: string): Promise<number[]> {
  const wanted = Buffer.from(`\0${variable}\0`);
  const entries = (await readdir("/proc")).filter((name) => /^[0-9]+$/.test(name));
  const found = await Promise.all(
    entries.map(async (name) => {
      const environment = await readFile(`/proc/${name}/environ`).catch(() => undefined);
      if (environment === undefined) return undefined;
      return Buffer.concat([Buffer.from("\0"), environment, Buffer.from("\0")]).includes(wanted)
        ? Number(name)
        : undefined;
    }),
  );
  return found.filter((pid) => pid !== undefined);
}

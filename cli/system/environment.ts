import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { systemDownloadFiles } from "#extension-api/client/download-files.ts";
import { systemClock } from "#kube/system-clock.ts";
import { systemRandom } from "#kube/system-random.ts";
import type { Environment } from "../environment.ts";
import { ask } from "./ask.ts";
import { systemFiles } from "./input-files.ts";
import { watchInterrupts } from "./interrupts.ts";
import { systemMachine } from "./machine.ts";
import { systemOutput } from "./output.ts";
import { systemStateDirectories } from "./state-directories.ts";

/** Directory of this installation. */
const root = new URL("../../", import.meta.url);

/** The world as it is. Takes over the signals of the process. */
export function systemEnvironment(): Environment {
  const interrupts = watchInterrupts();
  const { version } = JSON.parse(readFileSync(new URL("package.json", root), "utf8")) as { version: string };
  return {
    out: systemOutput(process.stdout, process.env),
    err: systemOutput(process.stderr, process.env),
    files: systemFiles,
    stateDirectories: systemStateDirectories,
    openLogFile: async (path, verbose) => (await import("./log-file.ts")).openLogFile(path, verbose),
    clock: systemClock,
    random: systemRandom,
    interrupted: interrupts.signal,
    onSecondInterrupt: (listener) => interrupts.onSecond(listener),
    ask,
    variables: process.env,
    invokedAs: basename(process.argv[1] ?? "").startsWith("kubectl-") ? "kubectl krt" : "krt",
    // Loaded only by those who need a cluster: reading kubeconfigs takes a large library.
    connect: async (choice) => (await import("./connect.ts")).systemConnect(choice),
    contexts: async (file) => (await import("./connect.ts")).contextNames(file),
    downloads: systemDownloadFiles,
    machine: systemMachine(fileURLToPath(new URL("bin/krt.mjs", root))),
    version,
    entry: [process.execPath, fileURLToPath(new URL("bin/kruntimes.mjs", root))],
  };
}

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { systemClock, systemRandom } from "#kube/system.ts";
import type { Environment } from "../environment.ts";
import { systemFiles } from "./input-files.ts";
import { watchInterrupts } from "./interrupts.ts";
import { openLogFile } from "./log-file.ts";
import { systemOutput } from "./output.ts";
import { systemStateDirectories } from "./state-directories.ts";

/** Directory of this installation. */
const root = new URL("../../", import.meta.url);

/** The world as it is. Takes over the signals of the process. */
export function systemEnvironment(): Environment {
  const { version } = JSON.parse(readFileSync(new URL("package.json", root), "utf8")) as { version: string };
  return {
    out: systemOutput(process.stdout, process.env),
    err: systemOutput(process.stderr, process.env),
    files: systemFiles,
    stateDirectories: systemStateDirectories,
    openLogFile,
    clock: systemClock,
    random: systemRandom,
    interrupted: watchInterrupts(),
    version,
    entry: [process.execPath, fileURLToPath(new URL("bin/kruntimes.mjs", root))],
  };
}

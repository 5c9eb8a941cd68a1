import { resolve } from "node:path";
import type { Environment } from "#cli/environment.ts";
import { runCommand } from "#cli/main.ts";
import { systemConnect } from "#cli/system/connect.ts";
import { systemFiles } from "#cli/system/input-files.ts";
import { openLogFile } from "#cli/system/log-file.ts";
import { systemMachine } from "#cli/system/machine.ts";
import { systemStateDirectories } from "#cli/system/state-directories.ts";
import { fakeEnvironment, fakeFiles } from "#cli/testing/fake-environment.ts";
import { systemDownloadFiles } from "#extension-api/client/download-files.ts";
import { systemClock, systemRandom } from "#kube/system.ts";

/** How a command ended, and what it wrote. */
export interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/**
 * Runs `krt` in this process against a real cluster: no time is lost with starting it.
 *
 * @param change of the environment: input, answers, interrupts
 */
export async function krtHere(
  kubeconfig: string,
  args: readonly string[],
  change: Partial<Environment> = {},
): Promise<Ended> {
  const { env, out, err } = fakeEnvironment();
  const code = await runCommand([...args], {
    ...env,
    files: systemFiles,
    clock: systemClock,
    random: systemRandom,
    downloads: systemDownloadFiles,
    machine: systemMachine(resolve("bin/krt.mjs")),
    stateDirectories: systemStateDirectories,
    openLogFile: async (path, verbose) => openLogFile(path, verbose),
    entry: [process.execPath, resolve("bin/kruntimes.mjs")],
    connect: (choice) => systemConnect({ file: kubeconfig, ...defined(choice) }),
    ...change,
  });
  return { code, out: out.text, err: err.text };
}

/** The same with some text as standard input. */
export const withInput = (text: string): Partial<Environment> => ({ files: fakeFiles({}, text) });

const defined = (choice: { file?: string | undefined; context?: string | undefined }) => ({
  ...(choice.file !== undefined && { file: choice.file }),
  ...(choice.context !== undefined && { context: choice.context }),
});

import { stateLayout } from "#local/state/layout.ts";
import { type AddCommand, withExamples } from "../commands/command.ts";
import type { Environment } from "../environment.ts";
import { CliError } from "../errors.ts";
import { exitCodes } from "../exit-codes.ts";
import { stateDirectory } from "./state-directory.ts";
import { type StateFlags, withStateOption } from "./state-option.ts";
import { stopLocal } from "./stop.ts";

interface Flags extends StateFlags {
  readonly yes?: true;
}

/** `krt local reset` */
export const addReset: AddCommand = (parent, env, end) => {
  const command = parent
    .command("reset")
    .summary("stop the cluster and forget everything")
    .description("Stops the cluster and removes its directory: objects, artifacts, workspaces, logs and kubeconfig.")
    .option("-y, --yes", "do not ask")
    .action(async (flags: Flags) => {
      const directory = stateDirectory(flags.stateDir, env.variables);
      const names = await namesIn(directory, env);
      if (names === undefined) {
        env.out.write(`There is nothing at ${directory}\n`);
      } else {
        refuseForeign(directory, names);
        if (!flags.yes) await confirm(directory, env);
        await stopLocal(directory, env);
        await env.stateDirectories.remove(directory);
        env.out.write(`Removed ${directory}\n`);
      }
      end(exitCodes.succeeded);
    });
  withExamples(withStateOption(command), env, "local reset", [
    ["Without a question, for scripts", "local reset --yes"],
  ]);
};

async function namesIn(directory: string, { files }: Environment): Promise<readonly string[] | undefined> {
  try {
    return (await files.list(directory)) ?? [];
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return undefined;
    throw error;
  }
}

/** A directory that was never a cluster's is not ours to remove. */
function refuseForeign(directory: string, names: readonly string[]): void {
  const ours = stateLayout(directory).database.slice(directory.length + 1);
  if (names.length === 0 || (names.includes("lock") && names.includes(ours))) return;
  throw new CliError(`${directory} is not the directory of a local cluster`, {
    advice: "Check --state-dir; nothing was removed.",
  });
}

async function confirm(directory: string, { ask, interrupted }: Environment): Promise<void> {
  const answer = await ask(`Remove ${directory} with everything in it? [y/N] `, interrupted);
  if (/^y/i.test(answer ?? "")) return;
  throw new CliError("nothing was removed", { advice: "Answer y, or pass --yes." });
}

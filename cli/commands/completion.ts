import { suggestion } from "../closest.ts";
import { nextOf } from "../completion/next.ts";
import { completionScripts, shells } from "../completion/scripts.ts";
import { CliError } from "../errors.ts";
import { exitCodes } from "../exit-codes.ts";
import { type AddCommand, withExamples } from "./command.ts";

/** `krt completion SHELL`, and the command that the scripts call. */
export const addCompletion: AddCommand = (parent, env, end) => {
  const command = parent
    .command("completion")
    .summary("print a completion script for a shell")
    .description(
      "Prints a script that completes commands, flags, and the names of what is in the cluster, in bash, zsh or fish.",
    )
    .argument("<SHELL>", shells.join(", "))
    .action((shell: string) => {
      const script = Object.hasOwn(completionScripts, shell) ? completionScripts[shell] : undefined;
      if (script === undefined) {
        throw new CliError(`there is no completion for ${shell}`, {
          advice: suggestion(shell, shells) ?? `There is one for ${shells.join(", ")}.`,
        });
      }
      env.out.write(script);
      end(exitCodes.succeeded);
    });
  withExamples(command, env, "completion", [
    ["In each bash, from ~/.bashrc", 'eval "$(krt completion bash)"'],
    ["In each zsh, from ~/.zshrc after compinit", 'eval "$(krt completion zsh)"'],
    ["In each fish", "completion fish > ~/.config/fish/completions/krt.fish"],
  ]);
  parent
    .command("__complete", { hidden: true })
    .argument("[WORD...]")
    .action(async (words: string[]) => {
      const { candidates } = await import("../completion/candidates.ts");
      const found = await candidates(nextOf(parent, words), env);
      env.out.write(found.map((word) => `${word}\n`).join(""));
      end(exitCodes.succeeded);
    });
};

import { suggestion } from "../closest.ts";
import { nextOf } from "../completion/next.ts";
import { completionScripts, shells } from "../completion/scripts.ts";
import { CliError } from "../errors.ts";
import { exitCodes } from "../exit-codes.ts";
import { type AddCommand, withExamples } from "./command.ts";

/** What fits, flags only where one is begun; and whether the shell may offer names of files, which is where nothing fits. */
function forKubectl(found: readonly string[], unfinished: string): readonly string[] {
  const fitting = found.filter((word) => word.startsWith(unfinished) && (unfinished !== "" || !word.startsWith("-")));
  return [...fitting, fitting.length > 0 ? ":4" : ":0"];
}

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
    .option(
      "--kubectl",
      "as kubectl asks its plug-ins: the last word is unfinished, and the answer says whether files may stand there",
    )
    .action(async (words: string[], { kubectl }: { readonly kubectl?: true }) => {
      const { candidates } = await import("../completion/candidates.ts");
      const found = await candidates(nextOf(parent, kubectl ? words.slice(0, -1) : words), env);
      const lines = kubectl ? forKubectl(found, words.at(-1) ?? "") : found;
      env.out.write(lines.map((line) => `${line}\n`).join(""));
      end(exitCodes.succeeded);
    });
};

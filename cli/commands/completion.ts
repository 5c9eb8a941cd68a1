import type { Command } from "commander";
import { suggestion } from "../closest.ts";
import { CliError } from "../errors.ts";
import { exitCodes } from "../exit-codes.ts";
import { type AddCommand, withExamples } from "./command.ts";

/** Each asks `krt __complete` for the words that may stand next. */
const scripts: Readonly<Record<string, string>> = {
  bash: `# eval "$(krt completion bash)"
_krt_complete() {
  local IFS=$'\\n'
  COMPREPLY=($(compgen -W "$(krt __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _krt_complete krt
`,
  zsh: `#compdef krt
# eval "$(krt completion zsh)"
_krt() {
  local -a words_after
  words_after=(\${(f)"$(krt __complete -- "\${(@)words[2,CURRENT-1]}" 2>/dev/null)"})
  (( \${#words_after} )) && compadd -a words_after || _files
}
compdef _krt krt
`,
  fish: `# krt completion fish | source
function __krt_complete
  set -l words (commandline -opc)
  krt __complete -- $words[2..] 2>/dev/null
end
complete -c krt -a "(__krt_complete)"
`,
};

const shells = Object.keys(scripts);

/** `krt completion SHELL`, and the command that the scripts call. */
export const addCompletion: AddCommand = (parent, env, end) => {
  const command = parent
    .command("completion")
    .summary("print a completion script for a shell")
    .description("Prints a script that completes commands and flags in bash, zsh or fish.")
    .argument("<SHELL>", shells.join(", "))
    .action((shell: string) => {
      const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined;
      if (script === undefined) {
        throw new CliError(`there is no completion for ${shell}`, {
          advice: suggestion(shell, shells) ?? `There is one for ${shells.join(", ")}.`,
        });
      }
      env.out.write(script);
      end(exitCodes.succeeded);
    });
  withExamples(command, env, "completion", [["In this bash", "completion bash > ~/.krt && . ~/.krt"]]);
  parent
    .command("__complete", { hidden: true })
    .argument("[WORD...]")
    .action((words: string[]) => {
      env.out.write(
        completions(parent, words)
          .map((word) => `${word}\n`)
          .join(""),
      );
      end(exitCodes.succeeded);
    });
};

/** What may stand behind these words: names of commands, and the flags of the command that they lead to. */
export function completions(program: Command, words: readonly string[]): string[] {
  let command = program;
  for (const word of words) {
    const next = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (next !== undefined) command = next;
  }
  const names = command.commands.map((one) => one.name()).filter((name) => !name.startsWith("_"));
  const flags = command.options.flatMap(({ long }) => (long == null || words.includes(long) ? [] : [long]));
  return [...names, ...flags];
}

/** Programs that read program text, from an argument or from their standard input. */

interface Interpreter {
  readonly program: RegExp;
  /** Flag before the argument that is program text. */
  readonly flag: RegExp;
  /** Whether there may be other arguments between the program and the flag, as in `su USER -c TEXT`. */
  readonly anywhere?: true;
  /** Whether it reads its standard input as program text when it is given no file. */
  readonly input?: true;
}

const interpreters: readonly Interpreter[] = [
  { program: /^(ba|da|a|z|k|mk)?sh$/, flag: /^-[A-Za-z]*c[A-Za-z]*$/, input: true },
  { program: /^(python|pypy)[0-9.]*$/, flag: /^-[A-Za-z]*c$/, input: true },
  {
    program: /^(node|nodejs|ruby|perl|php|deno|bun)[0-9.]*$/,
    flag: /^(-[A-Za-z]*[eEpr]|--eval|--print)$/,
    input: true,
  },
  { program: /^(su|runuser|script|flock)$/, flag: /^(-[A-Za-z]*c|--command)$/, anywhere: true },
];

/** Options of ssh that have a value of their own. */
const sshOptionWithValue = /^-[BbcDEeFIiJLlmOopQRSWw]$/;

const isOption = (word: string) => word.startsWith("-");
const nameOf = (word: string) => word.slice(word.lastIndexOf("/") + 1);

/**
 * What would run the next word of a command as code, e.g. `bash -c`. Looks for the program anywhere: `sudo`, `env`, `timeout 5` and
 * `find -exec` stand before others.
 *
 * @param words of the command so far, the command itself first
 */
export function runsNextWord(words: readonly string[]): string | undefined {
  for (const { program, flag, anywhere } of interpreters) {
    const at = words.findLastIndex((word) => program.test(nameOf(word)));
    if (at < 0) continue;
    const behind = words.slice(at + 1);
    const given = anywhere ? behind.slice(-1) : behind.every(isOption) ? behind : [];
    const found = given.find((word) => flag.test(word));
    if (found !== undefined) return `${nameOf(words[at] ?? "")} ${found}`;
  }
  return sshCommand(words) === undefined ? undefined : "the shell at the other end of ssh";
}

/** What would run the standard input of a command as code, e.g. `bash` without a file; nothing when it is data. */
export function runsInput(words: readonly string[]): string | undefined {
  const [command = ""] = words;
  if (command === "." || command === "source") return command;
  for (const { program, input } of interpreters) {
    const at = words.findLastIndex((word) => program.test(nameOf(word)));
    if (at < 0 || !input) continue;
    const behind = words.slice(at + 1);
    if (behind.every(isOption) || behind.includes("-") || behind.includes("-s")) return nameOf(words[at] ?? "");
  }
  return sshCommand(words)?.length === 0 ? "the shell at the other end of ssh" : undefined;
}

/** The words that ssh hands to the other machine; `undefined` when it is not ssh or the machine is not named yet. */
function sshCommand(words: readonly string[]): readonly string[] | undefined {
  const at = words.findLastIndex((word) => nameOf(word) === "ssh");
  if (at < 0) return undefined;
  for (let index = at + 1; index < words.length; index++) {
    const word = words[index] ?? "";
    if (sshOptionWithValue.test(word)) index++;
    else if (!isOption(word)) return words.slice(index + 1);
  }
  return undefined;
}

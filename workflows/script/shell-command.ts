import type { Refusal } from "./placement.ts";
import { runsInput, runsNextWord } from "./shell-programs.ts";

/** A word of a command as far as it is known before the script runs. */
export interface Word {
  /** Its text without quotes; each value that is filled in later is one U+FFFC. */
  text: string;
  /** Whether any part is quoted or filled in: then it is no reserved word. */
  quoted: boolean;
}

/** Stands in the text of a word for what is filled in when the script runs. */
export const filled = "\uFFFC";

const startsCommand = new Set(["if", "then", "else", "elif", "do", "while", "until", "!", "{", "time", "coproc"]);
const prefixes = new Set(["command", "builtin", "exec"]);
const declares = new Set(["declare", "typeset", "local", "readonly", "export"]);
const takesNames = new Set(["unset", "read", "getopts", "mapfile", "readarray"]);
const runsArguments = new Set(["eval", "let", "trap", "compgen"]);
const tests = new Set(["test", "[", "[["]);

const assignment = /^[A-Za-z_][A-Za-z0-9_]*(\[[^\]]*\])?\+?=/;
const openSubscript = /^[A-Za-z_][A-Za-z0-9_]*\[[^\]]*$/;

const useVariable =
  "Put it into a shell variable first (name=EXPRESSION on a line of its own) and check that before use.";

/** The simple command that is being read: knows which word would make code of a value. */
export class ShellCommand {
  /** Words before the command: a prefix and its options. */
  readonly #prefix: string[] = [];
  readonly #args: string[] = [];
  #name: string | undefined;
  #target: "file" | "text" | undefined;

  /** Whether the next word is the command (or a reserved word, or an assignment before the command). */
  get atStart(): boolean {
    return this.#name === undefined;
  }

  /** The command or reserved word; `undefined` as long as there is none. */
  get command(): string | undefined {
    return this.#name;
  }

  /** Words after the command. */
  get args(): readonly string[] {
    return this.#args;
  }

  /** The next word is no argument: the file of a redirection, or the text of `<<<`. */
  redirect(target: "file" | "text"): void {
    this.#target = target;
  }

  /** A word is complete. */
  add({ text, quoted }: Word): void {
    if (this.#target !== undefined) this.#target = undefined;
    else if (this.#name !== undefined) this.#args.push(text);
    else if (assignment.test(text) || (!quoted && startsCommand.has(text))) return;
    else if (prefixes.has(text)) this.#prefix.push(text);
    else if (this.#prefix.length > 0 && /^-[vV]$/.test(text)) this.#name = "command -v";
    else if (this.#prefix.length === 0 || !text.startsWith("-")) this.#name = text;
  }

  /** Why an expression cannot stand at the end of the word read so far; nothing when it can. */
  refusal(word: Word): Refusal | undefined {
    if (this.#target === "file") return undefined;
    if (this.#target === "text") return this.inputRefusal();
    if (openSubscript.test(word.text)) {
      return { message: "the index of an array is calculated, and calculating can run commands", advice: useVariable };
    }
    return this.#name === undefined ? startRefusal(word) : this.#argumentRefusal(this.#name, word);
  }

  /** Why an expression cannot stand in the text that the command reads from its standard input. */
  inputRefusal(): Refusal | undefined {
    const reader = this.#name === undefined ? undefined : runsInput([this.#name, ...this.#args]);
    return reader === undefined ? undefined : asCode(reader);
  }

  #argumentRefusal(name: string, word: Word): Refusal | undefined {
    if (runsArguments.has(name)) return { message: asCode(name).message, advice: useVariable };
    if (takesNames.has(name)) return asName(name);
    if (declares.has(name)) return this.#declarationRefusal(name, word);
    const previous = this.#args.at(-1) ?? "";
    if ((name === "printf" && previous === "-v") || (tests.has(name) && /^-[vR]$/.test(previous))) {
      return asName(`${name} ${previous}`);
    }
    const runner = runsNextWord([name, ...this.#args]);
    return runner === undefined ? undefined : asCode(runner);
  }

  #declarationRefusal(name: string, { text }: Word): Refusal | undefined {
    if (!text.includes("=")) return asName(name);
    const option = this.#args.find((each) => /^-[A-Za-z]*[in]/.test(each));
    if (option === undefined) return undefined;
    return {
      message: `${name} ${option} would calculate the value, and calculating can run commands`,
      advice: useVariable,
    };
  }
}

function startRefusal({ text }: Word): Refusal | undefined {
  if (text !== "") return undefined;
  return {
    message: "a value cannot be the command",
    advice:
      "Write the command into the script, for example: if [ EXPRESSION = true ]. A value is one word, never code.",
  };
}

function asCode(reader: string): Refusal {
  return {
    message: `${reader} would run the value as code`,
    advice: "Hand it over as data: as an argument behind the program text, or in an environment variable.",
  };
}

function asName(command: string): Refusal {
  return {
    message: `${command} takes the value as the name of a variable, and such a name can run commands`,
    advice: "Write the names of variables into the script.",
  };
}

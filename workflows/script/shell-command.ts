import type { Refusal } from "./placement.ts";

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
const readsCode = new Set(["eval", "let", "trap"]);

/** Programs that take a program text after a flag. */
const codeFlags: readonly (readonly [program: RegExp, flag: RegExp])[] = [
  [/^(ba|da|a|z|k|mk)?sh$/, /^-[A-Za-z]*c[A-Za-z]*$/],
  [/^(python|pypy)[0-9.]*$/, /^-[A-Za-z]*c$/],
  [/^(node|nodejs|ruby|perl|php|deno|bun)[0-9.]*$/, /^(-[A-Za-z]*[eEpr]|--eval|--print)$/],
];

const assignment = /^[A-Za-z_][A-Za-z0-9_]*(\[[^\]]*\])?\+?=/;
const openSubscript = /^[A-Za-z_][A-Za-z0-9_]*\[[^\]]*$/;

const useVariable =
  "Put it into a shell variable first (name=EXPRESSION on a line of its own) and check that before use.";

/** The simple command that is being read: knows which word would make code of a value. */
export class ShellCommand {
  readonly #words: string[] = [];
  #name: string | undefined;
  #redirection = false;

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
    return this.#words;
  }

  /** The next word is the target of a redirection, not an argument. */
  redirect(): void {
    this.#redirection = true;
  }

  /** A word is complete. */
  add(word: Word): void {
    if (this.#redirection) {
      this.#redirection = false;
      return;
    }
    if (this.#name !== undefined) {
      this.#words.push(word.text);
      return;
    }
    if (assignment.test(word.text)) return;
    if (!word.quoted && startsCommand.has(word.text)) return;
    if (prefixes.has(word.text) || (this.#words.length > 0 && word.text.startsWith("-"))) {
      // `command -p x`: options of the prefix are no command yet.
      this.#words.push(word.text);
      return;
    }
    this.#words.length = 0;
    this.#name = word.text;
  }

  /** Why an expression cannot stand at the end of the word read so far; nothing when it can. */
  refusal(word: Word): Refusal | undefined {
    if (this.#redirection) return undefined;
    if (openSubscript.test(word.text)) {
      return { message: "the index of an array is calculated, and calculating can run commands", advice: useVariable };
    }
    return this.#name === undefined ? this.#startRefusal(word) : this.#argumentRefusal(this.#name, word);
  }

  #startRefusal({ text }: Word): Refusal | undefined {
    if (text !== "") return undefined;
    return {
      message: "a value cannot be the command",
      advice:
        "Write the command into the script, for example: if [ EXPRESSION = true ]. A value is one word, never code.",
    };
  }

  #argumentRefusal(name: string, word: Word): Refusal | undefined {
    if (readsCode.has(name)) {
      return { message: `${name} would run the value as code`, advice: useVariable };
    }
    if (takesNames.has(name)) {
      return {
        message: `${name} takes the value as the name of a variable, and such a name can run commands`,
        advice: "Write the names of variables into the script.",
      };
    }
    if (declares.has(name)) return this.#declarationRefusal(name, word);
    const previous = this.#words.at(-1);
    if (previous === "-v" && ["printf", "test", "[", "[["].includes(name)) {
      return {
        message: `${name} -v takes the value as the name of a variable, and such a name can run commands`,
        advice: "Write the names of variables into the script.",
      };
    }
    return this.#programRefusal([name, ...this.#words]);
  }

  #declarationRefusal(name: string, { text }: Word): Refusal | undefined {
    if (!text.includes("=")) {
      return {
        message: `${name} takes the value as the name of a variable, and such a name can run commands`,
        advice: `Write the name into the script: ${name} NAME=VALUE.`,
      };
    }
    if (this.#words.some((option) => /^-[A-Za-z]*i/.test(option))) {
      return { message: `${name} -i would calculate the value, and calculating can run commands`, advice: useVariable };
    }
    return undefined;
  }

  /** `bash -c "..."`, also behind `sudo`, `env`, `timeout 5` and the like. */
  #programRefusal(words: readonly string[]): Refusal | undefined {
    let index = words.length - 1;
    while (index >= 0 && words[index]?.startsWith("-")) index--;
    const program = (words[index] ?? "").replace(/^.*\//, "");
    const options = words.slice(index + 1);
    for (const [programs, flag] of codeFlags) {
      const given = programs.test(program) ? options.find((option) => flag.test(option)) : undefined;
      if (given === undefined) continue;
      return {
        message: `${program} ${given} would run the value as code`,
        advice: "Hand it over as an argument behind the program text, and use it there as an argument.",
      };
    }
    return undefined;
  }
}

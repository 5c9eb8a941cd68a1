import type { Refusal } from "./placement.ts";
import { ShellCommand, type Word } from "./shell-command.ts";
import type { HereDocument } from "./shell-documents.ts";
import type { WordSink } from "./shell-words.ts";

/** Where a `case` is: before `in`, in a pattern, or in the commands of a branch. */
type CasePart = "word" | "pattern" | "body";

/** What is known while a list of commands is read: the word and the command at hand, and the cases that are open. */
export class ShellList implements WordSink {
  /** Here-documents whose texts begin on the next line. */
  readonly documents: HereDocument[] = [];
  command = new ShellCommand();
  #word: Word | undefined;
  readonly #cases: CasePart[] = [];

  /** The word at hand; `undefined` between words. */
  get word(): string | undefined {
    return this.#word?.text;
  }

  /** Whether a pattern of a case is being read. */
  get inPattern(): boolean {
    return this.#cases.at(-1) === "pattern";
  }

  /** Whether the list may end here. */
  get complete(): boolean {
    return this.documents.length === 0 && this.#cases.length === 0;
  }

  grow(text: string, quoted: boolean): void {
    this.#word ??= { text: "", quoted: false };
    this.#word.text += text;
    this.#word.quoted ||= quoted;
  }

  refusal(): Refusal | undefined {
    // A pattern of a case is compared, whatever it says.
    return this.inPattern ? undefined : this.command.refusal(this.#word ?? { text: "", quoted: false });
  }

  /** Forgets the word: it was no word of the command. */
  dropWord(): void {
    this.#word = undefined;
  }

  /** The word at hand is complete. Answers whether it opens a test, `[[`. */
  finishWord(): boolean {
    const word = this.#word;
    this.#word = undefined;
    if (word === undefined) return false;
    const part = this.#cases.at(-1);
    if (part === "word" && word.text === "in" && this.command.args.length >= 1) {
      this.#cases[this.#cases.length - 1] = "pattern";
      this.command = new ShellCommand();
      return false;
    }
    if (part === "pattern") {
      if (word.text === "esac" && !word.quoted) this.#cases.pop();
      return false;
    }
    const starts = this.command.atStart && !word.quoted;
    if (starts && part === "body" && word.text === "esac") this.#cases.pop();
    this.command.add(word);
    if (starts && this.command.command === "case") this.#cases.push("word");
    return starts && this.command.command === "[[";
  }

  /** The command at hand is complete; a case goes on over the ends of lines. */
  endCommand(): void {
    if (this.inPattern) this.finishWord();
    else {
      this.finishWord();
      if (this.#cases.at(-1) !== "word") this.command = new ShellCommand();
    }
  }

  /** A parenthesis that closes a pattern: the commands of the branch follow. Answers whether it was one. */
  closePattern(): boolean {
    if (!this.inPattern) return false;
    this.#cases[this.#cases.length - 1] = "body";
    this.command = new ShellCommand();
    return true;
  }

  /** `;;`, `;&` or `;;&`: the next pattern follows. `esac;;` has left its own case: the sign belongs to the one around it. */
  endBranch(): void {
    if (this.#cases.length > 0) this.#cases[this.#cases.length - 1] = "pattern";
  }
}

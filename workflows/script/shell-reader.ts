import { filled, type ShellCommand, type Word } from "./shell-command.ts";
import { ShellDocuments } from "./shell-documents.ts";
import { ShellList } from "./shell-list.ts";
import { places, refusals } from "./shell-places.ts";
import type { WordSink } from "./shell-words.ts";

const calculates = new Set(["-eq", "-ne", "-lt", "-le", "-gt", "-ge"]);

/** Follows a shell script far enough to know how each place is quoted and which command it belongs to. */
export class ShellReader extends ShellDocuments {
  /** The lists that are open, the innermost last. */
  readonly #lists: ShellList[] = [];

  readScript(): void {
    this.readList(undefined);
  }

  protected override readList(opened: number | undefined): void {
    const list = new ShellList();
    this.#lists.push(list);
    this.#readCommands(list, opened);
    this.#lists.pop();
  }

  #readCommands(list: ShellList, opened: number | undefined): void {
    while (!this.done) {
      const { char } = this;
      if (this.spanAt()) {
        this.place(list.refusal() ?? places.unquoted);
        list.grow(filled, true);
      } else if (char === " " || char === "\t" || char === "\r") {
        this.at++;
        this.#finishWord(list);
      } else if (char === "\n") this.#readLineEnd(list);
      else if (char === "#" && list.word === undefined) this.readComment();
      else if (char === "(") this.#readOpening(list);
      else if (char === ")") {
        this.#finishWord(list);
        if (!list.closePattern()) {
          if (opened === undefined || !list.complete) this.lost("this parenthesis closes nothing");
          this.at++;
          return;
        }
        this.at++;
      } else if (char === "<" || char === ">") this.#readRedirection(list);
      else if (char === "&" && this.text[this.at + 1] === ">") {
        this.#finishWord(list);
        this.at++;
      } else if (char === ";" || char === "&" || char === "|") this.#readSeparator(list);
      else this.readPiece(list);
    }
    list.endCommand();
    if (opened !== undefined) this.lost("this parenthesis is not closed", opened);
    const [open] = list.documents;
    if (open !== undefined) this.lost(`the here-document has no line ${open.delimiter}`, open.offset);
  }

  #finishWord(list: ShellList): void {
    if (list.finishWord() && this.dialect === "bash") this.#readTest(list.command);
  }

  #readLineEnd(list: ShellList): void {
    this.at++;
    list.endCommand();
    const outer = this.#lists.slice(0, -1);
    if (outer.some(({ documents }) => documents.length > 0))
      this.lost("a here-document begins in the middle of another command");
    for (const document of list.documents.splice(0)) this.readDocument(document);
  }

  #readSeparator(list: ShellList): void {
    list.endCommand();
    if (this.startsWith(";;") || this.startsWith(";&")) {
      list.endBranch();
      this.at += this.startsWith(";;&") ? 3 : 2;
    } else this.at++;
  }

  #readOpening(list: ShellList): void {
    const { word } = list;
    const start = this.at;
    if (word === undefined && list.inPattern) this.at++;
    else if (word === undefined && this.startsWith("((") && (list.command.atStart || list.command.command === "for")) {
      this.readArithmetic("((");
      list.grow(filled, true);
    } else if (word === undefined && list.command.atStart) {
      this.at++;
      this.readList(start);
      list.grow(filled, true);
    } else if (word !== undefined && /[=@?*+!]$/.test(word)) {
      this.at++;
      this.#readWords(start, word.endsWith("=") ? "array" : "pattern");
      list.grow(filled, true);
    } else if (/^\(\s*\)/.test(this.text.slice(start, start + 64))) {
      // `name ()`: a function; its body is a command.
      this.at = this.text.indexOf(")", start) + 1;
      list.dropWord();
      list.endCommand();
    } else this.lost("a parenthesis cannot be understood here");
  }

  #readRedirection(list: ShellList): void {
    if (list.word !== undefined && /^[0-9]+$/.test(list.word)) list.dropWord();
    this.#finishWord(list);
    if (this.text[this.at + 1] === "(" && this.dialect === "bash") {
      const start = this.at;
      this.at += 2;
      this.readList(start);
      list.grow(filled, true);
    } else if (this.startsWith("<<<")) {
      this.at += 3;
      list.command.redirect("text");
    } else if (this.startsWith("<<")) list.documents.push(this.readDelimiter(list.command));
    else {
      this.at++;
      while (!this.spanAt() && /[<>&|]/.test(this.char)) this.at++;
      list.command.redirect("file");
    }
  }

  /** The words of an array or of an extended pattern, up to its closing parenthesis. */
  #readWords(opened: number, kind: "array" | "pattern"): void {
    let text = "";
    const sink: WordSink = {
      grow: (more) => {
        text += more;
      },
      refusal: () => (kind === "array" && /^\[[^\]]*$/.test(text) ? refusals.arithmetic : undefined),
    };
    while (this.char !== ")") {
      if (this.done) this.lost("this parenthesis is not closed", opened);
      if (this.spanAt()) {
        this.place(sink.refusal() ?? places.unquoted);
        text += filled;
      } else if (this.char === "(") {
        this.#readWords(this.at++, "pattern");
        text += filled;
      } else if (/\s/.test(this.char)) {
        text = "";
        this.at++;
      } else if (this.char === "#" && text === "" && kind === "array") this.readComment();
      else this.readPiece(sink);
    }
    this.at++;
  }

  /** `[[ ... ]]`. Its `<`, `>`, `(`, `)`, `&&`, `||` and line ends are part of the test. */
  #readTest(command: ShellCommand): void {
    const start = this.at;
    const first = this.placements.length;
    let word: Word = { text: "", quoted: false };
    const sink: WordSink = {
      grow: (text, quoted) => {
        word = { text: word.text + text, quoted: word.quoted || quoted };
      },
      refusal: () => command.refusal(word),
    };
    for (;;) {
      if (this.spanAt()) {
        this.place(sink.refusal() ?? places.unquoted);
        sink.grow(filled, true);
      } else if (this.done || /[\s;&|<>()]/.test(this.char)) {
        if (word.text === "]]" && !word.quoted) break;
        if (this.done) this.lost("this [[ is not closed", start);
        if (word.text !== "" || word.quoted) command.add(word);
        word = { text: "", quoted: false };
        this.at++;
      } else if (this.char === "#" && word.text === "" && !word.quoted) this.readComment();
      else this.readPiece(sink);
    }
    if (!command.args.some((text) => calculates.has(text))) return;
    for (let index = first; index < this.placements.length; index++) this.placements[index] = refusals.calculatedTest;
  }
}

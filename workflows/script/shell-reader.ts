import type { Span } from "../expressions/template.ts";
import { Cursor, LostTrack, type Placement, type Refusal } from "./placement.ts";
import { filled, ShellCommand, type Word } from "./shell-command.ts";

const unquoted: Placement = { write: (name) => `"\${${name}}"` };
const inDouble: Placement = { write: (name) => `\${${name}}` };
const inSingle: Placement = { write: (name) => `'"\${${name}}"'` };
const inDollarSingle: Placement = { write: (name) => `'"\${${name}}"$'` };

const arithmetic: Refusal = {
  message: "the shell calculates here, and calculating a value can run commands",
  advice: "Put it into a shell variable first, check that it is a number, and calculate with the variable.",
};
const inParameter: Refusal = {
  message: "an expression cannot stand inside the braces of a shell variable",
  advice: "Put it into a shell variable first and use that variable.",
};
const inBackticks: Refusal = {
  message: "an expression cannot stand inside backticks",
  advice: "Write $(command) instead of `command`.",
};
const inQuotedDocument: Refusal = {
  message: "nothing is filled in inside a here-document whose delimiter is quoted",
  advice: "Take the quotes of the delimiter away and put a backslash before each $ that is to stay.",
};
const inDelimiter: Refusal = {
  message: "the delimiter of a here-document is a fixed word",
  advice: "Write a word such as EOF.",
};
const afterBackslash: Refusal = {
  message: "a backslash stands directly before the expression",
  advice: "Write two backslashes for one, or leave it out: a value needs no protection.",
};
const afterDollar: Refusal = {
  message: "a dollar sign stands directly before the expression",
  advice: "Write \\$ for a dollar sign.",
};
const inCalculatedTest: Refusal = {
  message: "[[ ]] with -eq, -ne, -lt, -le, -gt or -ge calculates, and calculating a value can run commands",
  advice: "Use [ ] with the same operator: it takes only numbers.",
};

const calculates = new Set(["-eq", "-ne", "-lt", "-le", "-gt", "-ge"]);

interface HereDocument {
  readonly delimiter: string;
  readonly quoted: boolean;
  readonly stripTabs: boolean;
  readonly offset: number;
}

/** Where a `case` is: before `in`, in a pattern, or in the commands of a branch. */
type CasePart = "word" | "pattern" | "body";

/** Follows a shell script far enough to know how each place is quoted and which command it belongs to. */
export class ShellReader extends Cursor {
  readonly #dialect: "bash" | "sh";
  #pendingDocuments = 0;

  constructor(text: string, spans: readonly Span[], dialect: "bash" | "sh") {
    super(text, spans);
    this.#dialect = dialect;
  }

  readScript(): void {
    this.#readList(undefined);
  }

  /** Commands up to the closing parenthesis of what opened at `opened`, or to the end of the text. */
  #readList(opened: number | undefined): void {
    const documents: HereDocument[] = [];
    const outerDocuments = this.#pendingDocuments;
    const cases: CasePart[] = [];
    let command = new ShellCommand();
    let word: Word | undefined;

    const finishWord = () => {
      if (word === undefined) return;
      const finished = word;
      word = undefined;
      const part = cases.at(-1);
      if (part === "word" && finished.text === "in" && command.args.length >= 1) {
        cases[cases.length - 1] = "pattern";
        command = new ShellCommand();
        return;
      }
      if (part === "pattern") {
        if (finished.text === "esac" && !finished.quoted) cases.pop();
        return;
      }
      const starts = command.atStart && !finished.quoted;
      if (starts && part === "body" && finished.text === "esac") cases.pop();
      command.add(finished);
      if (starts && command.command === "case") cases.push("word");
      if (starts && command.command === "[[" && this.#dialect === "bash") this.#readTest(command);
    };
    const endCommand = () => {
      finishWord();
      if (cases.at(-1) !== "word") command = new ShellCommand();
    };
    const grow = (text: string, quoted: boolean) => {
      word ??= { text: "", quoted: false };
      word.text += text;
      word.quoted ||= quoted;
    };
    // A pattern of a case is compared, whatever it says.
    const refusal = () =>
      cases.at(-1) === "pattern" ? undefined : command.refusal(word ?? { text: "", quoted: false });

    while (!this.done) {
      const { char } = this;
      if (this.spanAt()) {
        this.place(refusal() ?? unquoted);
        grow(filled, true);
        continue;
      }
      if (char === " " || char === "\t" || char === "\r") {
        this.at++;
        finishWord();
      } else if (char === "\n") {
        this.at++;
        endCommand();
        if (outerDocuments > 0) this.#lost("a here-document begins in the middle of another command");
        this.#pendingDocuments = outerDocuments;
        for (const document of documents.splice(0)) this.#readDocument(document);
      } else if (char === "#" && word === undefined) this.#readComment();
      else if (char === ")") {
        finishWord();
        if (cases.at(-1) === "pattern") {
          cases[cases.length - 1] = "body";
          this.at++;
          command = new ShellCommand();
          continue;
        }
        if (opened === undefined || documents.length > 0 || cases.length > 0)
          this.#lost("this parenthesis closes nothing");
        this.at++;
        return;
      } else if (char === "(") {
        if (word === undefined && cases.at(-1) === "pattern") this.at++;
        else if (word === undefined && this.startsWith("((") && (command.atStart || command.command === "for")) {
          this.#readArithmetic(this.at, "((");
          grow(filled, true);
        } else if (word === undefined && command.atStart) {
          const start = this.at++;
          this.#readList(start);
          grow(filled, true);
        } else if (word?.text.endsWith("=") || /[@?*+!]$/.test(word?.text ?? "")) {
          this.#readWords(this.at++, word?.text.endsWith("=") ? "array" : "pattern");
          grow(filled, true);
        } else if (/^\(\s*\)/.test(this.text.slice(this.at, this.at + 64))) {
          // `name ()`: a function; its body is a command.
          this.at = this.text.indexOf(")", this.at) + 1;
          word = undefined;
          command = new ShellCommand();
        } else this.#lost("a parenthesis cannot be understood here");
      } else if (char === "<" || char === ">") {
        if (word !== undefined && /^[0-9]+$/.test(word.text)) word = undefined;
        finishWord();
        if (this.text[this.at + 1] === "(" && this.#dialect === "bash") {
          const start = this.at;
          this.at += 2;
          this.#readList(start);
          grow(filled, true);
        } else if (this.startsWith("<<") && !this.startsWith("<<<")) {
          const document = this.#readDelimiter();
          if (document !== undefined) {
            documents.push(document);
            this.#pendingDocuments = outerDocuments + documents.length;
          }
        } else {
          this.at++;
          while (!this.spanAt() && /[<>&|]/.test(this.char)) this.at++;
          command.redirect();
        }
      } else if (char === "&" && this.text[this.at + 1] === ">") {
        finishWord();
        this.at++;
      } else if (char === ";" || char === "&" || char === "|") {
        if (cases.at(-1) === "pattern") finishWord();
        else endCommand();
        // `esac;;` has just left its own case: the sign belongs to the one around it.
        const part = cases.at(-1);
        const ended = this.startsWith(";;") || this.startsWith(";&");
        this.at += ended ? 2 : 1;
        if (ended && part !== undefined) {
          if (this.char === "&") this.at++;
          cases[cases.length - 1] = "pattern";
        }
      } else this.#readPiece(grow, refusal);
    }
    endCommand();
    if (opened !== undefined) this.#lost("this parenthesis is not closed", opened);
    const [open] = documents;
    if (open !== undefined) this.#lost(`the here-document has no line ${open.delimiter}`, open.offset);
  }

  /** A quoted or plain piece of a word. */
  #readPiece(grow: (text: string, quoted: boolean) => void, refusal: () => Refusal | undefined): void {
    const { char } = this;
    if (char === "\\") {
      if (this.spanAt(this.at + 1)) this.#refuseNext(afterBackslash, 1);
      else {
        const next = this.text[this.at + 1] ?? "";
        this.at += 2;
        // A backslash at the end of a line only continues it.
        if (next !== "\n") grow(next, true);
      }
    } else if (char === "'") grow(this.#readSingle(refusal), true);
    else if (char === '"') this.#readDouble(grow, refusal);
    else if (char === "`") {
      this.#readBackticks();
      grow(filled, true);
    } else if (char === "$") this.#readDollar(grow, refusal, false);
    else {
      grow(char, false);
      this.at++;
    }
  }

  #readDollar(
    grow: (text: string, quoted: boolean) => void,
    refusal: () => Refusal | undefined,
    inDoubleQuotes: boolean,
  ): void {
    const start = this.at;
    if (this.spanAt(this.at + 1)) {
      this.#refuseNext(afterDollar, 1);
      grow(filled, true);
    } else if (this.startsWith("$((")) {
      this.#readArithmetic(start, "$((");
      grow(filled, true);
    } else if (this.startsWith("$(")) {
      this.at += 2;
      this.#readList(start);
      grow(filled, true);
    } else if (this.startsWith("${")) {
      this.#readParameter(inDoubleQuotes);
      grow(filled, true);
    } else if (this.startsWith("$[") && this.#dialect === "bash") {
      this.#readBrackets();
      grow(filled, true);
    } else if (this.startsWith("$'") && !inDoubleQuotes) {
      if (this.#dialect === "sh") {
        throw new LostTrack(
          start,
          "$'...' means different things in different shells",
          "Use printf, or run the script with bash.",
        );
      }
      this.at++;
      grow(this.#readSingle(refusal, true), true);
    } else if (this.startsWith('$"') && !inDoubleQuotes) {
      this.at++;
      this.#readDouble(grow, refusal);
    } else {
      // `$$` and the like are variables of one character: what follows is no quote of the dollar sign.
      const length = /^\$[$!?#*@0-9-]/.test(this.text.slice(start, start + 2)) && !this.spanAt(start + 1) ? 2 : 1;
      grow(this.text.slice(start, start + length), true);
      this.at += length;
    }
  }

  /** `'...'`, or `$'...'` in which a backslash protects the next character. Returns the text. */
  #readSingle(refusal: () => Refusal | undefined, backslash = false): string {
    const start = this.at++;
    let text = "";
    while (this.char !== "'") {
      if (this.done) this.#lost("this single quote is not closed", start);
      if (this.spanAt()) {
        this.place(refusal() ?? (backslash ? inDollarSingle : inSingle));
        text += filled;
      } else if (backslash && this.char === "\\") {
        if (this.spanAt(this.at + 1)) this.#refuseNext(afterBackslash, 1);
        else this.at += 2;
      } else {
        text += this.char;
        this.at++;
      }
    }
    this.at++;
    return text;
  }

  #readDouble(grow: (text: string, quoted: boolean) => void, refusal: () => Refusal | undefined): void {
    const start = this.at++;
    grow("", true);
    while (this.char !== '"') {
      if (this.done) this.#lost("this double quote is not closed", start);
      if (this.spanAt()) {
        this.place(refusal() ?? inDouble);
        grow(filled, true);
      } else this.#readExpanded(grow, refusal);
    }
    this.at++;
  }

  /** One character or expansion where only `\`, `$` and backticks mean something. */
  #readExpanded(grow: (text: string, quoted: boolean) => void, refusal: () => Refusal | undefined): void {
    const { char } = this;
    if (char === "\\") {
      if (this.spanAt(this.at + 1)) this.#refuseNext(afterBackslash, 1);
      else {
        grow(this.text.slice(this.at + 1, this.at + 2), true);
        this.at += 2;
      }
    } else if (char === "$") this.#readDollar(grow, refusal, true);
    else if (char === "`") {
      this.#readBackticks();
      grow(filled, true);
    } else {
      grow(char, true);
      this.at++;
    }
  }

  /** The words of an array or of an extended pattern, up to its closing parenthesis. */
  #readWords(opened: number, kind: "array" | "pattern"): void {
    let text = "";
    const grow = (more: string) => {
      text += more;
    };
    const refusal = (): Refusal | undefined => (kind === "array" && /^\[[^\]]*$/.test(text) ? arithmetic : undefined);
    while (this.char !== ")") {
      if (this.done) this.#lost("this parenthesis is not closed", opened);
      if (this.spanAt()) {
        this.place(refusal() ?? unquoted);
        grow(filled);
      } else if (this.char === "(") {
        this.#readWords(this.at++, "pattern");
        grow(filled);
      } else if (/\s/.test(this.char)) {
        text = "";
        this.at++;
      } else if (this.char === "#" && text === "" && kind === "array") this.#readComment();
      else this.#readPiece(grow, refusal);
    }
    this.at++;
  }

  /** `[[ ... ]]`. Its `<`, `>`, `(`, `)`, `&&` and `||` are part of the test. */
  #readTest(command: ShellCommand): void {
    const start = this.at;
    const first = this.placements.length;
    const words: string[] = [];
    let word: Word | undefined;
    const grow = (text: string, quoted: boolean) => {
      word ??= { text: "", quoted: false };
      word.text += text;
      word.quoted ||= quoted;
    };
    const refusal = () => command.refusal(word ?? { text: "", quoted: false });
    const finish = (): boolean => {
      if (word === undefined) return false;
      words.push(word.text);
      command.add(word);
      const closes = word.text === "]]" && !word.quoted;
      word = undefined;
      return closes;
    };
    let closed = false;
    while (!closed) {
      if (this.done) {
        if (finish()) break;
        this.#lost("this [[ is not closed", start);
      }
      if (this.spanAt()) {
        this.place(refusal() ?? unquoted);
        grow(filled, true);
      } else if (/[\s;]/.test(this.char)) {
        closed = finish();
        if (!closed) this.at++;
      } else if (
        this.char === "&" ||
        this.char === "|" ||
        this.char === "<" ||
        this.char === ">" ||
        /[()]/.test(this.char)
      ) {
        closed = finish();
        if (!closed) this.at++;
      } else if (this.char === "#" && word === undefined) this.#readComment();
      else this.#readPiece(grow, refusal);
    }
    if (!words.some((text) => calculates.has(text))) return;
    for (let index = first; index < this.placements.length; index++) this.placements[index] = inCalculatedTest;
  }

  /** `((...))` or `$((...))`. One that could also be a subshell in parentheses is not guessed at. */
  #readArithmetic(start: number, opening: string): void {
    this.at = start + opening.length;
    let depth = 0;
    const ignore = () => {};
    const refusal = () => arithmetic;
    for (;;) {
      if (this.done) this.#lost("this calculation is not closed", start);
      if (this.spanAt()) this.place(arithmetic);
      else if (this.char === "(") {
        depth++;
        this.at++;
      } else if (this.char === ")" && depth > 0) {
        depth--;
        this.at++;
      } else if (this.startsWith("))")) {
        this.at += 2;
        return;
      } else if (this.char === ")") {
        const advice = "Write a space between the two parentheses when commands are meant.";
        throw new LostTrack(start, `${opening} can be a calculation or commands`, advice);
      } else this.#readPiece(ignore, refusal);
    }
  }

  /** `$[...]`, the old form of `$((...))`. */
  #readBrackets(): void {
    const start = this.at;
    this.at += 2;
    for (let depth = 1; depth > 0; ) {
      if (this.done) this.#lost("this calculation is not closed", start);
      if (this.spanAt()) {
        this.place(arithmetic);
        continue;
      }
      if (this.char === "[") depth++;
      else if (this.char === "]") depth--;
      if (/[\\'"`$]/.test(this.char))
        this.#readPiece(
          () => {},
          () => arithmetic,
        );
      else this.at++;
    }
  }

  /**
   * `${...}`. Inside double quotes, `"${x:-it's}"`, a single quote is plain text in POSIX shells, except in the operators that take a
   * pattern; bash wants it closed.
   */
  #readParameter(inDoubleQuotes: boolean): void {
    const start = this.at;
    this.at += 2;
    const [, operator = ""] =
      /^[!#]?(?:[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-])?(?:\[[^\]]*\])?([#%/^,]?)/.exec(
        this.text.slice(this.at, this.at + 256),
      ) ?? [];
    const singleQuotes = this.#dialect === "bash" || !inDoubleQuotes || operator !== "";
    while (this.char !== "}") {
      if (this.done) this.#lost("this brace is not closed", start);
      if (this.spanAt()) this.place(inParameter);
      else if (this.char === "'" && !singleQuotes) this.at++;
      else
        this.#readPiece(
          () => {},
          () => inParameter,
        );
    }
    this.at++;
  }

  #readBackticks(): void {
    const start = this.at++;
    while (this.char !== "`") {
      if (this.done) this.#lost("this backtick is not closed", start);
      if (this.spanAt()) this.place(inBackticks);
      else if (this.char === "\\" && !this.spanAt(this.at + 1)) this.at += 2;
      else this.at++;
    }
    this.at++;
  }

  #readComment(): void {
    const lineEnd = this.text.indexOf("\n", this.at);
    this.placeUntil(lineEnd < 0 || lineEnd > this.end ? this.end : lineEnd, inDouble);
  }

  /** The word after `<<` or `<<-`; nothing when an expression is in it. */
  #readDelimiter(): HereDocument | undefined {
    const offset = this.at;
    this.at += 2;
    const stripTabs = this.char === "-";
    if (stripTabs) this.at++;
    while (this.char === " " || this.char === "\t") this.at++;
    let delimiter = "";
    let quoted = false;
    let refused = false;
    const refusal = () => {
      refused = true;
      return inDelimiter;
    };
    while (!this.done && !/[\s;&|<>()]/.test(this.char)) {
      if (this.spanAt()) this.place(refusal());
      else if (this.char === "'" || this.char === '"') {
        const quote = this.char;
        quoted = true;
        this.at++;
        while (!this.done && this.char !== quote) {
          if (this.spanAt()) this.place(refusal());
          else delimiter += this.text[this.at++];
        }
        this.at++;
      } else if (this.char === "\\") {
        quoted = true;
        delimiter += this.text[this.at + 1] ?? "";
        this.at += 2;
      } else delimiter += this.text[this.at++];
    }
    if (refused) throw new LostTrack(offset, inDelimiter.message, inDelimiter.advice);
    return { delimiter, quoted, stripTabs, offset };
  }

  #readDocument({ delimiter, quoted, stripTabs, offset }: HereDocument): void {
    const body = this.at;
    let lineStart = body;
    let bodyEnd = -1;
    let next = -1;
    let joined = "";
    while (lineStart < this.end) {
      const newline = this.text.indexOf("\n", lineStart);
      const lineEnd = newline < 0 || newline > this.end ? this.end : newline;
      const raw = this.text.slice(lineStart, lineEnd);
      const line = joined + (stripTabs && joined === "" ? raw.replace(/^\t+/, "") : raw);
      if (line === delimiter) {
        bodyEnd = lineStart;
        next = Math.min(lineEnd + 1, this.end);
        break;
      }
      // Where things are filled in, a backslash at the end of a line joins it with the next one before they are compared.
      joined = !quoted && /(^|[^\\])(\\\\)*\\$/.test(raw) ? line.slice(0, -1) : "";
      lineStart = lineEnd + 1;
    }
    if (bodyEnd < 0) this.#lost(`the here-document has no line ${delimiter}`, offset);
    if (quoted) this.placeUntil(bodyEnd, inQuotedDocument);
    else this.#readDocumentBody(bodyEnd);
    this.at = next;
  }

  #readDocumentBody(bodyEnd: number): void {
    const outerEnd = this.end;
    this.end = bodyEnd;
    while (!this.done) {
      if (this.spanAt()) this.place(inDouble);
      else
        this.#readExpanded(
          () => {},
          () => undefined,
        );
    }
    this.end = outerEnd;
  }

  /** Refuses the expression that begins after `skip` characters. */
  #refuseNext(refusal: Refusal, skip: number): void {
    this.at += skip;
    this.place(refusal);
  }

  #lost(message: string, offset = this.at): never {
    throw new LostTrack(
      offset,
      message,
      "Correct the script there; expressions can only be placed in a script that can be followed.",
    );
  }
}

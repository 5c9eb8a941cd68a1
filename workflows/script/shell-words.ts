import type { Span } from "../expressions/template.ts";
import { Cursor, LostTrack, type Refusal } from "./placement.ts";
import { filled } from "./shell-command.ts";
import { places, refusals } from "./shell-places.ts";

export type Dialect = "bash" | "sh";

/** Takes the pieces of a word as they are read. */
export interface WordSink {
  /** @param quoted whether the piece is quoted or filled in, so that the word is no reserved word */
  grow(text: string, quoted: boolean): void;
  /** Why an expression cannot stand at the end of the word as it is now. */
  refusal(): Refusal | undefined;
}

/** Nobody needs the word: only where it ends. */
export function ignoring(refusal?: Refusal): WordSink {
  return { grow: () => {}, refusal: () => refusal };
}

/** Reads the pieces of words: quotes, expansions, substitutions. */
export abstract class ShellWords extends Cursor {
  protected readonly dialect: Dialect;

  constructor(text: string, spans: readonly Span[], dialect: Dialect) {
    super(text, spans);
    this.dialect = dialect;
  }

  /** Commands up to the closing parenthesis of what opened at `opened`, or to the end of the text. */
  protected abstract readList(opened: number | undefined): void;

  /** A quoted or plain piece of a word. */
  protected readPiece(sink: WordSink): void {
    const { char } = this;
    if (char === "\\") {
      // A backslash at the end of a line only continues it.
      if (this.text[this.at + 1] === "\n") this.at += 2;
      else this.readEscape(sink);
    } else if (char === "'") this.readSingle(sink);
    else if (char === '"') this.readDouble(sink);
    else if (char === "`") this.readBackticks(sink);
    else if (char === "$") this.readDollar(sink, false);
    else {
      sink.grow(char, false);
      this.at++;
    }
  }

  /** One character or expansion where only `\`, `$` and backticks mean something: in double quotes and here-documents. */
  protected readExpanded(sink: WordSink): void {
    const { char } = this;
    if (char === "\\") this.readEscape(sink);
    else if (char === "$") this.readDollar(sink, true);
    else if (char === "`") this.readBackticks(sink);
    else {
      sink.grow(char, true);
      this.at++;
    }
  }

  private readEscape(sink: WordSink): void {
    if (this.spanAt(this.at + 1)) this.refuseNext(refusals.backslash);
    else {
      sink.grow(this.text.slice(this.at + 1, this.at + 2), true);
      this.at += 2;
    }
  }

  private readDollar(sink: WordSink, inDoubleQuotes: boolean): void {
    if (this.startsWith("$'") && !inDoubleQuotes) this.readDollarSingle(sink);
    else if (this.startsWith('$"') && !inDoubleQuotes) {
      this.at++;
      this.readDouble(sink);
    } else {
      this.readExpansion(inDoubleQuotes);
      sink.grow(filled, true);
    }
  }

  private readExpansion(inDoubleQuotes: boolean): void {
    const start = this.at;
    if (this.spanAt(start + 1)) this.refuseNext(refusals.dollar);
    else if (this.startsWith("$((")) this.readArithmetic("$((");
    else if (this.startsWith("$(")) {
      this.at += 2;
      this.readList(start);
    } else if (this.startsWith("${")) this.readParameter(inDoubleQuotes);
    else if (this.startsWith("$[") && this.dialect === "bash") this.readBrackets();
    // `$$` and the like are variables of one character: what follows is no quote of the dollar sign.
    else this.at += /^\$[$!?#*@0-9-]/.test(this.text.slice(start, start + 2)) ? 2 : 1;
  }

  private readSingle(sink: WordSink): void {
    const start = this.at++;
    sink.grow("", true);
    while (this.char !== "'") {
      if (this.done) this.lost("this single quote is not closed", start);
      if (this.spanAt()) {
        this.place(sink.refusal() ?? places.single);
        sink.grow(filled, true);
      } else sink.grow(this.text[this.at++] ?? "", true);
    }
    this.at++;
  }

  /** `$'...'`: a backslash protects the next character. */
  private readDollarSingle(sink: WordSink): void {
    const start = this.at;
    if (this.dialect === "sh") {
      const advice = "Use printf, or run the script with bash.";
      throw new LostTrack(start, "$'...' means different things in different shells", advice);
    }
    this.at += 2;
    sink.grow("", true);
    while (this.char !== "'") {
      if (this.done) this.lost("this single quote is not closed", start);
      if (this.spanAt()) {
        this.place(sink.refusal() ?? places.dollarSingle);
        sink.grow(filled, true);
      } else if (this.char === "\\") this.readEscape(sink);
      else sink.grow(this.text[this.at++] ?? "", true);
    }
    this.at++;
  }

  private readDouble(sink: WordSink): void {
    const start = this.at++;
    sink.grow("", true);
    while (this.char !== '"') {
      if (this.done) this.lost("this double quote is not closed", start);
      if (this.spanAt()) {
        this.place(sink.refusal() ?? places.double);
        sink.grow(filled, true);
      } else this.readExpanded(sink);
    }
    this.at++;
  }

  private readBackticks(sink: WordSink): void {
    const start = this.at++;
    while (this.char !== "`") {
      if (this.done) this.lost("this backtick is not closed", start);
      if (this.spanAt()) this.place(refusals.backticks);
      else if (this.char === "\\" && !this.spanAt(this.at + 1)) this.at += 2;
      else this.at++;
    }
    this.at++;
    sink.grow(filled, true);
  }

  /** `((...))` or `$((...))`. One that could also be a subshell in parentheses is not guessed at. */
  protected readArithmetic(opening: "((" | "$(("): void {
    const start = this.at;
    this.at += opening.length;
    for (let depth = 0; ; ) {
      if (this.done) this.lost("this calculation is not closed", start);
      if (this.spanAt()) this.place(refusals.arithmetic);
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
      } else this.readPiece(ignoring(refusals.arithmetic));
    }
  }

  /** `$[...]`, the old form of `$((...))`. */
  private readBrackets(): void {
    const start = this.at;
    this.at += 2;
    for (let depth = 1; depth > 0; ) {
      if (this.done) this.lost("this calculation is not closed", start);
      if (this.spanAt()) this.place(refusals.arithmetic);
      else if (this.char === "[" || this.char === "]") depth += this.text[this.at++] === "[" ? 1 : -1;
      else this.readPiece(ignoring(refusals.arithmetic));
    }
  }

  /**
   * `${...}`. Inside double quotes, `"${x:-it's}"`, a single quote is plain text in POSIX shells, except in the operators that take a
   * pattern; bash wants it closed.
   */
  private readParameter(inDoubleQuotes: boolean): void {
    const start = this.at;
    this.at += 2;
    const takesPattern = parameterWithPattern.test(this.text.slice(this.at, this.at + 256));
    const singleQuotes = this.dialect === "bash" || !inDoubleQuotes || takesPattern;
    while (this.char !== "}") {
      if (this.done) this.lost("this brace is not closed", start);
      if (this.spanAt()) this.place(refusals.parameter);
      else if (this.char === "'" && !singleQuotes) this.at++;
      else this.readPiece(ignoring(refusals.parameter));
    }
    this.at++;
  }

  protected readComment(): void {
    const lineEnd = this.text.indexOf("\n", this.at);
    this.placeUntil(lineEnd < 0 ? this.end : Math.min(lineEnd, this.end), places.double);
  }

  /** Refuses the expression that begins behind this character. */
  private refuseNext(refusal: Refusal): void {
    this.at++;
    this.place(refusal);
  }

  protected lost(message: string, offset = this.at): never {
    const advice = "Correct the script there; expressions can only be placed in a script that can be followed.";
    throw new LostTrack(offset, message, advice);
  }
}

/** A name, perhaps with an index, and an operator that takes a pattern. */
const parameterWithPattern = /^[!#]?(?:[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-])(?:\[[^\]]*\])?[#%/^,]/;

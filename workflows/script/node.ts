import type { Span } from "../expressions/template.ts";
import { Cursor, LostTrack, type Placement, placed, type Refusal } from "./placement.ts";

const inCode: Placement = { write: (name) => `process.env["${name}"]` };
const inTemplate: Placement = { write: (name) => `\${process.env["${name}"]}` };

const inString: Refusal = {
  message: "an expression cannot stand inside a JavaScript string in quotes",
  advice: "Leave the quotes away: the value is a string already. Join it with other text in a template: `text ...`.",
};
const inRegExp: Refusal = {
  message: "an expression cannot stand inside a regular expression",
  advice: "Use new RegExp(...), and take care that the value is one.",
};
const afterBackslash: Refusal = {
  message: "a backslash stands directly before the expression",
  advice: "Write two backslashes for one.",
};

/** Words after which a slash begins a regular expression. */
const beforeRegExp = new Set(
  "return typeof instanceof in of new delete void throw case do else yield await".split(" "),
);

/**
 * Places expressions in JavaScript: in code the value is the string `process.env[...]`, in a template it is filled in. Strings in
 * quotes and regular expressions are refused.
 */
export function placeInNode(text: string, spans: readonly Span[]): readonly Placement[] | LostTrack {
  const reader = new NodeReader(text, spans);
  return placed(reader, () => reader.readCode());
}

class NodeReader extends Cursor {
  /** The last word or sign of code: tells a division from a regular expression. */
  #last = "";

  /** Code to the end of the text, or to the brace that closes what opened at `opened`. */
  readCode(opened?: number): void {
    for (let depth = 0; ; ) {
      if (this.done) {
        if (opened === undefined) return;
        throw new LostTrack(opened, "this brace is not closed", "Correct the script there.");
      }
      if (opened !== undefined && this.char === "}" && depth === 0) {
        this.at++;
        return;
      }
      if (!this.spanAt() && this.char === "{") depth++;
      else if (this.char === "}") depth--;
      this.#readPiece();
    }
  }

  #readPiece(): void {
    const { char } = this;
    if (this.spanAt()) {
      this.place(inCode);
      this.#last = ")";
    } else if (this.startsWith("//")) this.#readComment("\n", 0);
    else if (this.startsWith("/*")) this.#readComment("*/", 2);
    else if (char === '"' || char === "'") this.#readString(char);
    else if (char === "`") this.#readTemplate();
    else if (char === "/" && this.#regExpHere()) this.#readRegExp();
    else if (/[\p{L}\p{N}_$]/u.test(char)) {
      const start = this.at;
      while (!this.done && !this.spanAt() && /[\p{L}\p{N}_$]/u.test(this.char)) this.at++;
      this.#last = this.text.slice(start, this.at);
    } else {
      if (!/\s/.test(char)) this.#last = char;
      this.at++;
    }
  }

  #readComment(close: string, extra: number): void {
    const found = this.text.indexOf(close, this.at + 2);
    this.placeUntil(found < 0 ? this.end : found + extra, inCode);
  }

  #readString(quote: string): void {
    const start = this.at++;
    while (this.char !== quote) {
      if (this.done || this.char === "\n") {
        throw new LostTrack(start, "this string is not closed", "Correct the script there.");
      }
      if (this.spanAt()) this.place(inString);
      else if (this.char === "\\" && !this.spanAt(this.at + 1)) this.at += 2;
      else this.at++;
    }
    this.at++;
    this.#last = ")";
  }

  #readTemplate(): void {
    const start = this.at++;
    while (this.char !== "`") {
      if (this.done) throw new LostTrack(start, "this template is not closed", "Correct the script there.");
      if (this.spanAt()) this.place(inTemplate);
      else if (this.char === "\\") {
        if (this.spanAt(this.at + 1)) {
          this.at++;
          this.place(afterBackslash);
        } else this.at += 2;
      } else if (this.startsWith("${")) {
        this.at += 2;
        this.#last = "{";
        this.readCode(start);
      } else this.at++;
    }
    this.at++;
    this.#last = ")";
  }

  /** A slash divides after a value and begins a regular expression elsewhere. */
  #regExpHere(): boolean {
    if (beforeRegExp.has(this.#last)) return true;
    return !/[\p{L}\p{N}_$)\]}]$/u.test(this.#last);
  }

  #readRegExp(): void {
    const start = this.at++;
    for (let inClass = false; inClass || this.char !== "/"; ) {
      if (this.done || this.char === "\n") {
        throw new LostTrack(start, "this regular expression is not closed", "Correct the script there.");
      }
      if (this.spanAt()) {
        this.place(inRegExp);
        continue;
      }
      if (this.char === "[") inClass = true;
      else if (this.char === "]") inClass = false;
      this.at += this.char === "\\" && !this.spanAt(this.at + 1) ? 2 : 1;
    }
    this.at++;
    this.#last = ")";
  }
}

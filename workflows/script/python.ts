import type { Span } from "../expressions/template.ts";
import { Cursor, LostTrack, type Placement, placed, type Refusal } from "./placement.ts";

/** Valid wherever Python takes a value; needs no import. */
const inCode: Placement = { write: (name) => `__import__("os").environ["${name}"]` };

/** A comment ends with its line, and the reference has no line break. */
const inComment = inCode;

const inString: Refusal = {
  message: "an expression cannot stand inside a Python string",
  advice: 'Leave the quotes away: the value is a string already. Join it with other text by +: "v" + EXPRESSION.',
};

const stringStart = /[rRbBuUfFtT]{0,2}("""|'''|"|')/y;

/**
 * Places expressions in Python: in code the value is a string, `os.environ[...]`. Strings are refused, formatted ones too: their
 * text would need another spelling of the value than their code.
 */
export function placeInPython(text: string, spans: readonly Span[]): readonly Placement[] | LostTrack {
  const reader = new PythonReader(text, spans);
  return placed(reader, () => reader.readCode());
}

class PythonReader extends Cursor {
  readCode(): void {
    while (!this.done) this.#readPiece(inCode);
  }

  #readPiece(placement: Placement): void {
    if (this.spanAt()) this.place(placement);
    else if (this.char === "#") {
      const lineEnd = this.text.indexOf("\n", this.at);
      this.placeUntil(lineEnd < 0 ? this.end : lineEnd, inComment);
    } else if (this.#stringHere()) this.#readString();
    else if (/[\p{L}\p{N}_]/u.test(this.char)) {
      while (!this.done && !this.spanAt() && /[\p{L}\p{N}_]/u.test(this.char)) this.at++;
    } else this.at++;
  }

  /** Whether a string begins here. Names are read as a whole, so a prefix is never the end of a name. */
  #stringHere(): boolean {
    stringStart.lastIndex = this.at;
    return stringStart.test(this.text);
  }

  #readString(): void {
    const start = this.at;
    stringStart.lastIndex = start;
    const [whole = "", quote = ""] = stringStart.exec(this.text) ?? [];
    const formatted = /[fFtT]/.test(whole.slice(0, -quote.length));
    this.at += whole.length;
    while (!this.startsWith(quote)) {
      if (this.done || (quote.length === 1 && this.char === "\n")) {
        throw new LostTrack(start, "this string is not closed", "Correct the script there.");
      }
      if (this.spanAt()) this.place(inString);
      else if (this.char === "\\" && !this.spanAt(this.at + 1)) this.at += 2;
      else if (formatted && this.startsWith("{{")) this.at += 2;
      else if (formatted && this.char === "{") this.#readField(start);
      else this.at++;
    }
    this.at += quote.length;
  }

  /** `{...}` in a formatted string: code, in which the same quotes may stand again. */
  #readField(start: number): void {
    this.at++;
    for (let depth = 1; depth > 0; ) {
      if (this.done) throw new LostTrack(start, "this string is not closed", "Correct the script there.");
      if (this.char === "{") depth++;
      else if (this.char === "}") depth--;
      if (/[{}]/.test(this.char) && !this.spanAt()) this.at++;
      else this.#readPiece(inString);
    }
  }
}

import { LostTrack } from "./placement.ts";
import type { ShellCommand } from "./shell-command.ts";
import { places, refusals } from "./shell-places.ts";
import { ignoring, ShellWords } from "./shell-words.ts";

/** A here-document that has been announced by `<<`; its text begins on the next line. */
export interface HereDocument {
  readonly delimiter: string;
  /** Nothing is filled in when any part of the delimiter is quoted. */
  readonly quoted: boolean;
  /** `<<-`: tabs at the beginning of lines do not count. */
  readonly stripTabs: boolean;
  /** Where it was announced. */
  readonly offset: number;
  /** The command that reads it; complete once the text begins. */
  readonly command: ShellCommand;
}

/** Reads here-documents. */
export abstract class ShellDocuments extends ShellWords {
  /** The operator `<<` or `<<-` and the word behind it. */
  protected readDelimiter(command: ShellCommand): HereDocument {
    const offset = this.at;
    this.at += 2;
    const stripTabs = this.char === "-";
    if (stripTabs) this.at++;
    while (this.char === " " || this.char === "\t") this.at++;
    const start = this.at;
    let delimiter = "";
    while (!this.done && !/[\s;&|<>()]/.test(this.char)) {
      if (this.spanAt()) throw new LostTrack(this.at, refusals.delimiter.message, refusals.delimiter.advice);
      if (this.char === "'" || this.char === '"') delimiter += this.readQuotedDelimiter(this.char);
      else {
        if (this.char === "\\") this.at++;
        delimiter += this.text[this.at++] ?? "";
      }
    }
    const quoted = /['"\\]/.test(this.text.slice(start, this.at));
    return { delimiter, quoted, stripTabs, offset, command };
  }

  private readQuotedDelimiter(quote: string): string {
    const start = ++this.at;
    while (!this.done && this.char !== quote) {
      if (this.spanAt()) throw new LostTrack(this.at, refusals.delimiter.message, refusals.delimiter.advice);
      this.at++;
    }
    return this.text.slice(start, this.at++);
  }

  /** The text of a here-document, from the beginning of its first line to behind its last. */
  protected readDocument(document: HereDocument): void {
    const { bodyEnd, next } = this.endOf(document);
    const refusal = document.command.inputRefusal();
    if (document.quoted) this.placeUntil(bodyEnd, refusals.quotedDocument);
    else {
      const outerEnd = this.end;
      this.end = bodyEnd;
      while (!this.done) {
        if (this.spanAt()) this.place(refusal ?? places.double);
        else this.readExpanded(ignoring());
      }
      this.end = outerEnd;
    }
    this.at = next;
  }

  /** Lines are compared as they stand, whatever substitution is open in the text: as bash does. */
  private endOf({ delimiter, quoted, stripTabs, offset }: HereDocument): { bodyEnd: number; next: number } {
    let joined = "";
    for (let lineStart = this.at; lineStart < this.end; ) {
      const newline = this.text.indexOf("\n", lineStart);
      const lineEnd = newline < 0 ? this.end : Math.min(newline, this.end);
      const raw = this.text.slice(lineStart, lineEnd);
      const line = joined + (stripTabs && joined === "" ? raw.replace(/^\t+/, "") : raw);
      if (line === delimiter) return { bodyEnd: lineStart, next: Math.min(lineEnd + 1, this.end) };
      // Where things are filled in, a backslash at the end of a line joins it with the next one before they are compared.
      joined = !quoted && /(^|[^\\])(\\\\)*\\$/.test(raw) ? line.slice(0, -1) : "";
      lineStart = lineEnd + 1;
    }
    return this.lost(`the here-document has no line ${delimiter}`, offset);
  }
}

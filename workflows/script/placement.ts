import type { Span } from "../expressions/template.ts";

/** How an expression is written at its place in a script, or why it cannot stand there. */
export type Placement = { readonly write: (variable: string) => string } | Refusal;

export interface Refusal {
  readonly message: string;
  readonly advice: string;
}

/** The script cannot be followed, so that no place in it is certain. Thrown inside a reader, returned by its placer. */
export class LostTrack extends Error {
  override readonly name = "LostTrack";
  readonly offset: number;
  readonly advice: string;

  constructor(offset: number, message: string, advice: string) {
    super(message);
    this.offset = offset;
    this.advice = advice;
  }
}

/** Reads a script of one language and answers for each expression, in order, or that it cannot follow the script. */
export type Placer = (text: string, spans: readonly Span[]) => readonly Placement[] | LostTrack;

/** Walks through a text that has expressions in it. Readers of languages build on it. */
export class Cursor {
  readonly text: string;
  readonly placements: Placement[] = [];
  readonly #spans: readonly Span[];
  /** Offset of the next character to read, and of the end of what may be read now. */
  at = 0;
  end: number;

  constructor(text: string, spans: readonly Span[]) {
    this.text = text;
    this.end = text.length;
    this.#spans = spans;
  }

  /** The next character; empty at the end. */
  get char(): string {
    return this.at < this.end ? (this.text[this.at] ?? "") : "";
  }

  /** Whether every expression has its answer. */
  get complete(): boolean {
    return this.placements.length === this.#spans.length;
  }

  get done(): boolean {
    return this.at >= this.end;
  }

  startsWith(text: string): boolean {
    return this.at + text.length <= this.end && this.text.startsWith(text, this.at);
  }

  /** Whether an expression begins at the offset. Expressions are met in order. */
  spanAt(offset = this.at): boolean {
    return this.#spans[this.placements.length]?.start === offset;
  }

  /** Whether the next expression lies before the offset. */
  spanBefore(offset: number): boolean {
    const span = this.#spans[this.placements.length];
    return span !== undefined && span.start < offset;
  }

  /** Answers for the expression that begins here and goes on behind it. */
  place(placement: Placement): void {
    const span = this.#spans[this.placements.length];
    if (span?.start !== this.at)
      throw new LostTrack(this.at, "an expression was overlooked", "Report this script as a bug.");
    this.placements.push(placement);
    this.at = span.end;
  }

  /** Answers the same for all expressions up to the offset and goes there. */
  placeUntil(offset: number, placement: Placement): void {
    while (this.spanBefore(offset)) {
      this.at = this.#spans[this.placements.length]?.start ?? offset;
      this.place(placement);
    }
    this.at = Math.max(this.at, offset);
  }
}

/** Runs a reader and turns the loss of its way into an answer. */
export function placed(cursor: Cursor, read: () => void): readonly Placement[] | LostTrack {
  try {
    read();
    if (cursor.complete) return cursor.placements;
    return new LostTrack(
      cursor.at,
      "an expression stands at a place that cannot be understood",
      "Move it to another place.",
    );
  } catch (error) {
    if (error instanceof LostTrack) return error;
    if (error instanceof RangeError) return new LostTrack(0, "the script is nested too deeply", "Split the script.");
    throw error;
  }
}

/** One `${{ ... }}` in a text. Offsets are UTF-16 units from the beginning of the text. */
export interface Span {
  /** Where `${{` begins and where `}}` ends. */
  readonly start: number;
  readonly end: number;
  /** The expression between the braces, as written. */
  readonly source: string;
  /** Offset of `source` in the text. */
  readonly sourceStart: number;
}

export type SplitResult =
  | { readonly ok: true; readonly spans: readonly Span[] }
  | { readonly ok: false; readonly offset: number; readonly message: string };

const opening = "${{";

/** Finds the expressions of a text. `}}` inside the quotes of a string of the expression does not end it. */
export function splitTemplate(text: string): SplitResult {
  const spans: Span[] = [];
  for (let start = text.indexOf(opening); start >= 0; ) {
    const sourceStart = start + opening.length;
    const close = closingOf(text, sourceStart);
    if (close < 0) return { ok: false, offset: start, message: "this expression is not closed with }}" };
    spans.push({ start, end: close + 2, source: text.slice(sourceStart, close), sourceStart });
    start = text.indexOf(opening, close + 2);
  }
  return { ok: true, spans };
}

/** Offset of the `}}` that ends the expression, or -1. A doubled quote leaves a string and enters it again, which is the same. */
function closingOf(text: string, from: number): number {
  let quoted = false;
  for (let i = from; i < text.length; i++) {
    if (text[i] === "'") quoted = !quoted;
    else if (!quoted && text[i] === "}" && text[i + 1] === "}") return i;
  }
  return -1;
}

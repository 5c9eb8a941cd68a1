import { minPatternBytes, PatternIndex } from "./pattern-index.ts";

/** What stands in the log in place of a secret. */
export const mask = "***";

/** Shorter values are not masked: they are part of ordinary words, and the log would be unreadable. */
export const minSecretBytes = minPatternBytes;

const maskBytes = Buffer.from(mask);

/**
 * The texts to look for in a set of secret values: their lines, because output is read line by line (a key that is printed
 * with a prefix before each line is still found), each once, the longest first.
 */
export function secretPatterns(values: Iterable<string | Uint8Array>): readonly Buffer[] {
  const patterns = new Map<string, Buffer>();
  for (const value of values) {
    // latin1 keeps every byte of values that are not text.
    for (const line of Buffer.from(value as string)
      .toString("latin1")
      .split(/\r?\n/)) {
      if (line.length >= minSecretBytes) patterns.set(line, Buffer.from(line, "latin1"));
    }
  }
  return [...patterns.values()].sort((a, b) => b.length - a.length);
}

interface Span {
  start: number;
  end: number;
}

/**
 * Replaces secrets in one stream of output, also where chunks or overlapping secrets divide them. The end of a chunk that may be
 * the beginning of a secret is held back until the next chunk or the end decides; patterns have no newline, so whole lines
 * are never held back.
 */
export class Masker {
  readonly #patterns: PatternIndex;
  readonly #onMask: (shown: number, taken: number) => void;
  /** Bytes given out, and bytes of the input that they stand for. */
  #shown = 0;
  #taken = 0;
  #held: Buffer = Buffer.alloc(0);
  /** So many of the held bytes belong to a secret whose mask is written already. */
  #masked = 0;

  /** @param onMask called after each mask: so many bytes have been given out, and stand for so many of the input */
  constructor(patterns: readonly Buffer[], onMask: (shown: number, taken: number) => void = () => {}) {
    this.#patterns = new PatternIndex(patterns);
    this.#onMask = onMask;
  }

  /** Bytes that may be the beginning of a secret. */
  get heldBytes(): number {
    return this.#held.length;
  }

  /** Takes a chunk; returns what can be shown now. */
  push(chunk: Uint8Array): Uint8Array {
    if (this.#patterns.longest === 0) return chunk;
    const data = Buffer.concat([this.#held, chunk]);
    return this.#show(data, this.#patterns.openFrom(data));
  }

  /** The rest, at the end of the stream. */
  end(): Uint8Array {
    return this.#show(this.#held, this.#held.length);
  }

  #show(data: Buffer, until: number): Uint8Array {
    const parts: Uint8Array[] = [];
    let at = 0;
    let masked = this.#masked - until;
    for (const { start, end } of this.#spans(data)) {
      if (start >= until) break;
      parts.push(data.subarray(at, start));
      this.#shown += start - at;
      if (start > 0 || this.#masked === 0) {
        parts.push(maskBytes);
        this.#shown += maskBytes.length;
      }
      at = Math.min(end, until);
      this.#onMask(this.#shown, this.#taken + at);
      masked = end - until;
    }
    parts.push(data.subarray(at, until));
    this.#shown += until - at;
    this.#taken += until;
    this.#held = data.subarray(until);
    this.#masked = Math.max(0, masked);
    return Buffer.concat(parts);
  }

  /** All places of secrets, overlapping ones joined, in order. */
  #spans(data: Buffer): Span[] {
    const found: Span[] = this.#masked > 0 ? [{ start: 0, end: this.#masked }] : [];
    this.#patterns.find(data, (start, end) => found.push({ start, end }));
    found.sort((a, b) => a.start - b.start || b.end - a.end);
    const joined: Span[] = [];
    for (const span of found) {
      const last = joined.at(-1);
      if (last !== undefined && span.start < last.end) last.end = Math.max(last.end, span.end);
      else joined.push(span);
    }
    return joined;
  }
}

/** Bytes by which patterns are told apart; none is shorter. */
export const minPatternBytes = 3;

/** The first {@link minPatternBytes} bytes from there as one number. */
const startOf = (data: Buffer, at: number) =>
  ((data[at] as number) << 16) | ((data[at + 1] as number) << 8) | (data[at + 2] as number);

/**
 * Patterns by how they begin: the time to search output does not grow with their number, as one Secret (a bundle of
 * certificates) can have thousands of lines.
 */
export class PatternIndex {
  readonly longest: number;
  readonly #all: readonly Buffer[];
  /** Whether any begins with that byte: one look rules out most places. */
  readonly #firstBytes = new Uint8Array(256);
  readonly #byStart = new Map<number, Buffer[]>();

  /** @param patterns of {@link minPatternBytes} bytes or more */
  constructor(patterns: readonly Buffer[]) {
    this.#all = patterns;
    this.longest = patterns.reduce((longest, { length }) => Math.max(longest, length), 0);
    for (const pattern of patterns) {
      this.#firstBytes[pattern[0] ?? 0] = 1;
      const start = startOf(pattern, 0);
      const same = this.#byStart.get(start);
      if (same === undefined) this.#byStart.set(start, [pattern]);
      else same.push(pattern);
    }
  }

  /** Calls `onFound` for every place of a pattern in the data, in the order of their starts. */
  find(data: Buffer, onFound: (start: number, end: number) => void): void {
    const first = this.#firstBytes;
    const last = data.length - minPatternBytes;
    // Nearly all of the time goes by in this loop: nothing is called for a byte that begins no pattern.
    for (let at = 0; at <= last; at++) {
      if (first[data[at] as number] === 0) continue;
      const candidates = this.#byStart.get(startOf(data, at));
      if (candidates === undefined) continue;
      for (const pattern of candidates) {
        const end = at + pattern.length;
        if (end <= data.length && pattern.compare(data, at, end) === 0) onFound(at, end);
      }
    }
  }

  /** The first place at which a pattern begins that goes on after the end of the data; the end when there is none. */
  openFrom(data: Buffer): number {
    for (let at = Math.max(0, data.length - this.longest + 1); at < data.length; at++) {
      if (this.#firstBytes[data[at] as number] === 0) continue;
      const rest = data.length - at;
      const candidates = rest < minPatternBytes ? this.#all : (this.#byStart.get(startOf(data, at)) ?? []);
      for (const pattern of candidates) {
        if (pattern.length > rest && pattern.compare(data, at, data.length, 0, rest) === 0) return at;
      }
    }
    return data.length;
  }
}

import type { StoredAt } from "./position.ts";
import type { StoredLine } from "./stored-lines.ts";

/** Records that arrived together. */
export interface Chunk {
  readonly lines: readonly StoredLine[];
  /** The place after them. */
  readonly end: StoredAt | undefined;
  /** What they take in memory. */
  readonly bytes: number;
  readonly byRun: ReadonlyMap<string, readonly StoredLine[]>;
}

/** Where one reader of a {@link Backlog} is. */
export interface Reader {
  /** Number of the chunk to read next. */
  next: number;
}

/**
 * Chunks of a stream that not all of its readers have taken yet. The fastest reader says how far it goes; whoever is more than a
 * certain number of bytes behind is left behind.
 */
export class Backlog {
  readonly #readers = new Set<Reader>();
  #chunks: Chunk[] = [];
  /** Number of the first chunk that is kept. */
  #first = 0;
  #bytes = 0;
  #start: StoredAt | undefined;
  #end: StoredAt | undefined;

  constructor(start: StoredAt | undefined) {
    this.#start = start;
    this.#end = start;
  }

  /** The place before the first chunk that is kept, and after the last; undefined: the beginning of the log. */
  get start(): StoredAt | undefined {
    return this.#start;
  }

  get end(): StoredAt | undefined {
    return this.#end;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** A new reader, of everything that is kept. */
  join(): Reader {
    const reader = { next: this.#first };
    this.#readers.add(reader);
    return reader;
  }

  leave(reader: Reader): void {
    this.#readers.delete(reader);
    this.#trim();
  }

  /** @param maxBytes what is kept at most, but for the newest chunk */
  push(lines: readonly StoredLine[], bytes: number, maxBytes: number): void {
    const byRun = new Map<string, StoredLine[]>();
    for (const line of lines) {
      const own = byRun.get(line.run);
      if (own === undefined) byRun.set(line.run, [line]);
      else own.push(line);
    }
    const end = lines.at(-1) ?? this.#end;
    this.#end = end;
    this.#chunks.push({ lines, end, bytes, byRun });
    this.#bytes += bytes;
    while (this.#bytes > maxBytes && this.#chunks.length > 1) this.#drop();
  }

  /** The next chunk for a reader; undefined when it has them all, "lost" when it was left behind. */
  take(reader: Reader): Chunk | "lost" | undefined {
    if (reader.next < this.#first) return "lost";
    const chunk = this.#chunks[reader.next - this.#first];
    if (chunk === undefined) return undefined;
    reader.next++;
    this.#trim();
    return chunk;
  }

  /** Whether there is something that the reader has not taken. */
  hasMoreFor({ next }: Reader): boolean {
    return next < this.#first + this.#chunks.length;
  }

  /** Whether a reader waits for what is to come. */
  get hasReaderAtEnd(): boolean {
    const end = this.#first + this.#chunks.length;
    for (const { next } of this.#readers) if (next === end) return true;
    return false;
  }

  /** Lets go of what all have taken. */
  #trim(): void {
    let slowest = this.#first + this.#chunks.length;
    for (const { next } of this.#readers) slowest = Math.min(slowest, next);
    while (this.#first < slowest) this.#drop();
  }

  #drop(): void {
    const chunk = this.#chunks.shift();
    if (chunk === undefined) return;
    this.#first++;
    this.#bytes -= chunk.bytes;
    this.#start = chunk.end;
  }
}

import { After } from "./after.ts";
import { type StoredAt, secondOf } from "./position.ts";
import { NoSuchLogError, type StoredRange } from "./source.ts";
import { type StoredLine, StoredLines } from "./stored-lines.ts";

/** {@link openStored} for one Pod. */
export type OpenStored = (range: StoredRange) => Promise<AsyncIterable<Buffer>>;

/**
 * What the node keeps of an agent's log, from a place to the end there is now: of the run of the container before its last
 * restart, then of the one that runs. Older ones the node has deleted.
 */
export class History {
  readonly #open: OpenStored;
  readonly #from: StoredAt | undefined;
  readonly #restarted: boolean;
  readonly #after: After;

  /** @param restarted whether there is a run of the container before this one */
  constructor(open: OpenStored, from: StoredAt | undefined, restarted: boolean) {
    this.#open = open;
    this.#from = from;
    this.#restarted = restarted;
    this.#after = new After(from);
  }

  /** Whether the place was reached. */
  get passed(): boolean {
    return this.#after.passed;
  }

  /** Whether nothing is missing between the place and the first line that {@link read} gave. */
  get exact(): boolean {
    return this.#after.exact;
  }

  /** Records as they arrive; an empty list tells that other lines were read. */
  async *read(): AsyncGenerator<readonly StoredLine[]> {
    let last = this.#from;
    for (const previous of this.#restarted ? [true, false] : [false]) {
      // While a container waits to be started again, both are the same log.
      const after = this.#after.passed ? new After(last) : this.#after;
      for await (const lines of stored(this.#open, { previous, sinceTime: this.#from && secondOf(this.#from) })) {
        last = lines.at(-1) ?? last;
        yield after.take(lines);
      }
    }
  }
}

/** The records of one log; none where there is no such log. */
export async function* stored(open: OpenStored, range: StoredRange): AsyncGenerator<readonly StoredLine[]> {
  const lines = new StoredLines();
  for await (const piece of await orNone(open(range))) yield lines.push(piece);
}

export async function orNone(opening: Promise<AsyncIterable<Buffer>>): Promise<AsyncIterable<Buffer>> {
  try {
    return await opening;
  } catch (error) {
    if (error instanceof NoSuchLogError) return none();
    throw error;
  }
}

async function* none(): AsyncGenerator<Buffer> {}

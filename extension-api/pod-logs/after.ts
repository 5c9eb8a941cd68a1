import { compareStored, type StoredAt } from "./position.ts";
import type { StoredLine } from "./stored-lines.ts";

/**
 * Leaves out what is stored up to a place. Once that place was passed everything is let through, so that a clock that is set
 * back costs nothing.
 */
export class After {
  readonly #at: StoredAt | undefined;
  #passed: boolean;
  #exact = false;

  /** @param at undefined: the beginning */
  constructor(at: StoredAt | undefined) {
    this.#at = at;
    this.#passed = at === undefined;
  }

  /** Whether the place was reached. */
  get passed(): boolean {
    return this.#passed;
  }

  /** Whether the very record was met after which to go on: then nothing is missing. */
  get exact(): boolean {
    return this.#exact || this.#at === undefined;
  }

  take(lines: readonly StoredLine[]): readonly StoredLine[] {
    if (this.#passed || this.#at === undefined) return lines;
    for (const [index, line] of lines.entries()) {
      const order = compareStored(line, this.#at);
      if (order < 0) continue;
      this.#passed = true;
      this.#exact = order === 0;
      return lines.slice(order === 0 ? index + 1 : index);
    }
    return [];
  }
}

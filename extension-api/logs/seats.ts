import type { Cancel } from "#kube/ports.ts";
import { tooMany } from "./errors.ts";

/** At most so many at a time; who comes later is told to come again (429). */
export class Seats {
  readonly #what: string;
  readonly #limit: number;
  #taken = 0;

  constructor(what: string, limit: number) {
    this.#what = what;
    this.#limit = limit;
  }

  get taken(): number {
    return this.#taken;
  }

  /** @returns gives the seat back; calling it again does nothing. */
  take(): Cancel {
    if (this.#taken >= this.#limit)
      throw tooMany(`${this.#limit} ${this.#what} are open already; try again in a moment`);
    this.#taken++;
    let held = true;
    return () => {
      if (held) this.#taken--;
      held = false;
    };
  }
}

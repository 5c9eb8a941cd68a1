interface Held {
  readonly point: string;
  pass(): void;
  fail(error: Error): void;
}

/** Holds calls of ports until they are let go, so that an effect stays under way for as long as a path needs it to. */
export class Gates {
  readonly #closed = new Set<string>();
  #held: Held[] = [];

  /** Every call of a point that begins with `prefix` waits from now on. */
  close(...prefixes: readonly string[]): void {
    for (const prefix of prefixes) this.#closed.add(prefix);
  }

  /** Lets the calls that wait go on, and those to come. */
  open(...prefixes: readonly string[]): void {
    for (const prefix of prefixes) this.#closed.delete(prefix);
    this.#release((held) => held.pass());
  }

  /** Lets the calls that wait go on; those to come wait. */
  letOn(prefix: string): void {
    this.#closed.delete(prefix);
    this.#release((held) => held.pass());
    this.#closed.add(prefix);
  }

  /** Lets the calls that wait fail, and those to come pass. */
  fail(prefix: string, error: Error): void {
    this.#closed.delete(prefix);
    this.#release((held) => held.fail(error));
  }

  /** How many calls wait at points that begin with `prefix`. */
  waiting(prefix: string): number {
    return this.#held.filter(({ point }) => point.startsWith(prefix)).length;
  }

  /** What a port calls before it does anything. */
  pass(point: string): Promise<void> | undefined {
    if (!this.#isClosed(point)) return undefined;
    return new Promise((resolve, reject) => this.#held.push({ point, pass: resolve, fail: reject }));
  }

  #isClosed(point: string): boolean {
    return [...this.#closed].some((prefix) => point.startsWith(prefix));
  }

  #release(how: (held: Held) => void): void {
    const free = this.#held.filter(({ point }) => !this.#isClosed(point));
    this.#held = this.#held.filter((held) => !free.includes(held));
    for (const held of free) how(held);
  }
}

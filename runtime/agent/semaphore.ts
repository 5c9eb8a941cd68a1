/** Lets at most `size` pieces of work run at a time, in the order in which they came. */
export class Semaphore {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(size: number) {
    this.#free = size;
  }

  /**
   * Runs `work` when there is a place. An aborted signal gives the place up before it was taken.
   * @param work gets a function that keeps the place, beyond its own end, until a promise has settled
   */
  async run<T>(work: (hold: (promise: Promise<unknown>) => void) => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#take(signal);
    let holders = 1;
    const leave = () => {
      holders--;
      if (holders === 0) this.#leave();
    };
    try {
      return await work((promise) => {
        holders++;
        promise.then(leave, leave);
      });
    } finally {
      leave();
    }
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free++;
    else next();
  }

  #take(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free--;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const enter = () => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(enter), 1);
        reject(signal.reason);
      };
      this.#waiting.push(enter);
      signal.addEventListener("abort", leave, { once: true });
    });
  }
}

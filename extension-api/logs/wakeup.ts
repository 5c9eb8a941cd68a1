/** Lets one waiter sleep until something has happened. What happens between `reset` and `wait` is not missed. */
export class Wakeup {
  #happened = false;
  #resolve: (() => void) | undefined;

  /** Something has happened. */
  readonly wake = (): void => {
    this.#happened = true;
    this.#resolve?.();
    this.#resolve = undefined;
  };

  reset(): void {
    this.#happened = false;
  }

  /** Resolves when something has happened since the last reset. */
  wait(): Promise<void> {
    if (this.#happened) return Promise.resolve();
    return new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }
}

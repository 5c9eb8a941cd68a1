import type { ApiStatus, WatchEvent } from "#api/meta.ts";
import type { StoredObject } from "./types.ts";

/** An event on its way to a reader. */
export type ServerEvent = WatchEvent<StoredObject>;

interface Waiter {
  resolve(result: IteratorResult<ServerEvent>): void;
  reject(error: Error): void;
}

/**
 * The queue between the server and one reader of a watch. The server never waits for a reader: when the buffer is
 * full the watch is closed, and the reader must list or resume, as with the real server.
 */
export class EventQueue implements AsyncIterableIterator<ServerEvent> {
  readonly #limit: number;
  readonly #onClose: () => void;
  /** Read from `#head` on: shifting a long array for each event would cost as much as sending it. */
  #events: ServerEvent[] = [];
  #head = 0;
  /** Calls of `next` that wait, oldest first. */
  readonly #waiting: Waiter[] = [];
  #closed = false;
  #preloaded = 0;
  #error: Error | undefined;

  /**
   * @param limit events that may wait; beyond it the watch ends.
   * @param onClose called once when no more events will be taken.
   */
  constructor(limit: number, onClose: () => void) {
    this.#limit = limit;
    this.#onClose = onClose;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Events that were there before the watch; they do not count against the limit. */
  preload(events: readonly ServerEvent[]): void {
    for (const event of events) this.#events.push(event);
    this.#preloaded += events.length;
  }

  /** Hands an event to the reader, or keeps it; closes the watch instead when the buffer is full. */
  push(event: ServerEvent): void {
    if (this.#closed) return;
    const waiter = this.#waiting.shift();
    if (waiter !== undefined) waiter.resolve({ done: false, value: event });
    else if (this.#events.length - this.#head >= this.#limit + this.#preloaded) this.close();
    else this.#events.push(event);
  }

  /** Sends a last ERROR event and ends. */
  fail(status: ApiStatus): void {
    this.push({ type: "ERROR", object: status });
    this.close();
  }

  /** Ends after what is buffered; with an error the reader's next call after that throws it. */
  close(error?: Error): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#onClose();
    const [first, ...others] = this.#waiting.splice(0);
    if (first === undefined) this.#error = error;
    else if (error === undefined) first.resolve({ done: true, value: undefined });
    else first.reject(error);
    for (const { resolve } of others) resolve({ done: true, value: undefined });
  }

  next(): Promise<IteratorResult<ServerEvent>> {
    const event = this.#take();
    if (event !== undefined) {
      if (this.#preloaded > 0) this.#preloaded -= 1;
      return Promise.resolve({ done: false, value: event });
    }
    if (this.#error !== undefined) {
      const error = this.#error;
      this.#error = undefined;
      return Promise.reject(error);
    }
    if (this.#closed) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
    });
  }

  #take(): ServerEvent | undefined {
    const event = this.#events[this.#head];
    if (event === undefined) return undefined;
    this.#head += 1;
    if (this.#head === this.#events.length) {
      this.#events = [];
      this.#head = 0;
    }
    return event;
  }

  return(): Promise<IteratorResult<ServerEvent>> {
    this.#events = [];
    this.#head = 0;
    this.close();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

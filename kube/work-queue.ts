import { Heap } from "#kube/heap.ts";
import type { Cancel, Clock, Random } from "#kube/ports.ts";

export interface WorkQueueOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Delay after the first failure of a key in milliseconds, doubled by each further one; default 100. */
  readonly baseDelayMs?: number;
  /** The longest back-off in milliseconds; default 60,000. */
  readonly maxDelayMs?: number;
}

export interface AddOptions {
  /** Higher comes first; default 0. Keys of the first list of a start are best added with -1. */
  readonly priority?: number;
  /** Not before this many milliseconds; default 0. */
  readonly afterMs?: number;
}

export interface QueueStats {
  /** Calls of `add`. */
  readonly adds: number;
  /** Calls of `retry`. */
  readonly retries: number;
  /** Keys handed out by `next`. */
  readonly taken: number;
  /** Keys ready now. */
  readonly depth: number;
  readonly delayed: number;
  readonly processing: number;
  /** Keys with a failure count. */
  readonly failing: number;
  /** Milliseconds that keys were ready before they were taken, summed over `taken`. */
  readonly waitedMs: number;
}

interface Item {
  readonly key: string;
  priority: number;
  /** Monotonic time before which the key is not handed out. */
  due: number;
  /** Order among equals; a new position in a heap gets a new one, so old positions are told apart. */
  order: number;
  state: "delayed" | "ready" | "dirty";
}

interface Position {
  readonly item: Item;
  readonly order: number;
  readonly due: number;
  readonly priority: number;
}

/** Whether a position is the current one of its item: positions are not searched for when an item moves or goes. */
const isValid =
  (items: ReadonlyMap<string, Item>) =>
  ({ item, order }: Position): boolean =>
    item.order === order && item.state !== "dirty" && items.get(item.key) === item;

/** A timer beyond about 24.8 days fires at once in Node; an hour also bounds what a sleeping machine can delay. */
const LONGEST_SLEEP_MS = 3_600_000;

/**
 * Keys to look at. A key is in the queue once, however often it was added: with its highest priority and its
 * earliest time. A key that is being processed is never handed out a second time; added meanwhile, it comes again
 * after `done`. Delays run on the monotonic clock, so a clock that is set forward or back moves nothing.
 */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #baseDelayMs: number;
  readonly #maxDelayMs: number;
  readonly #items = new Map<string, Item>();
  readonly #processing = new Set<string>();
  readonly #failures = new Map<string, number>();
  readonly #ready = new Heap<Position>(
    (a, b) => a.priority > b.priority || (a.priority === b.priority && a.order < b.order),
  );
  readonly #delayed = new Heap<Position>((a, b) => a.due < b.due || (a.due === b.due && a.order < b.order));
  readonly #takers: ((key: string | undefined) => void)[] = [];
  readonly #drains: (() => void)[] = [];
  #order = 0;
  #depth = 0;
  #cancelTimer: Cancel | undefined;
  #timerDue = Number.POSITIVE_INFINITY;
  #closed = false;
  #adds = 0;
  #retries = 0;
  #taken = 0;
  #waitedMs = 0;

  constructor(options: WorkQueueOptions) {
    this.#clock = options.clock;
    this.#random = options.random;
    this.#baseDelayMs = options.baseDelayMs ?? 100;
    this.#maxDelayMs = options.maxDelayMs ?? 60_000;
  }

  /** Asks for a look at `key`. After {@link drain} or {@link close} this does nothing. */
  add(key: string, options: AddOptions = {}): void {
    if (this.#closed) return;
    this.#adds++;
    const priority = options.priority ?? 0;
    const due = this.#clock.monotonic() + Math.max(0, options.afterMs ?? 0);
    const item = this.#items.get(key);
    if (item === undefined) {
      const fresh: Item = { key, priority, due, order: 0, state: "delayed" };
      this.#items.set(key, fresh);
      this.#place(fresh);
      return;
    }
    const sooner = due < item.due;
    const higher = priority > item.priority;
    if (sooner) item.due = due;
    if (higher) item.priority = priority;
    if ((item.state === "delayed" && (sooner || higher)) || (item.state === "ready" && higher)) this.#place(item);
  }

  /** Adds `key` after its back-off, which grows with each call until {@link forget}; returns the delay in ms. */
  retry(key: string): number {
    this.#retries++;
    const failures = this.#failures.get(key) ?? 0;
    if (!this.#closed) this.#failures.set(key, failures + 1);
    const full = Math.min(this.#maxDelayMs, this.#baseDelayMs * 2 ** Math.min(failures, 40));
    // Spread over 75 to 125 %, so that keys that failed together do not come back together.
    const delay = full * (0.75 + this.#random.next() / 2);
    this.add(key, { afterMs: delay });
    return delay;
  }

  /** How often {@link retry} was called for `key` since it was last forgotten. */
  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** Ends the back-off of `key`. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /**
   * The next key, now being processed until {@link done}. Waits for one; undefined when the queue is closed, or
   * drained and empty.
   */
  next(): Promise<string | undefined> {
    const item = this.#takeReady();
    if (item !== undefined) return Promise.resolve(item.key);
    if (this.#closed) return Promise.resolve(undefined);
    return new Promise((resolve) => this.#takers.push(resolve));
  }

  /** Ends the processing of a key that {@link next} returned. */
  done(key: string): void {
    if (!this.#processing.delete(key)) return;
    const item = this.#items.get(key);
    if (item !== undefined) this.#place(item);
    this.#settleDrains();
  }

  /** Takes no new keys, hands out those that are ready, drops delayed ones; resolves when all are done. */
  drain(): Promise<void> {
    const now = this.#clock.monotonic();
    this.#stop((item) => item.due <= now);
    return new Promise((resolve) => {
      this.#drains.push(resolve);
      this.#settleDrains();
    });
  }

  /** Takes no new keys and drops all that wait; resolves when those in processing are done. */
  close(): Promise<void> {
    this.#stop(() => false);
    return new Promise((resolve) => {
      this.#drains.push(resolve);
      this.#settleDrains();
    });
  }

  stats(): QueueStats {
    let dirty = 0;
    for (const key of this.#processing) if (this.#items.has(key)) dirty++;
    return {
      adds: this.#adds,
      retries: this.#retries,
      taken: this.#taken,
      depth: this.#depth,
      delayed: this.#items.size - this.#depth - dirty,
      processing: this.#processing.size,
      failing: this.#failures.size,
      waitedMs: this.#waitedMs,
    };
  }

  /** Puts an item where it belongs now; an older position of it in a heap becomes void by its order. */
  #place(item: Item): void {
    if (item.state === "ready") this.#depth--;
    if (this.#processing.has(item.key)) {
      item.state = "dirty";
      return;
    }
    item.order = this.#order++;
    const position: Position = { item, order: item.order, due: item.due, priority: item.priority };
    if (item.due > this.#clock.monotonic()) {
      item.state = "delayed";
      this.#delayed.push(position);
      if (this.#delayed.size > 2 * this.#items.size + 64) this.#delayed.retain(isValid(this.#items));
      this.#armTimer();
      return;
    }
    item.state = "ready";
    this.#depth++;
    this.#ready.push(position);
    if (this.#ready.size > 2 * this.#depth + 64) this.#ready.retain(isValid(this.#items));
    const taker = this.#takers.shift();
    if (taker !== undefined) taker(this.#takeReady()?.key);
  }

  #takeReady(): Item | undefined {
    for (let position = this.#ready.pop(); position !== undefined; position = this.#ready.pop()) {
      if (!isValid(this.#items)(position)) continue;
      const { item } = position;
      this.#items.delete(item.key);
      this.#processing.add(item.key);
      this.#depth--;
      this.#taken++;
      this.#waitedMs += Math.max(0, this.#clock.monotonic() - item.due);
      return item;
    }
    return undefined;
  }

  /** One timer, for the earliest delay. */
  #armTimer(): void {
    const first = this.#firstDelayed();
    if (first === undefined || this.#closed) {
      this.#disarm();
      return;
    }
    const now = this.#clock.monotonic();
    const due = Math.min(first.due, now + LONGEST_SLEEP_MS);
    if (this.#cancelTimer !== undefined && this.#timerDue <= due) return;
    this.#disarm();
    this.#timerDue = due;
    this.#cancelTimer = this.#clock.after(Math.max(0, due - now), () => {
      this.#cancelTimer = undefined;
      this.#releaseDue();
    });
  }

  #disarm(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#timerDue = Number.POSITIVE_INFINITY;
  }

  #releaseDue(): void {
    this.#timerDue = Number.POSITIVE_INFINITY;
    const now = this.#clock.monotonic();
    for (let first = this.#firstDelayed(); first !== undefined && first.due <= now; first = this.#firstDelayed()) {
      this.#delayed.pop();
      this.#place(first.item);
    }
    this.#armTimer();
  }

  #firstDelayed(): Position | undefined {
    for (let top = this.#delayed.peek(); top !== undefined; top = this.#delayed.peek()) {
      if (isValid(this.#items)(top)) return top;
      this.#delayed.pop();
    }
    return undefined;
  }

  #stop(keep: (item: Item) => boolean): void {
    this.#closed = true;
    this.#disarm();
    for (const item of [...this.#items.values()]) {
      if (keep(item)) continue;
      if (item.state === "ready") this.#depth--;
      this.#items.delete(item.key);
    }
    this.#delayed.clear();
    this.#failures.clear();
    for (const taker of this.#takers.splice(0)) taker(undefined);
  }

  #settleDrains(): void {
    if (!this.#closed || this.#processing.size > 0 || this.#items.size > 0) return;
    for (const resolve of this.#drains.splice(0)) resolve();
  }
}

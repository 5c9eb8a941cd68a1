/** Time under control, for tests and simulation. An adapter: it gives way to pending promises with `setImmediate`. */
import { setImmediate as turn } from "node:timers/promises";
import { Heap } from "#kube/heap.ts";
import type { Cancel, Clock } from "#kube/ports.ts";

interface Timer {
  readonly due: number;
  readonly order: number;
  readonly fn: () => void;
  cancelled: boolean;
}

/**
 * Time stands still until somebody moves it. Timers fire in the order of their due time, then of their creation, so
 * the same calls give the same run.
 *
 * `advance` and `runNext` are synchronous: promises that a timer resolves continue only after the caller awaits.
 * `elapse` lets them continue between timers, which is what a test of asynchronous code wants.
 */
export class VirtualClock implements Clock {
  /** Milliseconds since this clock was made; timers live on this scale. */
  #elapsed = 0;
  /** Wall clock minus elapsed time; changes only by {@link jump}. */
  #offset: number;
  #order = 0;
  #cancelled = 0;
  readonly #timers = new Heap<Timer>((a, b) => a.due < b.due || (a.due === b.due && a.order < b.order));

  /** @param start wall clock at the beginning; default 2026-01-01T00:00:00Z. */
  constructor(start = 1_767_225_600_000) {
    this.#offset = start;
  }

  now(): number {
    return this.#offset + this.#elapsed;
  }

  monotonic(): number {
    return this.#elapsed;
  }

  after(ms: number, fn: () => void): Cancel {
    const timer: Timer = { due: this.#elapsed + Math.max(0, ms), order: this.#order++, fn, cancelled: false };
    this.#timers.push(timer);
    return () => {
      if (timer.cancelled) return;
      timer.cancelled = true;
      this.#cancelled++;
      // Most timers are deadlines that are cancelled long before they are due: they must not pile up.
      if (this.#cancelled > 1000 && this.#cancelled * 2 > this.#timers.size) {
        this.#timers.retain((one) => !one.cancelled);
        this.#cancelled = 0;
      }
    };
  }

  /** How many timers wait. */
  get pending(): number {
    return this.#timers.size - this.#cancelled;
  }

  /** Wall clock at which the next timer fires, or undefined when none waits. */
  nextDue(): number | undefined {
    const timer = this.#next();
    return timer === undefined ? undefined : timer.due + this.#offset;
  }

  /** Moves time to the next timer and fires it; false when none waits. */
  runNext(): boolean {
    const timer = this.#next();
    if (timer === undefined) return false;
    this.#fire(timer);
    return true;
  }

  /** Moves time forward by `ms` and fires what becomes due, including timers set meanwhile. */
  advance(ms: number): void {
    const target = this.#elapsed + ms;
    for (let timer = this.#next(); timer !== undefined && timer.due <= target; timer = this.#next()) this.#fire(timer);
    this.#elapsed = target;
  }

  /** Like {@link advance}, to a wall clock time; does nothing for a time in the past. */
  advanceTo(time: number): void {
    if (time > this.now()) this.advance(time - this.now());
  }

  /** Lets everything that waits for promises only (no timers, no I/O) run to its end. */
  async settle(): Promise<void> {
    await turn();
  }

  /** Like {@link advance}, but promises continue before the first, between any two, and after the last timer. */
  async elapse(ms: number): Promise<void> {
    const target = this.#elapsed + ms;
    await this.settle();
    for (let timer = this.#next(); timer !== undefined && timer.due <= target; timer = this.#next()) {
      this.#fire(timer);
      await this.settle();
    }
    this.#elapsed = target;
  }

  /** Sets the wall clock forward or back, as an administrator or NTP does; timers keep their distance. */
  jump(ms: number): void {
    this.#offset += ms;
  }

  #next(): Timer | undefined {
    for (let top = this.#timers.peek(); top?.cancelled; top = this.#timers.peek()) {
      this.#timers.pop();
      this.#cancelled--;
    }
    return this.#timers.peek();
  }

  #fire(timer: Timer): void {
    this.#timers.pop();
    this.#elapsed = Math.max(this.#elapsed, timer.due);
    // Fired counts as over: cancelling it later must not count as a waiting timer that went away.
    timer.cancelled = true;
    timer.fn();
  }
}

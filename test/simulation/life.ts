import type { Cancel, Clock } from "#kube/ports.ts";

/** Told of each call that a process makes of the world, before and after it; may end the process there. */
export type PointWatcher = (life: Life, point: string, when: "before" | "after") => void;

/** What a dead process waits for. */
const never = new Promise<never>(() => {});

/**
 * One process from its start to its end. It reaches the world only through ports that are guarded here: from the moment
 * it ends, none of its calls arrives, no answer reaches it, and its timers are gone, as after SIGKILL.
 */
export class Life {
  /** For example `scheduler#2`. */
  readonly name: string;
  /** For example `scheduler`, or `agent`. */
  readonly kind: string;
  /** The clock of its machine; its timers end with the process. */
  readonly clock: Clock;
  readonly #watcher: PointWatcher;
  readonly #timers = new Set<Cancel>();
  readonly #endings: (() => void)[] = [];
  #alive = true;

  constructor(options: { name: string; kind: string; clock: Clock; watcher: PointWatcher }) {
    const { name, kind, clock, watcher } = options;
    this.name = name;
    this.kind = kind;
    this.#watcher = watcher;
    this.clock = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      after: (ms, fn) => this.#after(clock, ms, fn),
    };
  }

  get alive(): boolean {
    return this.#alive;
  }

  /** Ends it at once. */
  end(): void {
    if (!this.#alive) return;
    this.#alive = false;
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
    for (const ending of this.#endings.splice(0)) ending();
  }

  onEnd(ending: () => void): void {
    this.#endings.push(ending);
  }

  /** Lets a call through while the process lives; a dead one waits for its answer for ever. */
  async call<T>(point: string, work: () => Promise<T>): Promise<T> {
    this.#watcher(this, point, "before");
    if (!this.#alive) return never;
    try {
      return await work();
    } finally {
      if (this.#alive) this.#watcher(this, point, "after");
      // Also in place of an error.
      if (!this.#alive) await never;
    }
  }

  /** A port whose methods all give promises; objects with methods that they resolve with are guarded too. */
  guard<T extends object>(name: string, port: T): T {
    return new Proxy(port, {
      get: (target, key) => {
        const member: unknown = Reflect.get(target, key, target);
        if (typeof member !== "function" || typeof key !== "string") return member;
        return (...args: unknown[]) =>
          this.call(`${name}.${key}`, async () => {
            const result: unknown = await Reflect.apply(member, target, args);
            return isHandle(result) ? this.guardHandle(`${name}.${key}`, result) : result;
          });
      },
    });
  }

  /** An opened file: its methods give promises, but for `read`, which gives an iterator. */
  guardHandle(name: string, handle: object): object {
    return new Proxy(handle, {
      get: (target, key) => {
        const member: unknown = Reflect.get(target, key, target);
        if (typeof member !== "function" || key === "read") return member;
        return (...args: unknown[]) =>
          this.call(`${name}.${String(key)}`, async () => Reflect.apply(member, target, args));
      },
    });
  }

  #after(clock: Clock, ms: number, fn: () => void): Cancel {
    if (!this.#alive) return () => {};
    const cancel = clock.after(ms, () => {
      this.#timers.delete(cancel);
      fn();
    });
    this.#timers.add(cancel);
    return () => {
      this.#timers.delete(cancel);
      cancel();
    };
  }
}

function isHandle(result: unknown): result is object {
  return typeof result === "object" && result !== null && "close" in result;
}

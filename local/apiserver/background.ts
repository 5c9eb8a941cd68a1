/**
 * Work that happens after a request was answered, as controllers of a real cluster do it: in the order in which it
 * came up, one piece at a time, soon, and never inside the write that caused it.
 */
export interface Background {
  /** Runs `work` after the current request; once, however often the same key is added before. */
  add(key: string, work: () => void): void;
}

/** Pieces of work done before other promises get a turn. */
const batch = 100;

/** A queue that runs by itself. */
export function createBackground(): Background {
  const pending = new Map<string, () => void>();
  let scheduled = false;

  const run = (): void => {
    scheduled = false;
    for (let i = 0; i < batch; i++) {
      const next = pending.entries().next();
      if (next.done) return;
      const [key, work] = next.value;
      pending.delete(key);
      work();
    }
    schedule();
  };
  const schedule = (): void => {
    if (scheduled || pending.size === 0) return;
    scheduled = true;
    queueMicrotask(run);
  };

  return {
    add(key, work) {
      pending.set(key, work);
      schedule();
    },
  };
}

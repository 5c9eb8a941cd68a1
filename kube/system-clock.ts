/** Real time. Apart from `system.ts`, so that a small process (the executor) has it without the logger's library. */
import type { Clock } from "#kube/ports.ts";

/** A longer `setTimeout` overflows 32 bits and fires at once. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, fn) {
    const due = performance.now() + ms;
    let timer: NodeJS.Timeout;
    const arm = (left: number) => {
      timer =
        left > LONGEST_TIMEOUT_MS
          ? setTimeout(() => arm(due - performance.now()), LONGEST_TIMEOUT_MS)
          : setTimeout(fn, Math.max(0, left));
    };
    arm(ms);
    return () => clearTimeout(timer);
  },
};

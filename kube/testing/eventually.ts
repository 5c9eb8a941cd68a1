/** Waiting in tests, by real time. */
import { setTimeout as wait } from "node:timers/promises";

/** Awaits a condition: returns what `probe` returns once that is truthy, or fails after `deadlineMs`. */
export async function eventually<T>(what: string, probe: () => T | Promise<T>, deadlineMs = 5000): Promise<T> {
  const end = performance.now() + deadlineMs;
  for (;;) {
    const value = await probe();
    if (value) return value;
    if (performance.now() > end) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await wait(2);
  }
}

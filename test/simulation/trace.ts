import { createHash } from "node:crypto";
import type { Clock } from "#kube/ports.ts";

/** What happened in a simulation, one line each: `12.345 what it was`, in seconds since its begin. */
export class Trace {
  readonly lines: string[] = [];
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(text: string): void {
    this.lines.push(`${(this.#clock.monotonic() / 1000).toFixed(3)} ${text}`);
  }

  /** Two runs with the same hash went the same way. */
  hash(): string {
    const hash = createHash("sha256");
    for (const line of this.lines) hash.update(`${line}\n`);
    return hash.digest("hex");
  }

  /** The end of the trace, and before it what names one of the words. */
  excerpt(words: readonly string[], last = 25): string[] {
    const from = Math.max(0, this.lines.length - last);
    const told = this.lines.slice(0, from).filter((line) => words.some((word) => line.includes(word)));
    return [...told.slice(-60), ...this.lines.slice(from)];
  }
}

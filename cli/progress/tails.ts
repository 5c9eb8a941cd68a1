import type { LogRecord } from "#api/log-record.ts";
import { recordText } from "./log-line.ts";

/** Lines of stderr that are kept of each attempt, for the summary of what failed. */
export const tailLines = 10;

/** The last lines that each Run wrote to stderr in its latest attempt. */
export class Tails {
  readonly #byRun = new Map<string, { attempt: number; lines: string[] }>();

  take(record: LogRecord): void {
    if (record.stream !== "stderr") return;
    let tail = this.#byRun.get(record.run);
    if (tail === undefined || tail.attempt < record.attempt) {
      tail = { attempt: record.attempt, lines: [] };
      this.#byRun.set(record.run, tail);
    }
    if (tail.attempt > record.attempt) return;
    tail.lines.push(recordText(record));
    if (tail.lines.length > tailLines) tail.lines.shift();
  }

  of(runUid: string): readonly string[] {
    return this.#byRun.get(runUid)?.lines ?? [];
  }
}

import type { LogRecord } from "#api/log-record.ts";

/** Notices records that are missing. Where a log begins, nothing is missing. */
export class Gaps {
  #attempt: number;
  #seq: number | undefined;

  /** @param seq of the last record that was delivered of that attempt; `undefined`: the first one may have any */
  constructor(attempt: number, seq: number | undefined) {
    this.#attempt = attempt;
    this.#seq = seq;
  }

  /** Takes the next record; says how many are missing before it. */
  before({ attempt, seq }: Pick<LogRecord, "attempt" | "seq">): number {
    const last = attempt === this.#attempt ? this.#seq : 0;
    this.#attempt = attempt;
    this.#seq = seq;
    // An agent that was started again counts from 1 again.
    return last === undefined || seq <= last ? 0 : seq - last - 1;
  }
}

/** What the log says in place of them. */
export const missingRecords = (missing: number) =>
  `${missing} ${missing === 1 ? "record is" : "records are"} missing here: the node removed them before they were read`;

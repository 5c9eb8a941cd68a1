export interface LogLimits {
  /** Output of one attempt, after which nothing more is recorded. */
  readonly totalBytes: number;
  /** Output a second that is recorded without end. */
  readonly bytesPerSecond: number;
  /** Output that may come at once beyond that. */
  readonly burstBytes: number;
}

const mebibyte = 1024 * 1024;

/**
 * The log of a Pod is shared by its Runs, and by default the kubelet keeps 5 files of 10 MiB: one Run must not push out the
 * others' records. A burst of 16 MiB is a very talkative build; 2 MiB/s is more than anybody reads.
 */
export const defaultLogLimits: LogLimits = {
  totalBytes: 64 * mebibyte,
  bytesPerSecond: 2 * mebibyte,
  burstBytes: 16 * mebibyte,
};

/** Whether to record a message; and what the log must say before it, so that nothing is lost silently. */
export interface Admission {
  readonly record: boolean;
  readonly notice?: string;
}

/** The caps of one attempt. Pure: the time comes in, in milliseconds that never go backwards. */
export class LogLimiter {
  readonly #limits: LogLimits;
  #total = 0;
  #tokens: number;
  #refilledAt: number;
  #droppedRecords = 0;
  #droppedBytes = 0;
  #full = false;

  constructor(limits: LogLimits, now: number) {
    this.#limits = limits;
    this.#tokens = limits.burstBytes;
    this.#refilledAt = now;
  }

  /** Asks for one message of so many bytes. */
  admit(bytes: number, now: number): Admission {
    if (this.#full) return { record: false };
    const { totalBytes, bytesPerSecond, burstBytes } = this.#limits;
    this.#tokens = Math.min(burstBytes, this.#tokens + ((now - this.#refilledAt) * bytesPerSecond) / 1000);
    this.#refilledAt = now;
    // Once dropping, wait until half the burst is there again: otherwise drops and notices would alternate.
    const needed = this.#droppedRecords > 0 ? burstBytes / 2 : 0;
    if (this.#tokens < bytes || this.#tokens < needed) {
      this.#droppedRecords += 1;
      this.#droppedBytes += bytes;
      return { record: false };
    }
    const before = this.end();
    if (this.#total + bytes > totalBytes) {
      this.#full = true;
      const notice = `the log of this attempt has reached its limit of ${totalBytes} bytes; further output is not recorded`;
      return { record: false, notice: before === undefined ? notice : `${before}; ${notice}` };
    }
    this.#tokens -= bytes;
    this.#total += bytes;
    return { record: true, ...(before !== undefined && { notice: before }) };
  }

  /** What the log still has to say about dropped records, at the end of the stream. */
  end(): string | undefined {
    if (this.#droppedRecords === 0) return undefined;
    const notice = `${this.#droppedRecords} records (${this.#droppedBytes} bytes) were dropped: the output was faster than ${this.#limits.bytesPerSecond} bytes a second`;
    this.#droppedRecords = 0;
    this.#droppedBytes = 0;
    return notice;
  }
}

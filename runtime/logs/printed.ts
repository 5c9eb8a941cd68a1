import type { ExecutionEvent, OutputStream } from "#runtime/executor-client.ts";
import type { RunLog } from "#runtime/logs/run-log.ts";
import { acknowledgeEveryBytes, eventCost } from "#runtime/proto/limits.ts";

/**
 * Takes the events of one execution into its log, and knows which of them are in it for good. A line that is open is not: should
 * the agent die, its beginning has to come again.
 */
export class Printed {
  readonly #log: RunLog;
  /** The first event with bytes in an open line. */
  readonly #open: Record<OutputStream, number | undefined> = { stdout: undefined, stderr: undefined };
  readonly #ends = new Map<OutputStream, number>();
  #seen = 0;
  /** What has come since everything was printed. */
  #waiting = 0;

  constructor(log: RunLog) {
    this.#log = log;
  }

  /** Sequence number of the last event that need not come again. */
  get upTo(): number {
    const { stdout = Number.POSITIVE_INFINITY, stderr = Number.POSITIVE_INFINITY } = this.#open;
    return Math.min(this.#seen, stdout - 1, stderr - 1);
  }

  /**
   * Takes an event; one that was taken before is passed over.
   *
   * @throws Error when output is missing: the server does not keep the contract
   */
  async take(event: ExecutionEvent): Promise<void> {
    if (event.seq <= this.#seen) return;
    if (event.kind === "output") await this.#output(event);
    this.#seen = event.seq;
  }

  async #output(event: ExecutionEvent & { readonly kind: "output" }): Promise<void> {
    const { stream, bytes, offset, seq, time } = event;
    const expected = this.#ends.get(stream) ?? offset;
    if (offset !== expected) {
      throw new Error(`the runtime server says that output event ${seq} begins at byte ${offset}, and not ${expected}`);
    }
    this.#ends.set(stream, offset + bytes.byteLength);
    await this.#log.write(stream, bytes, time, offset);
    this.#note(stream, seq, bytes.byteLength);
    this.#waiting = this.upTo >= this.#seen ? 0 : this.#waiting + eventCost(event);
    // The program would be paused for a line that stays open while it prints a lot elsewhere.
    if (this.#waiting < acknowledgeEveryBytes) return;
    await this.#log.flush();
    // Half a character, or what may become a secret, may be left; it is not worth a pause.
    this.#open.stdout = undefined;
    this.#open.stderr = undefined;
    this.#waiting = 0;
  }

  #note(stream: OutputStream, seq: number, size: number): void {
    const open = this.#log.openBytes(stream);
    if (open === 0) this.#open[stream] = undefined;
    else if (open <= size) this.#open[stream] = seq;
    else this.#open[stream] ??= seq;
  }
}

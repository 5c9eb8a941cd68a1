/** What happened in one execution, kept until the reader has taken it. Pure; used by the executor and its simulated double. */
import type { ExecutionEvent, ExecutionExit, OutputStream } from "#runtime/executor-client.ts";
import { eventCost, outputChunkBytes } from "#runtime/proto/limits.ts";

/** Output that comes within so many milliseconds may become one event: nobody has to know more exactly when it was written. */
const togetherMs = 5;

/**
 * Events in order of arrival, numbered from 1. Nothing is dropped before it is acknowledged; instead the log says when it
 * is {@link full}, and whoever feeds it pauses the program.
 */
export class EventLog {
  #events: ExecutionEvent[] = [];
  #firstSeq = 1;
  #retained = 0;
  #total = 0;
  #ended = false;
  /** The latest event that a reader got; it changes no more. */
  #read = 0;
  /** Where the bytes of the last event are, if they were several pieces. */
  #joint: Buffer | undefined;
  readonly #written: Record<OutputStream, number> = { stdout: 0, stderr: 0 };
  #changed: PromiseWithResolvers<void> | undefined;
  readonly #limitBytes: number;
  readonly #onRoom: () => void;

  /**
   * @param limitBytes the log is full from this many retained bytes on (each event counts a little more than its output).
   * @param onRoom called when the log stops being full.
   */
  constructor(limitBytes: number, onRoom: () => void) {
    this.#limitBytes = limitBytes;
    this.#onRoom = onRoom;
  }

  /** Sequence number of the oldest event that is kept (of the next one when none is). */
  get firstSeq(): number {
    return this.#firstSeq;
  }

  /** Sequence number of the newest event; 0 before the first. */
  get lastSeq(): number {
    return this.#firstSeq + this.#events.length - 1;
  }

  /** True once the `exited` event is in; it is the last. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Cost of all events ever, for telling how much has come since. */
  get totalCost(): number {
    return this.#total;
  }

  get full(): boolean {
    return this.#retained >= this.#limitBytes;
  }

  started(time: number): void {
    this.#append({ kind: "started", seq: this.lastSeq + 1, time });
  }

  /**
   * Takes a piece of output. One that follows another closely is joined to its event while nobody has read that: a program that
   * prints a lot in small pieces would otherwise cost both sides a multiple.
   */
  output(time: number, stream: OutputStream, bytes: Uint8Array): void {
    const offset = this.#written[stream];
    this.#written[stream] += bytes.byteLength;
    const last = this.#events.at(-1);
    if (last?.kind === "output" && last.stream === stream && this.#isOpen(last, time, bytes.byteLength)) {
      this.#events[this.#events.length - 1] = { ...last, bytes: this.#joined(last.bytes, bytes) };
      this.#count(bytes.byteLength);
      return;
    }
    this.#append({ kind: "output", seq: this.lastSeq + 1, time, stream, offset, bytes });
  }

  exited(time: number, exit: ExecutionExit): void {
    this.#append({ kind: "exited", seq: this.lastSeq + 1, time, exit });
    this.#ended = true;
  }

  /** Drops the events up to and including `seq`: the reader has them for good. */
  acknowledge(seq: number): void {
    const count = Math.min(seq - this.#firstSeq + 1, this.#events.length);
    if (count <= 0) return;
    const wasFull = this.full;
    for (const event of this.#events.splice(0, count)) this.#retained -= eventCost(event);
    this.#firstSeq += count;
    if (wasFull && !this.full) this.#onRoom();
  }

  /** Retained events from `seq` on, as many as cost about `maxBytes`, at least one when there is any. */
  read(seq: number, maxBytes: number): readonly ExecutionEvent[] {
    const start = Math.max(0, seq - this.#firstSeq);
    let end = start;
    for (let cost = 0; end < this.#events.length && (end === start || cost < maxBytes); end++) {
      const event = this.#events[end];
      if (event !== undefined) cost += eventCost(event);
    }
    this.#read = Math.max(this.#read, this.#firstSeq + end - 1);
    return this.#events.slice(start, end);
  }

  /** Resolves at the next event, or at {@link wake}. */
  changed(): Promise<void> {
    this.#changed ??= Promise.withResolvers();
    return this.#changed.promise;
  }

  /** Lets waiting readers look again, because something outside the log has changed for them. */
  wake(): void {
    this.#changed?.resolve();
    this.#changed = undefined;
  }

  #append(event: ExecutionEvent): void {
    if (this.#ended) throw new Error(`event ${event.kind} after the end of an execution`);
    this.#events.push(event);
    this.#joint = undefined;
    this.#count(eventCost(event));
  }

  #count(cost: number): void {
    this.#retained += cost;
    this.#total += cost;
    this.wake();
  }

  #isOpen(event: ExecutionEvent & { readonly kind: "output" }, time: number, more: number): boolean {
    const isUnread = event.seq > this.#read;
    return isUnread && time - event.time <= togetherMs && event.bytes.byteLength + more <= outputChunkBytes;
  }

  /** Both in one buffer, which has room for more of the same. */
  #joined(first: Uint8Array, second: Uint8Array): Uint8Array {
    const size = first.byteLength + second.byteLength;
    if (this.#joint === undefined || this.#joint.length < size) {
      this.#joint = Buffer.allocUnsafe(Math.min(2 * size, outputChunkBytes));
      this.#joint.set(first);
    }
    this.#joint.set(second, first.byteLength);
    return this.#joint.subarray(0, size);
  }
}

import { encodeMessage, type LogRecord, type LogStream } from "#api/log-record.ts";
import { timestamp } from "#api/time.ts";
import type { Cancel, Clock } from "#kube/ports.ts";
import { LogLimiter, type LogLimits } from "#runtime/logs/limits.ts";
import { Masker } from "#runtime/logs/masker.ts";
import type { LogSink } from "#runtime/logs/sink.ts";
import { LineSplitter, type Piece } from "#runtime/logs/splitter.ts";
import { Tail } from "#runtime/logs/tail.ts";

export interface RunLogOptions {
  readonly runUid: string;
  readonly attempt: number;
  readonly sink: LogSink;
  readonly clock: Clock;
  readonly limits: LogLimits;
  /** From `secretPatterns`. */
  readonly secrets: readonly Buffer[];
}

/** A line without its end is shown after this long: a prompt or a progress bar has none. */
const idleFlushMs = 1000;

interface Stream {
  readonly masker: Masker;
  readonly splitter: LineSplitter;
}

/**
 * The log of one attempt: output goes in as it arrives, records go out to the sink, in order over both streams. The caller
 * awaits each write before it takes more output, which passes the sink's pressure on to the program.
 */
export class RunLog {
  readonly #options: RunLogOptions;
  readonly #streams: Readonly<Record<"stdout" | "stderr", Stream>>;
  readonly #limiter: LogLimiter;
  readonly #tail = new Tail();
  #seq = 0;
  #cancelFlush: Cancel | undefined;
  #flushed: Promise<void> = Promise.resolve();

  constructor(options: RunLogOptions) {
    this.#options = options;
    this.#limiter = new LogLimiter(options.limits, options.clock.monotonic());
    const stream = () => ({ masker: new Masker(options.secrets), splitter: new LineSplitter() });
    this.#streams = { stdout: stream(), stderr: stream() };
  }

  /**
   * Takes output. Resolves when the sink has room for more.
   *
   * @param time when it was written, in milliseconds since the epoch; default: now.
   */
  async write(stream: "stdout" | "stderr", bytes: Uint8Array, time = this.#options.clock.now()): Promise<void> {
    const { masker, splitter } = this.#streams[stream];
    const shown = masker.push(bytes);
    if (stream === "stderr") this.#tail.push(shown);
    await this.#send(stream, splitter.push(shown), time);
    this.#scheduleFlush();
  }

  /** Says something in the name of the platform. */
  async system(message: string): Promise<void> {
    const splitter = new LineSplitter();
    const pieces = [...splitter.push(Buffer.from(`${message}\n`))];
    await this.#emit(pieces.map((piece) => this.#record("system", piece, this.#options.clock.now())));
  }

  /** Sends what is left, and resolves when it has left this process: who learns later that the Run has ended finds it all. */
  async end(): Promise<void> {
    this.#cancelFlush?.();
    await this.#flushed;
    for (const stream of ["stdout", "stderr"] as const) {
      const { masker, splitter } = this.#streams[stream];
      const rest = masker.end();
      if (stream === "stderr") this.#tail.push(rest);
      await this.#send(stream, [...splitter.push(rest), ...splitter.end()], this.#options.clock.now());
    }
    const notice = this.#limiter.end();
    if (notice !== undefined) await this.system(notice);
    await this.#options.sink.flush?.();
  }

  /** The end of stderr, for failure messages; secrets are masked in it. */
  stderrTail(): string {
    return this.#tail.text();
  }

  async #send(stream: "stdout" | "stderr", pieces: readonly Piece[], time: number): Promise<void> {
    const records: LogRecord[] = [];
    for (const piece of pieces) {
      // The newline counts, so that a flood of empty lines has its cost too.
      const { record, notice } = this.#limiter.admit(piece.bytes.length + 1, this.#options.clock.monotonic());
      if (notice !== undefined)
        records.push(this.#record("system", { bytes: Buffer.from(notice), partial: false }, time));
      if (record) records.push(this.#record(stream, piece, time));
    }
    await this.#emit(records);
  }

  async #emit(records: readonly LogRecord[]): Promise<void> {
    if (records.length > 0) await this.#options.sink.write(records);
  }

  #record(stream: LogStream, { bytes, partial }: Piece, time: number): LogRecord {
    const { runUid, attempt } = this.#options;
    this.#seq += 1;
    return {
      run: runUid,
      attempt,
      seq: this.#seq,
      time: timestamp(time),
      stream,
      ...encodeMessage(bytes),
      ...(partial && { partial }),
    };
  }

  /** One timer at a time: it runs as long as a line is open, not once for each chunk. */
  #scheduleFlush(): void {
    const { stdout, stderr } = this.#streams;
    if (this.#cancelFlush !== undefined || stdout.splitter.pendingBytes + stderr.splitter.pendingBytes === 0) return;
    this.#cancelFlush = this.#options.clock.after(idleFlushMs, () => {
      this.#cancelFlush = undefined;
      const flushed = this.#flushOpenLines();
      this.#flushed = flushed;
      flushed.catch(() => {}); // end() reports it
    });
  }

  async #flushOpenLines(): Promise<void> {
    const now = this.#options.clock.now();
    for (const stream of ["stdout", "stderr"] as const) {
      await this.#send(stream, this.#streams[stream].splitter.flush(), now);
    }
  }
}

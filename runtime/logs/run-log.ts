import { encodeMessage, type LogRecord, type LogStream } from "#api/log-record.ts";
import { timestamp } from "#api/time.ts";
import type { Cancel, Clock } from "#kube/ports.ts";
import { LogLimiter, type LogLimits } from "#runtime/logs/limits.ts";
import { Masker } from "#runtime/logs/masker.ts";
import { Positions } from "#runtime/logs/positions.ts";
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
  readonly positions: Positions;
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
    const stream = () => {
      const positions = new Positions();
      return { masker: new Masker(options.secrets, positions.mark), splitter: new LineSplitter(), positions };
    };
    this.#streams = { stdout: stream(), stderr: stream() };
  }

  /**
   * Takes output. Resolves when all of it that makes records has left this process.
   *
   * @param time when it was written, in milliseconds since the epoch; default: now.
   * @param offset bytes of the stream before it; asked for with the first output only, because the rest follows without gaps
   */
  async write(
    stream: "stdout" | "stderr",
    bytes: Uint8Array,
    time = this.#options.clock.now(),
    offset = 0,
  ): Promise<void> {
    const { masker, splitter, positions } = this.#streams[stream];
    positions.begin(offset);
    const shown = masker.push(bytes);
    if (stream === "stderr") this.#tail.push(shown);
    await this.#send(stream, splitter.push(shown), time);
    this.#scheduleFlush();
  }

  /** Bytes that were taken and are in no record yet: of a line that is open, or what may be the beginning of a secret. */
  openBytes(stream: "stdout" | "stderr"): number {
    const { masker, splitter } = this.#streams[stream];
    return splitter.pendingBytes + masker.heldBytes;
  }

  /** Makes records of lines that are open. Resolves when they have left this process. */
  async flush(): Promise<void> {
    this.#cancelFlush?.();
    this.#cancelFlush = undefined;
    await this.#flushed;
    await this.#flushOpenLines();
  }

  /** Says something in the name of the platform. */
  async system(message: string): Promise<void> {
    const splitter = new LineSplitter();
    const pieces = [...splitter.push(Buffer.from(`${message}\n`))];
    const now = timestamp(this.#options.clock.now());
    await this.#emit(pieces.map((piece) => this.#record("system", piece, now)));
  }

  /** Sends what is left, and a mark that this was all: who learns later that the Run has ended finds it all. */
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
    const last = { bytes: Buffer.alloc(0), partial: false };
    await this.#emit([{ ...this.#record("system", last, timestamp(this.#options.clock.now())), last: true }]);
  }

  /** The end of stderr, for failure messages; secrets are masked in it. */
  stderrTail(): string {
    return this.#tail.text();
  }

  async #send(stream: "stdout" | "stderr", pieces: readonly Piece[], time: number): Promise<void> {
    const records: LogRecord[] = [];
    const at = timestamp(time);
    const now = this.#options.clock.monotonic();
    for (const piece of pieces) {
      // The newline counts, so that a flood of empty lines has its cost too.
      const { record, notice } = this.#limiter.admit(piece.bytes.length + 1, now);
      if (notice !== undefined)
        records.push(this.#record("system", { bytes: Buffer.from(notice), partial: false }, at));
      const end = this.#streams[stream].positions.advance(piece.bytes.length + (piece.partial ? 0 : 1));
      if (record) records.push({ ...this.#record(stream, piece, at), end });
    }
    await this.#emit(records);
  }

  /** Whoever learns that output was taken drops it, so it must be where a crash of this process does not reach. */
  async #emit(records: readonly LogRecord[]): Promise<void> {
    if (records.length === 0) return;
    await this.#options.sink.write(records);
    await this.#options.sink.flush?.();
  }

  #record(stream: LogStream, { bytes, partial }: Piece, time: string): LogRecord {
    const { runUid, attempt } = this.#options;
    this.#seq += 1;
    return {
      run: runUid,
      attempt,
      seq: this.#seq,
      time,
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

import { backoff } from "#kube/backoff.ts";
import { type Cancel, type Clock, type Logger, type Random, sleep } from "#kube/ports.ts";
import { PodGoneError, type PodId } from "../logs/ports.ts";
import { Wakeup } from "../logs/wakeup.ts";
import { After } from "./after.ts";
import { Backlog, type Chunk, type Reader } from "./backlog.ts";
import { History, type OpenStored } from "./history.ts";
import type { PodState } from "./pod-state.ts";
import { compareStored, type StoredAt, secondOf } from "./position.ts";
import { NoSuchLogError } from "./source.ts";
import { type StoredLine, StoredLines } from "./stored-lines.ts";

/** Pauses before a stream that ended or broke is opened again, in milliseconds: doubled from the first to the longest. */
const firstPauseMs = 50;
const longestPauseMs = 2000;

export interface LiveDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Opens the log of this Pod. */
  readonly open: (range: Parameters<OpenStored>[0], signal: AbortSignal) => ReturnType<OpenStored>;
  /** The state of the agent's container; undefined when the Pod is gone. */
  readonly state: (signal: AbortSignal) => Promise<PodState | undefined>;
  /** How much may wait for slow readers, in bytes. */
  readonly maxBytes: () => number;
}

/** One reader of a {@link LiveLog}. */
export interface LiveReader {
  /** The next records, if there are some; "lost" when the reader is too slow. */
  take(): Chunk | "lost" | undefined;
  /** Whether nothing is left and nothing will come, because the Pod is gone; "broken": some may be missing. */
  ended(): "no" | "whole" | "broken";
  leave(): void;
}

/**
 * What the agent of one Pod prints, from now on: one stream from the API server for all that follow Runs there. It is read as fast as
 * the fastest of them takes it, and opened again where it broke.
 */
export class LiveLog {
  readonly #pod: PodId;
  readonly #deps: LiveDeps;
  readonly #listeners = new Set<() => void>();
  readonly #readers = new Set<Reader>();
  readonly #room = new Wakeup();
  #backlog = new Backlog(undefined);
  #running: AbortController | undefined;
  #opened: Promise<void> = Promise.resolve();
  #ended: "no" | "whole" | "broken" = "no";

  constructor(pod: PodId, deps: LiveDeps) {
    this.#pod = pod;
    this.#deps = deps;
  }

  get readers(): number {
    return this.#readers.size;
  }

  get bytes(): number {
    return this.#backlog.bytes;
  }

  /** Calls `fn` whenever {@link LiveReader.take} may have more to give. */
  onGrowth(fn: () => void): Cancel {
    const listener = () => fn();
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Joins at a place that was reached by reading what the node keeps. Resolves when the stream is open.
   *
   * @param restarts how often the agent had been started again when that was read
   * @returns undefined when the stream is beyond that place already: read what is between, then try again
   * @throws PodGoneError, LogUnavailableError
   */
  async join(at: StoredAt | undefined, restarts: number): Promise<LiveReader | undefined> {
    if (this.#running === undefined) this.#start(at, restarts);
    const { start } = this.#backlog;
    if (start !== undefined && (at === undefined || compareStored(at, start) < 0)) return undefined;
    const backlog = this.#backlog;
    const reader = backlog.join();
    this.#readers.add(reader);
    const leave = () => {
      if (!this.#readers.delete(reader)) return;
      backlog.leave(reader);
      if (this.#readers.size === 0) this.#stop();
      else this.#room.wake();
    };
    try {
      await this.#opened;
    } catch (error) {
      leave();
      throw error;
    }
    const after = new After(at);
    return {
      take: () => {
        const chunk = backlog.take(reader);
        if (chunk === undefined) this.#room.wake();
        if (chunk === undefined || chunk === "lost" || after.passed) return chunk;
        return chunkOf(after.take(chunk.lines), chunk);
      },
      ended: () => {
        if (backlog.hasMoreFor(reader)) return "no";
        return backlog === this.#backlog ? this.#ended : "broken";
      },
      leave,
    };
  }

  #start(at: StoredAt | undefined, restarts: number): void {
    const running = new AbortController();
    this.#running = running;
    this.#ended = "no";
    this.#backlog = new Backlog(at);
    const opening = this.#follow(at, running.signal);
    this.#opened = opening.then(() => {});
    opening
      .then((stream) => this.#run(stream, at, restarts, running.signal))
      .catch((error: unknown) => {
        if (running.signal.aborted) return;
        if (!(error instanceof PodGoneError)) {
          this.#deps.logger.warn("the log of a Pod cannot be followed", { pod: this.#name, error });
        }
        this.#end("broken");
      });
  }

  #stop(): void {
    this.#running?.abort();
    this.#running = undefined;
    this.#room.wake();
  }

  async #follow(at: StoredAt | undefined, signal: AbortSignal): Promise<AsyncIterable<Buffer>> {
    try {
      return await this.#deps.open({ follow: true, sinceTime: at && secondOf(at) }, signal);
    } catch (error) {
      if (error instanceof NoSuchLogError) return nothing();
      throw error;
    }
  }

  async #run(
    first: AsyncIterable<Buffer>,
    at: StoredAt | undefined,
    restarts: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, random } = this.#deps;
    let stream: AsyncIterable<Buffer> | undefined = first;
    let failures = 0;
    let isWhole = true;
    /** Restarts that what was read takes into account. */
    let known = restarts;
    while (!signal.aborted) {
      try {
        if (stream === undefined) {
          const state = await this.#deps.state(signal);
          if (state === undefined) return this.#end(isWhole ? "whole" : "broken");
          await this.#catchUp(state, signal);
          known = state.restarts;
          stream = await this.#follow(this.#backlog.end, signal);
        }
        // An agent that was started again just before the stream was opened printed its last words into another log.
        const now = await this.#deps.state(signal);
        if (now !== undefined && now.restarts !== known) {
          await this.#catchUp(now, signal);
          known = now.restarts;
        }
        isWhole = false;
        if (await this.#pass(stream, this.#backlog.end ?? at, signal)) failures = 0;
        // The node ends the stream when the container has ended and everything was sent.
        isWhole = true;
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof PodGoneError) return this.#end("broken");
        this.#deps.logger.debug("the log stream of a Pod broke", { pod: this.#name, error });
      }
      stream = undefined;
      await sleep(clock, backoff(++failures, firstPauseMs, longestPauseMs, random), signal);
    }
  }

  /** What was stored since the stream broke, by a container that may have been started again meanwhile. */
  async #catchUp({ restarts }: PodState, signal: AbortSignal): Promise<void> {
    const history = new History((range) => this.#deps.open(range, signal), this.#backlog.end, restarts > 0);
    for await (const lines of history.read()) {
      if (lines.length > 0) await this.#push(lines, sizeOf(lines), signal);
    }
  }

  /** Passes a stream on to its end. @returns whether there was anything */
  async #pass(stream: AsyncIterable<Buffer>, at: StoredAt | undefined, signal: AbortSignal): Promise<boolean> {
    const stored = new StoredLines();
    const after = new After(at);
    let any = false;
    for await (const piece of stream) {
      const lines = after.take(stored.push(piece));
      if (lines.length === 0) continue;
      any = true;
      // Records keep the piece that they are in; a long one began in an earlier piece.
      await this.#push(lines, Math.max(piece.length, sizeOf(lines)), signal);
    }
    return any;
  }

  async #push(lines: readonly StoredLine[], bytes: number, signal: AbortSignal): Promise<void> {
    this.#backlog.push(lines, bytes, this.#deps.maxBytes());
    this.#tell();
    for (;;) {
      this.#room.reset();
      if (signal.aborted || this.#backlog.hasReaderAtEnd) return;
      await this.#room.wait();
    }
  }

  #end(how: "whole" | "broken"): void {
    this.#ended = how;
    this.#tell();
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  get #name(): string {
    return `${this.#pod.namespace}/${this.#pod.name}`;
  }
}

function chunkOf(lines: readonly StoredLine[], { end, bytes }: Chunk): Chunk {
  const byRun = new Map<string, StoredLine[]>();
  for (const line of lines) byRun.set(line.run, [...(byRun.get(line.run) ?? []), line]);
  return { lines, end, bytes, byRun };
}

const sizeOf = (lines: readonly StoredLine[]) => lines.reduce((sum, { size }) => sum + size, 0);

async function* nothing(): AsyncGenerator<Buffer> {}

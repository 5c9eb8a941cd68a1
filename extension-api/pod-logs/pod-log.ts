import type { Cancel } from "#kube/ports.ts";
import {
  type AgentLog,
  type LogBatch,
  LogUnavailableError,
  type Newest,
  PodGoneError,
  type Position,
  TooSlowError,
} from "../logs/ports.ts";
import { History, type OpenStored } from "./history.ts";
import type { LiveLog, LiveReader } from "./live.ts";
import { newest } from "./newest.ts";
import { parsePosition, positionOf } from "./position.ts";
import type { StoredLine } from "./stored-lines.ts";

export interface PodLogOptions {
  readonly podUid: string;
  readonly podName: string;
  /** Opens the log of the Pod, for one reader. */
  readonly open: OpenStored;
  /** Whether the agent was started again. */
  readonly restarted: boolean;
  /** The stream that this reader shares; undefined for one that does not stay. */
  readonly live: LiveLog | undefined;
  readonly onClose: () => void;
}

/** How often a reader runs after a stream that is beyond its place. */
const maxRounds = 5;

/** The log of an agent that a node of the cluster keeps: what is stored is read alone, what comes is shared. */
export class PodLog implements AgentLog {
  readonly podUid: string;
  readonly #options: PodLogOptions;
  /** The stream that is joined, and the place up to which it was handed on. */
  #joined: { readonly reader: LiveReader; at: Position | undefined } | undefined;
  /** A place that was found, with the reading that goes on after it. */
  #begun: { readonly at: Position | undefined; readonly lines: AsyncGenerator<readonly StoredLine[]> } | undefined;
  /** The end of the log when it was looked at: nothing has to be read before the stream is joined there. */
  #end: { readonly at: Position | undefined } | undefined;
  #closed = false;

  constructor(options: PodLogOptions) {
    this.podUid = options.podUid;
    this.#options = options;
  }

  async newest(run: string, sinceMs: number): Promise<Newest> {
    const { open, restarted } = this.#options;
    const found = await newest(open, run, sinceMs, restarted);
    this.#end = { at: found.end };
    return found;
  }

  async has(position: Position | undefined): Promise<boolean> {
    const at = position === undefined ? undefined : parsePosition(position);
    if (position !== undefined && at === undefined) return false;
    if (this.#end !== undefined && this.#end.at === position && position !== undefined) return true;
    const history = new History(this.#options.open, at, this.#options.restarted);
    const lines = history.read();
    const early: (readonly StoredLine[])[] = [];
    let size = 0;
    // What is read while the place is looked for is kept for those who go on from it.
    for (let next = await lines.next(); !next.done; next = await lines.next()) {
      early.push(next.value);
      size += next.value.length;
      if (size > 0 || history.passed) break;
    }
    await this.#forget();
    this.#begun = { at: position, lines: following(early, lines) };
    return history.exact;
  }

  async *forwards(run: string, from: Position | undefined): AsyncGenerator<LogBatch> {
    const { live } = this.#options;
    if (live === undefined) {
      yield* this.#stored(run, from);
      return;
    }
    if (this.#joined === undefined || this.#joined.at !== from) yield* this.#join(live, run, from);
    const { podName } = this.#options;
    for (const joined = this.#joined; joined !== undefined && !this.#closed; ) {
      const chunk = joined.reader.take();
      if (chunk === undefined) {
        if (joined.reader.ended() === "broken") throw new PodGoneError(`Pod ${podName} is gone`);
        return;
      }
      if (chunk === "lost") {
        throw new TooSlowError(
          "this reader is slower than the log grows, which others read, too; go on with the cursor",
        );
      }
      joined.at = chunk.end && positionOf(chunk.end);
      yield { lines: chunk.byRun.get(run) ?? [], end: joined.at };
    }
  }

  onGrowth(fn: () => void): Cancel {
    return this.#options.live?.onGrowth(fn) ?? (() => {});
  }

  /** The way from the agent over container runtime, node and API server has no end that could be seen. */
  async settle(): Promise<boolean> {
    return false;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#joined?.reader.leave();
    this.#joined = undefined;
    await this.#forget();
    this.#options.onClose();
  }

  /** Reads what is stored from a place on, and joins the stream where that ends. */
  async *#join(live: LiveLog, run: string, from: Position | undefined): AsyncGenerator<LogBatch> {
    this.#joined?.reader.leave();
    this.#joined = undefined;
    let at = from;
    for (let round = 0; round < maxRounds; round++) {
      const isEnd = this.#end !== undefined && this.#end.at === at;
      this.#end = undefined;
      if (isEnd) await this.#forget();
      else {
        for await (const batch of this.#stored(run, at)) {
          at = batch.end ?? at;
          yield batch;
        }
      }
      const reader = await live.join(at === undefined ? undefined : parsePosition(at));
      if (reader === undefined) continue;
      if (this.#closed) return reader.leave();
      this.#joined = { reader, at };
      return;
    }
    throw new LogUnavailableError(`the log of Pod ${this.#options.podName} grows faster than it is read`);
  }

  async *#stored(run: string, from: Position | undefined): AsyncGenerator<LogBatch> {
    const begun = this.#begun;
    const goesOn = begun !== undefined && begun.at === from;
    if (goesOn) this.#begun = undefined;
    const { open, restarted } = this.#options;
    const at = from === undefined ? undefined : parsePosition(from);
    for await (const lines of goesOn ? begun.lines : new History(open, at, restarted).read()) {
      const last = lines.at(-1);
      if (last !== undefined) yield { lines: lines.filter((line) => line.run === run), end: last.end };
    }
  }

  async #forget(): Promise<void> {
    const begun = this.#begun;
    this.#begun = undefined;
    await begun?.lines.return(undefined);
  }
}

async function* following<T>(first: readonly T[], rest: AsyncGenerator<T>): AsyncGenerator<T> {
  try {
    yield* first;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return(undefined);
  }
}

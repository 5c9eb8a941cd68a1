import type { Cancel } from "#kube/ports.ts";
import {
  type AgentLog,
  type LogBatch,
  LogUnavailableError,
  type Newest,
  type Position,
  TooSlowError,
} from "../logs/ports.ts";
import { beginningMs } from "./beginning.ts";
import { History, type OpenStored } from "./history.ts";
import type { LiveLog, LiveReader } from "./live.ts";
import { newest } from "./newest.ts";
import type { PodState } from "./pod-state.ts";
import { beforeTime, parsePosition, positionOf, type StoredAt } from "./position.ts";
import { podGone } from "./source.ts";
import type { StoredLine } from "./stored-lines.ts";

export interface PodLogOptions {
  readonly podUid: string;
  readonly podName: string;
  /** Opens the log of the Pod, for one reader. */
  readonly open: OpenStored;
  /** What the Pod was like a moment ago. */
  readonly state: PodState;
  /** What it is like now; undefined when it is gone. */
  readonly look: () => Promise<PodState | undefined>;
  /** The stream that this reader shares; undefined for one that does not stay. */
  readonly live: LiveLog | undefined;
  readonly onClose: () => void;
}

/** How often a reader runs after a stream that is beyond its place. */
const maxRounds = 5;

/** A place that was looked for: what was read before it was found, and where reading goes on. */
interface Begun {
  readonly at: Position | undefined;
  readonly early: readonly (readonly StoredLine[])[];
  readonly lines: AsyncGenerator<readonly StoredLine[]>;
}

/** The log of an agent that a node of the cluster keeps: what is stored is read alone, what comes is shared. */
export class PodLog implements AgentLog {
  readonly podUid: string;
  readonly #options: PodLogOptions;
  /** The stream that is joined, and the place up to which it was handed on. */
  #joined: { readonly reader: LiveReader; at: Position | undefined } | undefined;
  /** A place that was found, with the reading that goes on after it. */
  #begun: Begun | undefined;
  #closed = false;
  /** The latest look at the Pod, and whether it was used already. */
  #state: PodState;
  #isUsed = false;

  constructor(options: PodLogOptions) {
    this.podUid = options.podUid;
    this.#options = options;
    this.#state = options.state;
  }

  async newest(run: string, sinceMs: number): Promise<Newest> {
    const found = await newest(this.#options.open, run, sinceMs, await this.#isRestarted());
    // Joined now: what is printed from here on is not missed, should the Pod go at once.
    if (this.#options.live !== undefined) await this.#joinAt(this.#options.live, found.end, sinceMs);
    return found;
  }

  async has(position: Position | undefined, sinceMs: number): Promise<boolean> {
    const at = placeOf(position, sinceMs);
    if (position !== undefined && at === undefined) return false;
    if (this.#joined !== undefined && this.#joined.at === position) return true;
    // Who stays hears of what is missing from the numbers of the records.
    if (this.#options.live !== undefined && (await this.#joinAtOnce(this.#options.live, position, sinceMs)))
      return true;
    const history = new History(this.#options.open, at, await this.#isRestarted());
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
    this.#begun = { at: position, early, lines };
    return position === undefined || history.exact;
  }

  async *forwards(run: string, from: Position | undefined, sinceMs: number): AsyncGenerator<LogBatch> {
    const { live } = this.#options;
    if (live === undefined) {
      yield* this.#stored(run, from, sinceMs);
      return;
    }
    if (this.#joined === undefined || this.#joined.at !== from) yield* this.#join(live, run, from, sinceMs);
    const { podName } = this.#options;
    for (const joined = this.#joined; joined !== undefined && !this.#closed; ) {
      const chunk = joined.reader.take();
      if (chunk === undefined) {
        if (joined.reader.ended() === "broken") throw podGone(podName);
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

  async beginsMs(atMs: number): Promise<number | undefined> {
    return beginningMs(this.#options.open, await this.#isRestarted(), atMs);
  }

  onGrowth(fn: () => void): Cancel {
    return this.#options.live?.onGrowth(fn) ?? (() => {});
  }

  /** The way from the agent over container runtime, node and API server has no end that could be seen, but that of the Pod. */
  async settle(): Promise<boolean> {
    return this.#joined?.reader.ended() === "whole";
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
  async *#join(live: LiveLog, run: string, from: Position | undefined, sinceMs: number): AsyncGenerator<LogBatch> {
    if (this.#begun === undefined && (await this.#joinAtOnce(live, from, sinceMs))) return;
    let at = from;
    for (let round = 0; round < maxRounds; round++) {
      for await (const batch of this.#stored(run, at, sinceMs)) {
        at = batch.end ?? at;
        yield batch;
      }
      if (await this.#joinAt(live, at, sinceMs)) return;
    }
    throw new LogUnavailableError(`the log of Pod ${this.#options.podName} grows faster than it is read`);
  }

  /**
   * Joins the stream without reading what is stored before, which the stream begins with: a node looks through all of a log for a
   * place, each time that it is asked. What an agent printed before it was started again is in another log.
   *
   * @returns whether the stream goes on at that place
   */
  async #joinAtOnce(live: LiveLog, at: Position | undefined, sinceMs: number): Promise<boolean> {
    return !(await this.#isRestarted()) && (await this.#joinAt(live, at, sinceMs));
  }

  /** @returns whether the stream goes on at that place */
  async #joinAt(live: LiveLog, at: Position | undefined, sinceMs: number): Promise<boolean> {
    this.#joined?.reader.leave();
    this.#joined = undefined;
    const reader = await live.join(placeOf(at, sinceMs), this.#state.restarts);
    if (reader === undefined) return false;
    if (this.#closed) reader.leave();
    else this.#joined = { reader, at };
    return true;
  }

  async *#stored(run: string, from: Position | undefined, sinceMs: number): AsyncGenerator<LogBatch> {
    const begun = this.#begun;
    const goesOn = begun !== undefined && begun.at === from;
    if (goesOn) this.#begun = undefined;
    const at = placeOf(from, sinceMs);
    const read = async () => new History(this.#options.open, at, await this.#isRestarted()).read();
    for await (const lines of goesOn ? following(begun) : await read()) {
      const last = lines.at(-1);
      if (last !== undefined) yield { lines: lines.filter((line) => line.run === run), end: last.end };
    }
  }

  /** Whether there is a run of the agent before the present one: looked at anew for each reading, since it may begin again. */
  async #isRestarted(): Promise<boolean> {
    if (this.#isUsed) this.#state = (await this.#options.look()) ?? this.#state;
    this.#isUsed = true;
    return this.#state.restarts > 0;
  }

  async #forget(): Promise<void> {
    const begun = this.#begun;
    this.#begun = undefined;
    await begun?.lines.return(undefined);
  }
}

/** Where to begin. */
const placeOf = (position: Position | undefined, sinceMs: number): StoredAt | undefined =>
  position === undefined ? beforeTime(sinceMs) : parsePosition(position);

async function* following({ early, lines }: Begun): AsyncGenerator<readonly StoredLine[]> {
  try {
    yield* early;
    for (let next = await lines.next(); !next.done; next = await lines.next()) yield next.value;
  } finally {
    await lines.return(undefined);
  }
}

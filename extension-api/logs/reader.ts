import type { RecordLine } from "#api/record-line.ts";
import { parseTime, timestamp } from "#api/time.ts";
import type { Cancel, Clock } from "#kube/ports.ts";
import { failure, StatusError } from "#kube/transport.ts";
import { type Place, start } from "./cursor.ts";
import { expired, statusErrorOf, statusOf } from "./errors.ts";
import { Gaps, missingRecords } from "./gaps.ts";
import { type ItemMembers, type LogItem, membersOf } from "./items.ts";
import { LastWords } from "./last-words.ts";
import { type AgentLog, type AgentLogs, PodGoneError, type Runs } from "./ports.ts";
import type { LogQuery } from "./query.ts";
import { type Entry, readSegment, readTail } from "./read-segment.ts";
import { positionIn, type Segment, segmentAt } from "./segments.ts";
import type { RunView } from "./view.ts";
import { Wakeup } from "./wakeup.ts";

export interface ReaderDeps {
  readonly runs: Runs;
  readonly logs: AgentLogs;
  readonly clock: Clock;
}

/** A delivered item, and how far the log is delivered with it. */
export interface Delivery {
  readonly item: ItemMembers;
  readonly place: Place;
}

/**
 * Reads the log of one Run, over its attempts and the Pods that they ran on. One reader serves one request and has one log
 * open at a time.
 */
export class RunLogReader {
  readonly #deps: ReaderDeps;
  readonly #view: RunView;
  readonly #sinceMs: number;
  readonly #follows: boolean;
  readonly #signal: AbortSignal;
  readonly #wakeup = new Wakeup();
  #place: Place = start;
  #gaps = new Gaps(1, 0);
  /** The latest attempt whose end is marked. */
  #ended = 0;
  #open: { readonly pod: string; readonly follows: boolean; readonly log: AgentLog; readonly stop: Cancel } | undefined;

  constructor(deps: ReaderDeps, view: RunView, query: Pick<LogQuery, "follow" | "sinceMs">, signal: AbortSignal) {
    this.#deps = deps;
    this.#view = view;
    this.#sinceMs = query.sinceMs ?? Number.NEGATIVE_INFINITY;
    this.#follows = query.follow;
    this.#signal = signal;
    signal.addEventListener("abort", this.#wakeup.wake, { once: true });
  }

  /** How far the log was read. */
  get place(): Place {
    return this.#place;
  }

  /**
   * Starts at a place that a cursor named. Who follows goes on with what is left when the log does not go back so far, and is told how
   * many records are missing: a broken connection to a busy Pod shall not be the end.
   * @throws StatusError 409 when the Pod to read on is gone, 410 when the log does not go back so far and is not followed
   */
  async startAt(place: Place): Promise<void> {
    this.#place = place;
    this.#gaps = new Gaps(place.attempt, place.seq);
    const segment = segmentAt(this.#view.segments, place);
    if (segment === undefined) return;
    const log = await this.#openOrGone(segment);
    if (log === undefined) return;
    // Opens the log also where there is nothing to look for: who cannot have it shall hear that before anything is sent.
    if ((await log.has(positionIn(log.podUid, place), this.#view.oldestOf(segment))) || this.#follows) return;
    throw expired(`the log of Pod ${segment.pod} does not go back to the cursor any more`);
  }

  /**
   * The newest records; reading goes on after them.
   * @param admit false ends the search: no room for this item and older ones
   * @throws StatusError 409 when the Pod that the Run is assigned to is gone
   */
  async tail(count: number, admit: (item: ItemMembers) => boolean = () => true): Promise<Delivery[]> {
    const segments = this.#view.segments;
    const newestFirst: Delivery[] = [];
    let place: Place | undefined;
    let full = false;
    for (const segment of segments.toReversed()) {
      const found = await this.#tailOf(segment, count - newestFirst.length);
      place ??= found.place;
      for (const delivery of found.deliveries.reverse()) {
        full ||= newestFirst.length >= count || !admit(delivery.item);
        if (full) break;
        newestFirst.push(delivery);
      }
      if (full || newestFirst.length >= count) break;
    }
    await this.startAt(place ?? start);
    return newestFirst.reverse();
  }

  async #tailOf(segment: Segment, count: number): Promise<{ deliveries: Delivery[]; place: Place }> {
    const log = await this.#openOrGone(segment);
    if (log === undefined) {
      const place = after(segment);
      return { deliveries: [{ item: membersOf(this.#goneItem(segment, "the log")), place }], place };
    }
    const read = () =>
      readTail(log, this.#view.uid, segment, {
        count,
        oldestMs: this.#view.oldestOf(segment),
        wanted: (record) => this.#isWanted(record),
      });
    const isWhole = this.#view.isOpen(segment) || (await log.settle());
    let tail = await read();
    const lastWords = this.#lastWords(segment);
    while (!isWhole && tail.ended < segment.to && (await lastWords.wait(this.#wakeup))) {
      this.#wakeup.reset();
      tail = await read();
    }
    const { entries, place } = tail;
    if (entries.length === 0 && tail.ended === 0 && !this.#view.isOpen(segment)) {
      const removed = await this.#removed(log, segment);
      if (removed !== undefined) {
        return { deliveries: [{ item: membersOf(removed), place: after(segment) }], place: after(segment) };
      }
    }
    // Where fewer were found than asked for, the first that is left should be the first there was.
    const isAll = entries.length < count && this.#sinceMs === Number.NEGATIVE_INFINITY && segment.from === 1;
    const gaps = new Gaps(entries[0]?.record.attempt ?? 1, isAll ? 0 : undefined);
    const deliveries: Delivery[] = [];
    for (const entry of entries)
      deliveries.push(...this.#deliver(entry, gaps, deliveries.at(-1)?.place ?? entry.place));
    return { deliveries, place };
  }

  /** Everything from the place on to the end there is now, in batches. */
  async *read(): AsyncGenerator<readonly Delivery[]> {
    for (;;) {
      const segment = segmentAt(this.#view.segments, this.#place);
      if (segment === undefined) return;
      if (this.#view.isOpen(segment)) {
        yield* this.#readOn(segment);
        return;
      }
      yield* this.#readOut(segment);
    }
  }

  /** Everything from the place on to the end of the Run, in batches. A failure is told in a last item. */
  async *follow(): AsyncGenerator<readonly Delivery[]> {
    const stop = this.#view.follow(this.#deps.runs, this.#wakeup.wake);
    try {
      while (!this.#signal.aborted) {
        this.#wakeup.reset();
        const segment = segmentAt(this.#view.segments, this.#place);
        if (segment === undefined) {
          if (this.#view.over) break;
        } else if (!this.#view.isOpen(segment)) {
          yield* this.#readOut(segment);
          continue;
        } else if (!(await this.#isGone(segment))) {
          yield* this.#readOn(segment);
        }
        if (!this.#signal.aborted) await this.#wakeup.wait();
      }
      if (this.#view.deleted) throw this.#deletion();
      this.#signal.throwIfAborted();
    } catch (error) {
      // Whoever has gone away hears nothing; who is sent away, hears why.
      const why: unknown = this.#signal.aborted ? this.#signal.reason : error;
      if (!this.#signal.aborted || why instanceof StatusError) yield [this.#last(why)];
    } finally {
      stop();
    }
  }

  async close(): Promise<void> {
    this.#signal.removeEventListener("abort", this.#wakeup.wake);
    await this.#closeLog();
  }

  async #closeLog(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    open?.stop();
    await open?.log.close();
  }

  /**
   * The stream may be slow or broken: what the node has stored is read instead.
   *
   * @returns false for a Pod that is gone, of which the stream is all there is
   */
  async #leaveStream(segment: Segment): Promise<boolean> {
    const stream = this.#open;
    this.#open = undefined;
    try {
      return (await this.#openOrGone(segment)) !== undefined;
    } finally {
      if (this.#open === undefined) this.#open = stream;
      else {
        stream?.stop();
        await stream?.log.close();
      }
    }
  }

  /** What is there of a segment whose Pod prints nothing more of it, its last words included. */
  async *#readOut(segment: Segment): AsyncGenerator<readonly Delivery[]> {
    const lastWords = this.#lastWords(segment);
    const begun = this.#place;
    try {
      for (let goesOn = true; goesOn; ) {
        this.#wakeup.reset();
        const before = this.#place;
        yield* this.#readOn(segment);
        if (this.#place.at?.position !== before.at?.position) lastWords.progressed();
        if (await this.#isComplete(segment)) break;
        const isWaiting = await lastWords.wait(this.#wakeup);
        // What the node has stored is looked at once, however long the stream kept us.
        const isDoubted = this.#open?.follows && (lastWords.isQuiet || !isWaiting) && !this.#signal.aborted;
        goesOn = (isDoubted && (await this.#leaveStream(segment))) || isWaiting;
      }
      const isNew = this.#place.attempt !== begun.attempt || this.#place.seq !== begun.seq;
      if (!isNew && this.#ended < segment.to && !this.#signal.aborted) {
        const log = await this.#openOrGone(segment);
        const left = { ...segment, from: Math.max(segment.from, begun.attempt) };
        const removed = log && (await this.#removed(log, left, begun.seq > 0));
        if (removed !== undefined) yield [this.#delivered(removed, after(segment, this.#place))];
      }
    } catch (error) {
      if (!(error instanceof PodGoneError) || segment.required) throw error;
      yield [this.#delivered(this.#goneItem(segment, "the rest of the log"), after(segment))];
    }
    if (!this.#signal.aborted) this.#place = after(segment, this.#place);
  }

  async *#readOn(segment: Segment): AsyncGenerator<readonly Delivery[]> {
    const log = await this.#openOrGone(segment);
    if (log === undefined) {
      yield [this.#delivered(this.#goneItem(segment, "the log"), after(segment))];
      return;
    }
    if (!this.#view.isOpen(segment)) await log.settle();
    const batches = readSegment(log, this.#view.uid, segment, this.#place, this.#view.oldestOf(segment));
    try {
      for (;;) {
        const next = await batches.next();
        if (next.done) {
          this.#place = next.value;
          return;
        }
        const deliveries: Delivery[] = [];
        for (const entry of next.value) {
          if (entry.record.last) this.#ended = Math.max(this.#ended, entry.record.attempt);
          deliveries.push(...this.#deliver(entry, this.#gaps, this.#place));
          this.#place = entry.place;
        }
        if (deliveries.length > 0) yield deliveries;
      }
    } catch (error) {
      // A Pod that goes while the Run is on it: the Run will tell what comes of it.
      if (!(error instanceof PodGoneError && this.#view.isOpen(segment))) throw error;
    }
  }

  /** What is said in place of attempts of which not even the end is in the log: it begins after them. */
  async #removed(log: AgentLog, { pod, from, to, endedMs }: Segment, isBegun = false): Promise<LogItem | undefined> {
    const beginsMs = endedMs === undefined ? undefined : await log.beginsMs(endedMs);
    if (endedMs === undefined || beginsMs === undefined || beginsMs <= endedMs) return undefined;
    const time = timestamp(beginsMs);
    const what = `nothing ${isBegun ? "more " : ""}of ${attempts(from, to)} is kept: the node has removed older records, and the log of Pod ${pod} begins at ${time}`;
    return this.#system(what, { attempt: to, time });
  }

  /** Whether everything that was printed of the segment was read. */
  async #isComplete(segment: Segment): Promise<boolean> {
    if (this.#ended >= segment.to || this.#place.attempt > segment.to) return true;
    return this.#open === undefined || (await this.#open.log.settle());
  }

  #lastWords({ endedMs }: Segment): LastWords {
    return new LastWords(endedMs, this.#deps.clock, this.#signal);
  }

  #delivered(item: LogItem, place: Place): Delivery {
    this.#place = place;
    return { item: membersOf(item), place };
  }

  /** The record, and before it what must be said of a gap. */
  #deliver({ record, fresh, place }: Entry, gaps: Gaps, before: Place): Delivery[] {
    const missing = gaps.before(record);
    const isShown = fresh !== undefined && !fresh.last && this.#isWanted(fresh);
    const deliveries = isShown ? [{ item: fresh.members, place }] : [];
    if (missing === 0) return deliveries;
    return [{ item: membersOf(this.#system(missingRecords(missing), record)), place: before }, ...deliveries];
  }

  /** The log of the segment's Pod; undefined when that is gone and the Run has gone on without it. */
  async #openOrGone(segment: Segment): Promise<AgentLog | undefined> {
    const follows = this.#follows && this.#view.isOpen(segment);
    if (this.#open?.pod === segment.pod && (this.#open.follows || !follows)) return this.#open.log;
    const { namespace } = this.#view;
    try {
      const pod = { namespace, name: segment.pod, uid: segment.podUid };
      const log = await this.#deps.logs.open(pod, follows, this.#signal);
      const last = this.#open;
      this.#open = { pod: segment.pod, follows, log, stop: log.onGrowth(this.#wakeup.wake) };
      last?.stop();
      await last?.log.close();
      return log;
    } catch (error) {
      if (!(error instanceof PodGoneError) || segment.required) throw statusErrorOf(error);
      return undefined;
    }
  }

  /** Whether the Pod that the Run is still assigned to is gone. */
  async #isGone(segment: Segment): Promise<boolean> {
    try {
      await this.#openOrGone(segment);
      return false;
    } catch (error) {
      if (statusErrorOf(error).code === 409) return true;
      throw error;
    }
  }

  #isWanted(record: RecordLine): boolean {
    return this.#sinceMs === Number.NEGATIVE_INFINITY || (parseTime(record.time) ?? 0) >= this.#sinceMs;
  }

  #system(message: string, { attempt, time }: Pick<LogItem, "attempt" | "time">): LogItem {
    return { attempt, time, stream: "system", message };
  }

  #goneItem({ pod, from, to }: Segment, what: string): LogItem {
    const message = `${what} of ${attempts(from, to)} is gone with Pod ${pod}`;
    return this.#system(message, { attempt: to, time: timestamp(this.#deps.clock.now()) });
  }

  #deletion(): Error {
    return new StatusError(failure(404, "NotFound", `Run ${this.#view.name} was deleted`));
  }

  #last(error: unknown): Delivery {
    const status = statusOf(error);
    const time = timestamp(this.#deps.clock.now());
    const item = this.#system(`the log ends here: ${status.message}`, { attempt: this.#place.attempt, time });
    return { item: membersOf({ ...item, status }), place: this.#place };
  }
}

const attempts = (from: number, to: number): string => (from === to ? `attempt ${to}` : `attempts ${from} to ${to}`);

/** Everything of the segment is delivered. */
function after({ to }: Segment, reached?: Place): Place {
  return { attempt: to + 1, seq: 0, ...(reached?.at && { at: reached.at }) };
}

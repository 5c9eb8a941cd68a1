import type { LogRecord } from "#api/log-record.ts";
import { parseTime, timestamp } from "#api/time.ts";
import type { Cancel, Clock } from "#kube/ports.ts";
import { failure, StatusError } from "#kube/transport.ts";
import { type Place, start } from "./cursor.ts";
import { expired, statusErrorOf, statusOf } from "./errors.ts";
import { Gaps, missingRecords } from "./gaps.ts";
import { itemOf, type LogItem } from "./items.ts";
import { type AgentLog, type AgentLogs, PodGoneError, type Runs } from "./ports.ts";
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
  readonly item: LogItem;
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
  readonly #signal: AbortSignal;
  readonly #wakeup = new Wakeup();
  #place: Place = start;
  #gaps = new Gaps(1, 0);
  #open: { readonly pod: string; readonly log: AgentLog; readonly stop: Cancel } | undefined;

  constructor(deps: ReaderDeps, view: RunView, sinceMs: number | undefined, signal: AbortSignal) {
    this.#deps = deps;
    this.#view = view;
    this.#sinceMs = sinceMs ?? Number.NEGATIVE_INFINITY;
    this.#signal = signal;
    signal.addEventListener("abort", this.#wakeup.wake, { once: true });
  }

  /** How far the log was read. */
  get place(): Place {
    return this.#place;
  }

  /**
   * Starts at a place that a cursor named.
   * @throws StatusError 409 when the Pod to read on is gone, 410 when its log does not go back so far
   */
  async startAt(place: Place): Promise<void> {
    this.#place = place;
    this.#gaps = new Gaps(place.attempt, place.seq);
    const segment = segmentAt(this.#view.segments, place);
    if (segment === undefined) return;
    const log = await this.#openOrGone(segment);
    if (log === undefined) return;
    const position = positionIn(log.podUid, place);
    if (position === undefined || (await log.has(position))) return;
    throw expired(`the log of Pod ${segment.pod} does not go back to the cursor any more`);
  }

  /**
   * The newest records; reading goes on after them.
   * @param admit false ends the search: no room for this item and older ones
   * @throws StatusError 409 when the Pod that the Run is assigned to is gone
   */
  async tail(count: number, admit: (item: LogItem) => boolean = () => true): Promise<Delivery[]> {
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
      return { deliveries: [{ item: this.#goneItem(segment), place }], place };
    }
    if (!this.#view.isOpen(segment)) await log.settle();
    const { entries, place } = await readTail(log, this.#view.prefix, segment, {
      count,
      oldestMs: this.#view.oldestMs,
      wanted: (record) => this.#isWanted(record),
    });
    const gaps = new Gaps(entries[0]?.record.attempt ?? 1, undefined);
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
      const isOpen = this.#view.isOpen(segment);
      yield* this.#readOn(segment);
      if (isOpen) return;
      this.#place = after(segment, this.#place);
    }
  }

  /** Everything from the place on to the end of the Run, in batches. A failure is told in a last item. */
  async *follow(): AsyncGenerator<readonly Delivery[]> {
    const stop = this.#view.follow(this.#deps.runs, this.#wakeup.wake);
    try {
      while (!this.#signal.aborted) {
        this.#wakeup.reset();
        const segment = segmentAt(this.#view.segments, this.#place);
        if (segment !== undefined) {
          const isOpen = this.#view.isOpen(segment);
          // A Pod that goes while the Run is on it: the Run will tell what comes of it.
          if (!isOpen || !(await this.#isGone(segment))) yield* this.#readOn(segment);
          if (!isOpen) {
            this.#place = after(segment, this.#place);
            continue;
          }
        } else if (this.#view.over) {
          break;
        }
        if (!this.#signal.aborted) await this.#wakeup.wait();
      }
      if (this.#view.deleted && !this.#signal.aborted) yield [this.#last(this.#deletion())];
    } catch (error) {
      if (!this.#signal.aborted) yield [this.#last(error)];
    } finally {
      stop();
    }
  }

  async close(): Promise<void> {
    this.#signal.removeEventListener("abort", this.#wakeup.wake);
    const open = this.#open;
    this.#open = undefined;
    open?.stop();
    await open?.log.close();
  }

  async *#readOn(segment: Segment): AsyncGenerator<readonly Delivery[]> {
    const log = await this.#openOrGone(segment);
    if (log === undefined) {
      this.#place = after(segment);
      yield [{ item: this.#goneItem(segment), place: this.#place }];
      return;
    }
    if (!this.#view.isOpen(segment)) await log.settle();
    const batches = readSegment(log, this.#view.prefix, segment, this.#place);
    for (;;) {
      const next = await batches.next();
      if (next.done) {
        this.#place = next.value;
        return;
      }
      const deliveries: Delivery[] = [];
      for (const entry of next.value) {
        deliveries.push(...this.#deliver(entry, this.#gaps, this.#place));
        this.#place = entry.place;
      }
      if (deliveries.length > 0) yield deliveries;
    }
  }

  /** The record, and before it what must be said of a gap. */
  #deliver({ record, fresh, place }: Entry, gaps: Gaps, before: Place): Delivery[] {
    const missing = gaps.before(record);
    const deliveries = fresh !== undefined && this.#isWanted(fresh) ? [{ item: itemOf(fresh), place }] : [];
    if (missing === 0) return deliveries;
    return [{ item: this.#system(missingRecords(missing), record), place: before }, ...deliveries];
  }

  /** The log of the segment's Pod; undefined when that is gone and the Run has gone on without it. */
  async #openOrGone(segment: Segment): Promise<AgentLog | undefined> {
    if (this.#open?.pod === segment.pod) return this.#open.log;
    const { namespace } = this.#view;
    try {
      const log = await this.#deps.logs.open({ namespace, name: segment.pod, uid: segment.podUid }, this.#signal);
      const last = this.#open;
      this.#open = { pod: segment.pod, log, stop: log.onGrowth(this.#wakeup.wake) };
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

  #isWanted(record: LogRecord): boolean {
    return this.#sinceMs === Number.NEGATIVE_INFINITY || (parseTime(record.time) ?? 0) >= this.#sinceMs;
  }

  #system(message: string, { attempt, time }: Pick<LogItem, "attempt" | "time">): LogItem {
    return { attempt, time, stream: "system", message };
  }

  #goneItem({ pod, from, to }: Segment): LogItem {
    const what = from === to ? `attempt ${to}` : `attempts ${from} to ${to}`;
    const message = `the log of ${what} is gone with Pod ${pod}`;
    return this.#system(message, { attempt: to, time: timestamp(this.#deps.clock.now()) });
  }

  #deletion(): Error {
    return new StatusError(failure(404, "NotFound", `Run ${this.#view.name} was deleted`));
  }

  #last(error: unknown): Delivery {
    const status = statusOf(error);
    const time = timestamp(this.#deps.clock.now());
    const item = this.#system(`the log ends here: ${status.message}`, { attempt: this.#place.attempt, time });
    return { item: { ...item, status }, place: this.#place };
  }
}

/** Everything of the segment is delivered. */
function after({ to }: Segment, reached?: Place): Place {
  return { attempt: to + 1, seq: 0, ...(reached?.at && { at: reached.at }) };
}

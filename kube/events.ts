import { timestamp } from "#api/time.ts";
import { type Event, events } from "#kube/builtin.ts";
import { type Clock, type Logger, type Random, type Recorder, sleep } from "#kube/ports.ts";
import type { Client } from "#kube/resource.ts";
import { isNotFound, StatusError, TransportError } from "#kube/transport.ts";

export interface RecorderOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Shown as the source of the Events, e.g. `kruntimes.io/scheduler`. */
  readonly component: string;
  /** This process among those of the component, e.g. the Pod name. */
  readonly instance: string;
}

/** A recorder that can be brought to an end. */
export interface EventRecorder extends Recorder {
  /** Sends what waits, for at most `ms` milliseconds; default 5,000. */
  close(ms?: number): Promise<void>;
}

type About = Parameters<Recorder["event"]>[0];

/** One Event object, and what is to be told about it. */
interface Series {
  readonly key: string;
  readonly event: Event;
  count: number;
  lastAt: number;
  /** The count that the API server knows; 0 before the Event was created. */
  sentCount: number;
  queued: boolean;
}

/** Repetitions within this time belong to one Event; as long as client-go takes it. */
const SERIES_MS = 6 * 60_000;
/** Repetitions are told at most this often. */
const REPEAT_MS = 30_000;
/** New Events about one object: this many at once, then one every five minutes; as client-go. */
const BURST = 25;
const REFILL_MS = 300_000;
const MAX_QUEUE = 1000;
const MAX_TRIES = 3;
/** Limits of events.k8s.io/v1 and of names. */
const MAX_NOTE_BYTES = 1024;
const MAX_REASON = 128;
const MAX_NAME = 236;

/**
 * Emits Events in the background: equal ones become a series of one Event, one object cannot flood the API server, and
 * what cannot be delivered is logged and dropped.
 */
export function createRecorder(options: RecorderOptions): EventRecorder {
  const { clock, random, logger, component, instance } = options;
  const api = options.client.of(events);
  const series = new Map<string, Series>();
  const buckets = new Map<string, { tokens: number; at: number }>();
  const queue: Series[] = [];
  const stopping = new AbortController();
  let closing = false;
  let working: Promise<void> | undefined;
  let cancelSweep: (() => void) | undefined;

  function enqueue(item: Series): void {
    if (item.queued) return;
    if (queue.length >= MAX_QUEUE) {
      logger.warn("too many events wait; one was dropped", { reason: item.event.reason });
      return;
    }
    item.queued = true;
    queue.push(item);
    working ??= work().finally(() => {
      working = undefined;
    });
  }

  async function work(): Promise<void> {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
      item.queued = false;
      await deliver(item);
    }
  }

  async function deliver(item: Series): Promise<void> {
    for (let tries = 1; !stopping.signal.aborted; tries++) {
      try {
        await send(item);
        return;
      } catch (error) {
        if (!isTransient(error)) {
          series.delete(item.key);
          // An Event in a namespace that goes away can never be stored: that is no news.
          if (isNotFound(error) || isTerminating(error)) return;
        }
        if (!isTransient(error) || tries === MAX_TRIES) {
          logger.warn("an event was not delivered", { reason: item.event.reason, error });
          return;
        }
        const pause = error instanceof StatusError ? (error.retryAfterMs ?? 0) : 0;
        await sleep(clock, Math.max(pause, 1000 * 2 ** (tries - 1) * (0.5 + random.next())), stopping.signal);
      }
    }
  }

  async function send(item: Series): Promise<void> {
    const { event } = item;
    const { name, namespace } = event.metadata;
    const count = item.count;
    const told = { count, lastObservedTime: timestamp(item.lastAt) };
    if (item.sentCount === 0) {
      // Repetitions that came before the first delivery are part of it.
      await api.create(count > 1 ? { ...event, series: told } : event);
    } else {
      try {
        await api.patch({ name, namespace }, { series: told });
      } catch (error) {
        if (!isNotFound(error)) throw error;
        // Events expire in the API server, after an hour as a rule.
        await api.create({ ...event, series: told });
      }
    }
    item.sentCount = count;
  }

  /** Tells repetitions, and forgets series and buckets that are over. */
  function sweep(): void {
    cancelSweep = undefined;
    const now = clock.now();
    for (const [key, item] of series) {
      if (now - item.lastAt >= SERIES_MS) series.delete(key);
      else if (item.count > item.sentCount) enqueue(item);
    }
    for (const [key, bucket] of buckets) if (now - bucket.at >= BURST * REFILL_MS) buckets.delete(key);
    armSweep();
  }

  function armSweep(): void {
    if (closing || cancelSweep !== undefined || (series.size === 0 && buckets.size === 0)) return;
    cancelSweep = clock.after(REPEAT_MS, sweep);
  }

  function takeToken(about: string, now: number): boolean {
    const bucket = buckets.get(about) ?? { tokens: BURST, at: now };
    const refilled = Math.min(BURST, bucket.tokens + Math.max(0, now - bucket.at) / REFILL_MS);
    const granted = refilled >= 1;
    buckets.set(about, { tokens: granted ? refilled - 1 : refilled, at: now });
    return granted;
  }

  function newEvent(about: About, type: "Normal" | "Warning", reason: string, note: string, now: number): Event {
    const namespace = about.namespace ?? "default";
    return {
      metadata: {
        name: `${about.name.slice(0, MAX_NAME)}.${random.uuid().replaceAll("-", "").slice(0, 16)}`,
        namespace,
      },
      eventTime: timestamp(now),
      reportingController: component,
      reportingInstance: instance.slice(0, 128),
      action: reason,
      reason,
      regarding: { ...about },
      note,
      type,
    };
  }

  return {
    event(about, type, reason, message) {
      if (closing) return;
      const now = clock.now();
      const object = `${about.kind} ${about.namespace ?? ""} ${about.name} ${about.uid ?? ""}`;
      const note = shorten(message, MAX_NOTE_BYTES);
      const key = `${object} ${type} ${reason} ${note}`;
      const known = series.get(key);
      if (known !== undefined && now - known.lastAt < SERIES_MS) {
        known.count++;
        known.lastAt = now;
        armSweep();
        return;
      }
      if (!takeToken(object, now)) {
        logger.debug("an event was dropped: too many about this object", { about: object, reason });
        return;
      }
      const event = newEvent(about, type, reason.slice(0, MAX_REASON), note, now);
      const item: Series = { key, event, count: 1, lastAt: now, sentCount: 0, queued: false };
      series.set(key, item);
      enqueue(item);
      armSweep();
    },

    async close(ms = 5000) {
      closing = true;
      cancelSweep?.();
      for (const item of series.values()) if (item.count > item.sentCount) enqueue(item);
      const cancel = clock.after(ms, () => stopping.abort());
      await working;
      cancel();
      stopping.abort();
    },
  };
}

function isTransient(error: unknown): boolean {
  if (error instanceof TransportError) return true;
  return error instanceof StatusError && (error.code === 429 || error.code >= 500);
}

/** The namespace is being deleted: it takes no new objects. */
export function isTerminating(error: unknown): boolean {
  if (!(error instanceof StatusError) || error.code !== 403) return false;
  return (error.status.details?.causes ?? []).some(({ reason }) => reason === "NamespaceTerminating");
}

/** At most `bytes` of UTF-8, without half a character at the end. */
function shorten(text: string, bytes: number): string {
  const encoded = Buffer.from(text, "utf8");
  if (encoded.length <= bytes) return text;
  return `${encoded
    .subarray(0, bytes - 4)
    .toString("utf8")
    .replace(/\uFFFD+$/, "")}…`;
}

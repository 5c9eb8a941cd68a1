import { type Outcome, retry } from "#kube/outcome.ts";
import type { Clock, Logger, Random } from "#kube/ports.ts";
import { isConflict } from "#kube/transport.ts";
import { type AddOptions, type QueueStats, WorkQueue } from "#kube/work-queue.ts";

export interface ControllerOptions {
  /** For logs and metrics, e.g. `run-ttl`. */
  readonly name: string;
  /**
   * One pass over a key: look at what is, do what is due. The signal is aborted when the controller stops or the
   * deadline of the pass is over; the pass should then end soon.
   */
  readonly reconcile: (key: string, signal: AbortSignal) => Promise<Outcome>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Passes at the same time, never two over one key; default 1. */
  readonly workers?: number;
  /** How long one pass may take in milliseconds; default 60,000. */
  readonly deadlineMs?: number;
  /** Back-off of failing keys in milliseconds; defaults 100 and 60,000. */
  readonly baseDelayMs?: number;
  readonly maxDelayMs?: number;
  /** Told of every fatal outcome, so that it can be recorded (event, condition). Must not throw. */
  readonly onFatal?: (key: string, outcome: Extract<Outcome, { kind: "fatal" }>) => void;
}

export interface ControllerMetrics {
  /** Passes that ended with each outcome; conflicts are apart from other retries. */
  readonly outcomes: Readonly<Record<Outcome["kind"] | "conflict", number>>;
  /** Passes that threw instead of returning an outcome; also counted as retry or conflict. */
  readonly thrown: number;
  /** Passes that took longer than the deadline. */
  readonly overdue: number;
  /** Milliseconds spent in passes. */
  readonly busyMs: number;
  readonly queue: QueueStats;
}

export interface Controller {
  readonly name: string;
  /** Asks for a pass over a key. Keys added before `start` wait for it. */
  enqueue(key: string, options?: AddOptions): void;
  /** How often in a row passes over this key failed. */
  failures(key: string): number;
  /** Starts the workers; they end when the signal is aborted or by {@link stop}. */
  start(signal?: AbortSignal): void;
  /** Takes no more keys, aborts the passes that run, and waits for them. */
  stop(): Promise<void>;
  /** Resolves when no key is ready and no pass runs; keys with a delay may wait. For tests and simulation. */
  idle(): Promise<void>;
  metrics(): ControllerMetrics;
}

/** A pass exceeded its deadline. What to do: find out what it waits for; every wait needs a limit of its own. */
export class PassOverdueError extends Error {
  override readonly name = "PassOverdueError";

  constructor(controller: string, key: string, ms: number) {
    super(`${controller}: the pass over ${key} took longer than ${ms} ms`);
  }
}

/** A queue with workers that call `reconcile` and turn its outcomes into queue calls. */
export function createController(options: ControllerOptions): Controller {
  const { name, reconcile, clock, logger } = options;
  const deadlineMs = options.deadlineMs ?? 60_000;
  const queue = new WorkQueue(options);
  const stopping = new AbortController();
  const outcomes = { done: 0, after: 0, retry: 0, fatal: 0, conflict: 0 };
  let thrown = 0;
  let overdue = 0;
  let busyMs = 0;
  let running: Promise<void>[] | undefined;
  let idlers: (() => void)[] = [];

  async function pass(key: string): Promise<Outcome> {
    const limit = new AbortController();
    const stop = () => limit.abort(stopping.signal.reason);
    stopping.signal.addEventListener("abort", stop, { once: true });
    if (stopping.signal.aborted) stop();
    const cancel = clock.after(deadlineMs, () => {
      overdue++;
      const error = new PassOverdueError(name, key, deadlineMs);
      logger.warn(error.message, { key });
      limit.abort(error);
    });
    const begun = clock.monotonic();
    try {
      const outcome = await reconcile(key, limit.signal);
      // A time that could not be read would otherwise mean "at once", again and again.
      if (outcome.kind === "after" && Number.isNaN(outcome.ms)) throw new Error(`no time to wait: ${outcome.why}`);
      return outcome;
    } catch (error) {
      thrown++;
      return retry(error);
    } finally {
      cancel();
      stopping.signal.removeEventListener("abort", stop);
      busyMs += clock.monotonic() - begun;
    }
  }

  /** The only place that turns an outcome into queue calls. */
  function finish(key: string, outcome: Outcome): void {
    switch (outcome.kind) {
      case "done":
        outcomes.done++;
        queue.forget(key);
        return;
      case "after":
        outcomes.after++;
        queue.forget(key); // a planned wait is no failure
        queue.add(key, { afterMs: outcome.ms });
        logger.debug(`${name}: waits`, { key, ms: outcome.ms, why: outcome.why });
        return;
      case "retry": {
        if (stopping.signal.aborted) return; // failing is what an aborted pass does
        const delayMs = Math.round(queue.retry(key));
        if (outcome.withinMs !== undefined) queue.add(key, { afterMs: outcome.withinMs });
        if (isConflict(outcome.error)) {
          // Somebody else wrote first. Ordinary, and over as soon as the cache has caught up.
          outcomes.conflict++;
          logger.debug(`${name}: conflict`, { key, delayMs });
        } else {
          outcomes.retry++;
          logger.warn(`${name}: pass failed`, { key, delayMs, failures: queue.failures(key), error: outcome.error });
        }
        return;
      }
      case "fatal":
        outcomes.fatal++;
        queue.forget(key);
        logger.error(`${name}: gave up`, { key, reason: outcome.reason, cause: outcome.message });
        options.onFatal?.(key, outcome);
        return;
      default:
        outcome satisfies never;
    }
  }

  function noteIdle(): void {
    const { depth, processing } = queue.stats();
    if (depth > 0 || processing > 0) return;
    const waiting = idlers;
    idlers = [];
    for (const resolve of waiting) resolve();
  }

  async function work(): Promise<void> {
    for (let key = await queue.next(); key !== undefined; key = await queue.next()) {
      const outcome = await pass(key);
      try {
        finish(key, outcome);
      } catch (error) {
        logger.error(`${name}: could not record the outcome`, { key, error });
      }
      queue.done(key);
      noteIdle();
    }
  }

  async function stop(): Promise<void> {
    stopping.abort(new Error(`controller ${name} stops`));
    await queue.close();
    await Promise.all(running ?? []);
    noteIdle();
  }

  return {
    name,
    enqueue: (key, add) => queue.add(key, add),
    failures: (key) => queue.failures(key),
    start(signal) {
      if (running !== undefined) throw new Error(`controller ${name} was started before`);
      running = [];
      if (signal?.aborted) void stop();
      else {
        running = Array.from({ length: options.workers ?? 1 }, work);
        signal?.addEventListener("abort", () => void stop(), { once: true });
      }
    },
    stop,
    idle() {
      return new Promise((resolve) => {
        idlers.push(resolve);
        noteIdle();
      });
    },
    metrics: () => ({ outcomes: { ...outcomes }, thrown, overdue, busyMs, queue: queue.stats() }),
  };
}

import { backoff } from "#kube/backoff.ts";
import type { Cancel } from "#kube/ports.ts";
import type { StatusError, TransportError } from "#kube/transport.ts";
import { type CacheDeps, createCaches, objectsOf } from "./caches.ts";
import { Engine, type Outcome, type Task } from "./engine.ts";
import type { Plugins } from "./framework.ts";
import { newCounters, type SchedulerMetrics } from "./metrics.ts";
import { defaultPlugins } from "./plugins.ts";
import { write } from "./writer.ts";

export interface SchedulerDeps extends CacheDeps {
  /** Status writes at the same time; default 25. More make an API server on two cores slower, not faster. */
  readonly maxWrites?: number;
  /** Filters and scores; default {@link defaultPlugins}. */
  readonly plugins?: Plugins;
}

export interface Scheduler {
  /** Fills the caches, then places Runs; resolves when that begins, or when the signal is aborted first. Called once. */
  start(signal: AbortSignal): Promise<void>;
  /** Makes no more decisions and waits for the writes that are under way. */
  stop(): Promise<void>;
  metrics(): SchedulerMetrics;
}

/** Of the writes at the same time, so many may only tell why Runs wait: telling must not delay placing. */
const maxReports = 5;

/** Pause after the API server failed, in milliseconds; doubled by each further failure. */
const troubleBaseMs = 100;
const troubleMaxMs = 10_000;

/** A timer beyond about 24.8 days fires at once in Node. */
const longestSleepMs = 3_600_000;

/**
 * Places Pending Runs on Runtime Pods. Decisions are made one after the other in memory; their writes run side by side, each with a
 * reservation that is given back when the write does not succeed.
 */
export function createScheduler(deps: SchedulerDeps): Scheduler {
  const { client, clock, random, logger } = deps;
  const maxWrites = deps.maxWrites ?? 25;
  const caches = createCaches(deps);
  const counters = newCounters();
  const engine = new Engine(objectsOf(caches), deps.plugins ?? defaultPlugins, clock, counters);
  const stopping = new AbortController();
  /** The last write of each Run: two writes of one Run never overlap. */
  const writes = new Map<string, Promise<void>>();
  let inFlight = 0;
  let reporting = 0;
  let running = false;
  let kicked = false;
  let cancelTimer: Cancel | undefined;
  let troubles = 0;
  let quietUntil = Number.NEGATIVE_INFINITY;

  caches.runtimes.onChange((old, next) => changed(() => engine.view.runtimeChanged(old, next)));
  caches.replicaSets.onChange((old, next) => changed(() => engine.view.replicaSetChanged(old, next)));
  caches.pods.onChange((old, next) => changed(() => engine.view.podChanged(old, next)));
  caches.workspaces.onChange((old, next) => changed(() => engine.view.workspaceChanged(old, next)));
  caches.runs.onChange((old, next) => changed(() => engine.runChanged(old, next)));

  function changed(note: () => void): void {
    note();
    kick();
  }

  /** Decides soon: after all that is known by now has been noted. */
  function kick(): void {
    if (!running || kicked) return;
    kicked = true;
    queueMicrotask(() => {
      kicked = false;
      pump();
    });
  }

  /** Makes decisions while there is something to decide and a write may begin. */
  function pump(): void {
    if (!running) return;
    cancelTimer?.();
    cancelTimer = undefined;
    let due: number | undefined;
    if (clock.monotonic() < quietUntil) due = quietUntil;
    else if (decideAll() === "more") due = clock.monotonic();
    else if (inFlight < maxWrites) due = engine.nextDue(reporting < maxReports);
    if (due !== undefined) wakeAt(due);
  }

  /** Begins a write for each decision; "more" when watch events and answers should get a chance to come in between. */
  function decideAll(): "more" | undefined {
    while (inFlight < maxWrites) {
      const task = engine.next(reporting < maxReports);
      if (task === "more") return task;
      if (task === undefined) return undefined;
      void perform(task);
    }
    return undefined;
  }

  function wakeAt(due: number): void {
    const ms = Math.min(longestSleepMs, Math.max(0, due - clock.monotonic()));
    cancelTimer = clock.after(ms, () => {
      cancelTimer = undefined;
      pump();
    });
  }

  async function perform(task: Task): Promise<void> {
    const { uid } = task.run;
    inFlight++;
    if (task.intent.kind === "wait") reporting++;
    const done = carryOut(task, writes.get(uid));
    writes.set(uid, done);
    await done;
    if (writes.get(uid) === done) writes.delete(uid);
    inFlight--;
    if (task.intent.kind === "wait") reporting--;
    kick();
  }

  async function carryOut(task: Task, before: Promise<void> | undefined): Promise<void> {
    await before;
    let outcome: Outcome = { kind: "failed" };
    try {
      outcome = await write(task, { client, clock, logger, informer: caches.runs, signal: stopping.signal, onTrouble });
      if (outcome.kind === "written") {
        troubles = 0;
        tell(task);
      }
    } catch (error) {
      logger.error("a write ended in an unexpected way", { run: task.run.key, error });
    }
    engine.finished(task, outcome);
  }

  function tell({ run, intent }: Task): void {
    if (intent.kind === "takeBack") logger.warn("scheduler: taken back, its Pod did not claim it", { run: run.key });
    else logger.debug(`scheduler: ${intent.kind}`, { run: run.key, ...intent });
  }

  /** The API server is ill or asks for patience: everybody waits, or every Pending Run would try in its turn. */
  function onTrouble(error: StatusError | TransportError): void {
    troubles++;
    const asked = "retryAfterMs" in error ? (error.retryAfterMs ?? 0) : 0;
    const pause = Math.max(asked, backoff(troubles, troubleBaseMs, troubleMaxMs, random));
    quietUntil = Math.max(quietUntil, clock.monotonic() + pause);
  }

  const informers = Object.values(caches);

  return {
    async start(signal) {
      signal.addEventListener("abort", () => stopping.abort(signal.reason), { once: true });
      if (signal.aborted) stopping.abort(signal.reason);
      for (const informer of informers) informer.start(stopping.signal);
      try {
        await Promise.all(informers.map((informer) => informer.whenSynced(stopping.signal)));
      } catch (error) {
        if (stopping.signal.aborted) return;
        throw error;
      }
      logger.info("scheduler: caches are filled", { ...engine.sizes, pods: caches.pods.size });
      running = true;
      stopping.signal.addEventListener("abort", halt, { once: true });
      pump();
    },

    async stop() {
      halt();
      stopping.abort(new Error("the scheduler stops"));
      await Promise.all(writes.values());
      await Promise.all(informers.map((informer) => informer.stopped()));
    },

    metrics: () => ({ ...counters, written: { ...counters.written }, ...engine.sizes, inFlight }),
  };

  function halt(): void {
    running = false;
    cancelTimer?.();
    cancelTimer = undefined;
  }
}

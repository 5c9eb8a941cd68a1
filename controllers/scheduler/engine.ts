import { jsonEqual } from "#api/json.ts";
import type { Run, RunStatus } from "#api/kinds/run.ts";
import { isTerminal } from "#api/runs.ts";
import { Claims, claimMs } from "./claims.ts";
import { ClusterView, type Waker } from "./cluster-view.ts";
import { type Decision, decide, lacksOnlyRoom } from "./decide.ts";
import { DueSet } from "./due-set.ts";
import type { Waiting } from "./explain.ts";
import type { Plugins } from "./framework.ts";
import { type Change, Ledger } from "./ledger.ts";
import type { Counters } from "./metrics.ts";
import type { Objects } from "./objects.ts";
import type { Intent } from "./observe.ts";
import { Pauses } from "./pauses.ts";
import { podKey } from "./pod-view.ts";
import { bounceDelay } from "./policies/bounced.ts";
import { pendingAction } from "./policies/pending.ts";
import { Queue } from "./queue.ts";
import { Reports } from "./reports.ts";
import { classKey, type Entry, type RunClass } from "./run-class.ts";
import { canUse, type Slot } from "./slot.ts";
import { affinityTopic, capacityTopic, podTopic } from "./topics.ts";
import { helps, type Workload, workloadOf } from "./workload.ts";

/** So many Runs may overtake one that needs more room; then a Pod is kept free for it. */
export const maxOvertaken = 16;

/** Fruitless decisions in a row before the caller gets a chance to do something else. */
const maxFruitless = 32;

/** A report that could not be written is tried again after this time. */
const reportAgainMs = 1000;

/** A write that the caller is to make. Until {@link Engine.finished} the engine leaves the Run alone, but for waiting reports. */
export interface Task {
  readonly run: Workload;
  readonly intent: Intent;
}

export type Outcome =
  /** The status was written and the cache shows it. */
  | { readonly kind: "written" }
  /** The Run is no longer what it was when the decision was made; if given, `version` is one that is known to be old. */
  | { readonly kind: "superseded"; readonly version?: string | undefined }
  /** It was written, but nobody has shown us yet; `version` is the one before. */
  | { readonly kind: "unseen"; readonly version: string | undefined }
  /** The write failed, and did not take effect. */
  | { readonly kind: "failed" };

/** The part of the two clocks that decisions need. */
export interface Times {
  /** Milliseconds since the epoch: for times in objects. */
  now(): number;
  /** For everything that is measured here. */
  monotonic(): number;
}

/**
 * The scheduler without its connections: told of every change of an object, asked for the next thing to write. All decisions are
 * made here, one after the other; everything is kept by differences and can be rebuilt from the caches.
 */
export class Engine implements Waker {
  readonly view: ClusterView;
  readonly #objects: Objects;
  readonly #plugins: Plugins;
  readonly #times: Times;
  readonly #counters: Counters;
  readonly #ledger = new Ledger();
  readonly #queue = new Queue();
  readonly #reports: Reports;
  /** What is known of each Run that has not ended. */
  readonly #workloads = new Map<string, Workload>();
  /** Pending Runs that are not to be placed yet, by UID, with the time at which they are looked at again. */
  readonly #sleeping = new DueSet();
  readonly #pauses = new Pauses();
  readonly #claims = new Claims();
  /** Runs that are to be cancelled, failed or taken back, in the order in which that was seen. */
  readonly #urgent = new Map<string, Intent>();
  readonly #busy = new Set<string>();
  #arrivals = 0;

  constructor(objects: Objects, plugins: Plugins, times: Times, counters: Counters) {
    this.#objects = objects;
    this.#plugins = plugins;
    this.#times = times;
    this.#counters = counters;
    this.view = new ClusterView(objects, this.#ledger, this);
    this.#reports = new Reports(this.#queue);
  }

  get ledger(): Ledger {
    return this.#ledger;
  }

  /** Pending Runs in the queue, Runs that back off, Runs charged to Pods. */
  get sizes(): { pending: number; sleeping: number; active: number } {
    return { pending: this.#queue.size, sleeping: this.#sleeping.size, active: this.#ledger.active };
  }

  wakePool(...args: Parameters<Queue["wake"]>): void {
    this.#counters.woken += this.#queue.wake(...args);
  }

  wakeNamespace(...args: Parameters<Queue["wakeNamespace"]>): void {
    this.#counters.woken += this.#queue.wakeNamespace(...args);
  }

  /** A Run changed. `next` is undefined when it was deleted, or left the watch because it has ended. */
  runChanged(old: Run | undefined, next: Run | undefined): void {
    if (next === undefined || isTerminal(next.status?.phase)) {
      const uid = (next ?? old)?.metadata.uid;
      if (uid !== undefined) this.#left(uid);
      return;
    }
    const run = this.#workloadOf(next);
    const { phase = "Pending", assignmentEpoch: epoch = 0, assignedPodUID } = next.status ?? {};
    const active = phase !== "Pending";
    this.#apply(this.#ledger.observe(run, epoch, active ? assignedPodUID : undefined));
    this.#trackClaim(next, run, old);
    if (active) this.#unqueue(run.uid);
    else {
      const cameBack = old?.metadata.uid === run.uid && old.status?.phase === "Scheduled";
      const delay = cameBack ? bounceDelay(next.status) : 0;
      if (delay > 0) this.#pauses.pause(run.uid, this.#times.monotonic() + delay);
      if (!this.#busy.has(run.uid)) this.#route(next, run);
    }
  }

  /**
   * The next write to make, or undefined when there is none now. "more" means that many decisions found no Pod and there may be
   * further ones: call again soon.
   * @param reports whether writes that only tell why Runs wait are welcome
   */
  next(reports: boolean): Task | "more" | undefined {
    this.#awake();
    for (const [uid, intent] of this.#urgent) {
      this.#urgent.delete(uid);
      const run = this.#workloads.get(uid);
      if (run === undefined || this.#busy.has(uid)) continue;
      this.#unqueue(uid);
      this.#busy.add(uid);
      return { run, intent };
    }
    for (let fruitless = 0; fruitless < maxFruitless; fruitless++) {
      const entry = this.#queue.next();
      if (entry === undefined) return reports ? this.#nextReport() : undefined;
      const task = this.#try(entry);
      if (task !== undefined) return task;
    }
    return "more";
  }

  /**
   * Monotonic time at which {@link next} may have something to do although nothing happens.
   * @param reports as for {@link next}
   */
  nextDue(reports: boolean): number | undefined {
    const dues = [this.#sleeping.next(), this.#claims.next(), reports ? this.#reports.nextDue() : undefined];
    return dues.reduce(
      (first, due) => (due !== undefined && (first === undefined || due < first) ? due : first),
      undefined,
    );
  }

  /** How the write of a task ended. */
  finished({ run, intent }: Task, outcome: Outcome): void {
    const written = outcome.kind === "written" || outcome.kind === "unseen";
    if (written) this.#counters.written[intent.kind]++;
    else if (outcome.kind === "failed") this.#counters.failures++;
    else this.#counters.conflicts++;
    const { uid } = run;
    const now = this.#times.monotonic();
    if (intent.kind === "wait") {
      // The Run is in the queue all the while; it is told again when its time comes.
      if (!written) this.#reports.again(uid, now + reportAgainMs);
      return;
    }
    this.#busy.delete(uid);
    if (written) this.#pauses.succeeded(uid);
    else this.#apply(this.#ledger.release(uid));
    if (outcome.kind === "failed") this.#pauses.failed(uid, now);
    if (outcome.kind === "unseen") this.#pauses.awaitOwn(uid, outcome.version);
    if (outcome.kind === "superseded" && outcome.version !== undefined) {
      this.#pauses.awaitNewer(uid, outcome.version, now);
    }
    this.#review(uid);
  }

  /** Looks at a Run as the cache has it now. */
  #review(uid: string): void {
    const run = this.#workloads.get(uid);
    const object = run && this.#objects.run(run.key);
    if (run === undefined || object?.metadata.uid !== uid) return;
    const now = this.#times.monotonic();
    const phase = object.status?.phase ?? "Pending";
    if (phase === "Pending") this.#route(object, run);
    else this.#claims.again(uid, this.#pauses.until(uid, object.metadata.resourceVersion, now) ?? now + claimMs);
  }

  /** Decides what becomes of a Pending Run that nobody writes to at the moment. */
  #route(object: Run, run: Workload): void {
    const { uid } = run;
    const now = this.#times.monotonic();
    const until = this.#pauses.until(uid, object.metadata.resourceVersion, now);
    if (until !== undefined) {
      this.#unqueue(uid);
      if (until < Number.POSITIVE_INFINITY) this.#sleeping.set(uid, until);
      return;
    }
    this.#sleeping.delete(uid);
    const action = pendingAction(object, this.#times.now());
    switch (action.kind) {
      case "leave":
        this.#unqueue(uid);
        return;
      case "cancel":
      case "invalid":
        this.#urgent.set(uid, { kind: action.kind });
        return;
      case "sleep":
        this.#unqueue(uid);
        // Whole milliseconds: a remainder that rounding leaves must not wake us again and again.
        this.#sleeping.set(uid, now + Math.ceil(action.until - this.#times.now()));
        return;
      case "place":
        this.#enqueue(object, run, now);
    }
  }

  #enqueue(object: Run, run: Workload, now: number): void {
    const entry = this.#queue.add(run, now);
    this.#reports.seen(entry, object.status, now);
    // A Pod that is kept free for a Run behind this one is open to it, though the others of its class were refused.
    const held = this.#ledger.holding > 0 && entry.cls?.waiting !== undefined && entry.cls.head() === entry;
    if (held) this.#queue.reopen(entry);
  }

  #unqueue(uid: string): void {
    this.#sleeping.delete(uid);
    if (this.#urgent.get(uid)?.kind !== "takeBack") this.#urgent.delete(uid); // that one is no matter of the queue
    this.#reports.forget(uid);
    if (this.#queue.remove(uid) !== undefined) this.#unhold(uid);
  }

  /** Decides for the first Run of a class: reserves its Pod, or makes the class wait. */
  #try(entry: Entry): Task | undefined {
    const { run, cls } = entry;
    if (cls === undefined) return undefined;
    const hinted = cls.hints.size > 0;
    const pods = hinted ? this.#usable(cls.hints, run) : undefined;
    if (pods?.length === 0) {
      cls.hints.clear(); // somebody else has taken it meanwhile
      return undefined;
    }
    const decision = this.#decide(run, pods);
    if (decision.kind === "refused") {
      if (!decision.byLabels || !this.#separate(entry)) cls.hints.clear();
      return undefined;
    }
    if (decision.kind === "wait") {
      this.#block(entry, decision);
      return undefined;
    }
    const { view, key } = decision.slot;
    const object = this.#objects.run(run.key);
    if (view === undefined || object?.metadata.uid !== run.uid) {
      this.#unqueue(run.uid); // it is gone; its event is on the way
      return undefined;
    }
    this.#busy.add(run.uid);
    this.#unqueue(run.uid);
    this.#queue.noteOvertaking(run, key, maxOvertaken);
    this.#apply(this.#ledger.assume(run, key, (object.status?.assignmentEpoch ?? 0) + 1));
    return { run, intent: { kind: "assign", pod: view.name, podUID: view.uid } };
  }

  #decide(run: Workload, only: readonly Slot[] | undefined): Decision {
    const begin = this.#times.monotonic();
    const decision = decide(run, this.view, this.#plugins, only);
    const took = this.#times.monotonic() - begin;
    const counters = this.#counters;
    counters.decisionMs += took;
    if (took > counters.slowestDecisionMs) counters.slowestDecisionMs = took;
    if (decision.kind === "place") counters.placed++;
    else counters.waited++;
    return decision;
  }

  /** The Pods of these that have room for the Run. */
  #usable(podKeys: Iterable<string>, run: Workload): Slot[] {
    const slots: Slot[] = [];
    for (const key of podKeys) {
      const slot = this.#ledger.slot(key);
      if (slot !== undefined && canUse(slot, run)) slots.push(slot);
    }
    return slots;
  }

  #block(entry: Entry, waiting: Waiting): void {
    const { run, cls } = entry;
    if (cls === undefined) return;
    if (waiting.byLabels && this.#separate(entry)) return;
    this.#queue.block(entry, waiting);
    this.#reports.blocked(cls, waiting, this.#times.monotonic());
    this.#reviewHolds(cls);
    if (entry.overtaken < maxOvertaken || waiting.hopeless) return;
    const held = this.#ledger.heldBy(run.uid);
    if (held === undefined && waiting.holdable !== undefined) this.#ledger.hold(run, waiting.holdable);
  }

  /** A Pod is not kept free for a Run that could not use it with all its room: whoever comes after would wait for nothing. */
  #reviewHolds(cls: RunClass): void {
    for (const uid of [...this.#ledger.holders]) {
      const entry = this.#queue.get(uid);
      const held = this.#ledger.heldBy(uid);
      if (entry?.cls !== cls || held === undefined) continue;
      if (!lacksOnlyRoom(entry.run, held, this.view, this.#plugins)) this.#unhold(uid);
    }
  }

  /** A Run that is refused for its labels leaves a class whose others have other labels and may do better. */
  #separate(entry: Entry): boolean {
    if (entry.cls?.key === classKey(entry.run, true)) return false;
    this.#queue.separate(entry);
    return true;
  }

  #nextReport(): Task | undefined {
    const report = this.#reports.take(this.#times.monotonic());
    return report && { run: report.run, intent: { kind: "wait", reason: report.reason, message: report.message } };
  }

  /** What has slept long enough, and what has been unclaimed for too long. */
  #awake(): void {
    const now = this.#times.monotonic();
    for (let uid = this.#sleeping.take(now); uid !== undefined; uid = this.#sleeping.take(now)) {
      if (!this.#busy.has(uid)) this.#review(uid);
    }
    for (let uid = this.#claims.take(now); uid !== undefined; uid = this.#claims.take(now)) {
      this.#urgent.set(uid, { kind: "takeBack", epoch: this.#claims.epochOf(uid) ?? 0 });
    }
  }

  /** Follows an assignment to its claim, and remembers which Pods let one lie. */
  #trackClaim(object: Run, run: Workload, old: Run | undefined): void {
    const { uid, namespace } = run;
    const status: Partial<RunStatus> = object.status ?? {};
    const waited = this.#claims.epochOf(uid) !== undefined;
    this.#claims.seen(uid, status, this.#times.monotonic());
    if (!waited || status.phase === "Scheduled") return;
    if (this.#urgent.get(uid)?.kind === "takeBack") this.#urgent.delete(uid);
    if (status.phase === "Running" && status.assignedPodUID !== undefined) {
      this.#ledger.setUnresponsive(podKey(namespace, status.assignedPodUID), false);
    } else if (status.reason === "TakenBack" && old?.status?.assignedPodUID !== undefined) {
      this.#ledger.setUnresponsive(podKey(namespace, old.status.assignedPodUID), true);
    }
  }

  #left(uid: string): void {
    this.#unqueue(uid);
    this.#urgent.delete(uid);
    this.#workloads.delete(uid);
    this.#pauses.forget(uid);
    this.#claims.forget(uid);
    this.#apply(this.#ledger.forget(uid));
  }

  #unhold(uid: string): void {
    const slot = this.#ledger.unhold(uid);
    if (slot !== undefined) this.#freed(slot.key);
  }

  /** Wakes what waits for changes of charges. */
  #apply(changes: readonly Change[]): void {
    for (const { kind, slot, workload } of changes) {
      this.wakePool(workload.pool, affinityTopic, (head) => helps(kind, workload, head));
      if (kind === "freed") this.#freed(slot.key);
    }
  }

  /** Something was freed on a Pod: opens the classes whose first Run fits there now. */
  #freed(key: string): void {
    const slot = this.#ledger.slot(key);
    const pool = slot?.view?.pool;
    if (slot === undefined || pool === undefined) return;
    const test = (head: Workload) => canUse(slot, head);
    this.#counters.woken += this.#queue.hint(pool, capacityTopic, key, test);
    this.#counters.woken += this.#queue.hint(pool, podTopic(key), key, test);
  }

  #workloadOf(object: Run): Workload {
    const uid = object.metadata.uid ?? "";
    const known = this.#workloads.get(uid);
    if (known !== undefined && jsonEqual(known.labels, object.metadata.labels ?? {})) return known;
    const run = workloadOf(object, known?.arrival ?? this.#arrivals++);
    this.#workloads.set(uid, run);
    return run;
  }
}

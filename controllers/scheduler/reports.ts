import type { RunStatus } from "#api/kinds/run.ts";
import type { WaitingReason } from "#api/reasons.ts";
import { DueSet } from "./due-set.ts";
import type { Waiting } from "./explain.ts";
import { reportWaiting, type Written } from "./policies/waiting.ts";
import type { Queue } from "./queue.ts";
import type { Entry, RunClass } from "./run-class.ts";
import type { Workload } from "./workload.ts";

/** A Run whose status is to say why it waits. */
export interface WaitReport {
  readonly run: Workload;
  readonly reason: WaitingReason;
  readonly message: string;
}

/** A class that is open is tried soon; whether it waits will be known then. */
const openMs = 1000;

/** Runs that are looked at in one go, so that 100,000 of them do not hold up everything else. */
const chunk = 1000;

/**
 * Tells when the status of a waiting Run is to say why. Runs are looked at when their time comes, never all of them, and without a
 * decision of their own: the reason of their class is theirs.
 */
export class Reports {
  readonly #queue: Queue;
  readonly #due = new DueSet();
  readonly #written = new Map<string, Written>();
  /** Runs of classes that wait for a new reason, to be looked at bit by bit. */
  readonly #sweeps = new Map<RunClass, Iterator<Entry>>();

  constructor(queue: Queue) {
    this.#queue = queue;
  }

  nextDue(): number | undefined {
    return this.#sweeps.size > 0 ? 0 : this.#due.next();
  }

  /** A Run is in the queue; `status` is what it says at the moment. */
  seen(entry: Entry, status: RunStatus | undefined, now: number): void {
    const { uid } = entry.run;
    const old = this.#written.get(uid);
    if (old === undefined || old.reason !== status?.reason || old.message !== status?.message) {
      this.#written.set(uid, { reason: status?.reason, message: status?.message, at: now });
    }
    if (old === undefined) this.#due.set(uid, now + openMs);
    if (entry.cls?.waiting !== undefined) this.#look(entry, now);
  }

  /** A Run has left the queue. */
  forget(uid: string): void {
    this.#due.delete(uid);
    this.#written.delete(uid);
  }

  /** A decision made a class wait. All of its Runs are looked at only when the reason is a new one. */
  blocked(cls: RunClass, waiting: Waiting, now: number): void {
    if (cls.reason !== waiting.reason) {
      cls.reason = waiting.reason;
      cls.reasonSince = now;
      this.#sweeps.set(cls, cls.entries[Symbol.iterator]());
      return;
    }
    const head = cls.head();
    if (head !== undefined) this.#look(head, now);
  }

  /** The write of a report did not succeed. */
  again(uid: string, at: number): void {
    if (this.#queue.get(uid) !== undefined) this.#due.set(uid, at);
  }

  /** The next Run whose time has come; undefined also when there is more to look at: {@link nextDue} tells. */
  take(now: number): WaitReport | undefined {
    let looks = this.#sweep(now, chunk);
    for (; looks > 0; looks--) {
      const uid = this.#due.take(now);
      if (uid === undefined) return undefined;
      const entry = this.#queue.get(uid);
      const waiting = entry?.cls?.waiting;
      if (entry === undefined) continue;
      if (waiting === undefined) this.#due.set(uid, now + openMs);
      else if (this.#look(entry, now)) {
        this.#due.delete(uid);
        return { run: entry.run, reason: waiting.reason, message: waiting.message };
      }
    }
    return undefined;
  }

  /** Looks at Runs of classes with a new reason; returns how many of the `looks` are left. */
  #sweep(now: number, looks: number): number {
    let left = looks;
    for (const [cls, entries] of this.#sweeps) {
      for (; left > 0; left--) {
        const next = entries.next();
        if (next.done) {
          this.#sweeps.delete(cls);
          break;
        }
        this.#look(next.value, now);
      }
      if (left === 0) break;
    }
    return left;
  }

  /** Sets the time at which the Run is looked at; true when that is now. */
  #look(entry: Entry, now: number): boolean {
    const { cls, run, since } = entry;
    const written = this.#written.get(run.uid);
    if (cls?.waiting === undefined || written === undefined) return false;
    const { reason, message, hopeless } = cls.waiting;
    const report = reportWaiting({ reason, message, hopeless, since, reasonSince: cls.reasonSince }, written, now);
    switch (report.kind) {
      case "nothing":
        this.#due.delete(run.uid);
        return false;
      case "later":
        this.#due.set(run.uid, report.at);
        return false;
      case "write":
        this.#due.set(run.uid, now);
        return true;
    }
  }
}

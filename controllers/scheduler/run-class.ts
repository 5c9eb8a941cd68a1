import { stableJson } from "#api/json.ts";
import { Heap } from "#kube/heap.ts";
import type { Waiting } from "./explain.ts";
import { isBefore, type Workload } from "./workload.ts";

/** A Pending Run in the queue. */
export interface Entry {
  readonly run: Workload;
  /** Monotonic time since which it waits. */
  readonly since: number;
  /** How many Runs that come after it were placed while no Pod had room for it. */
  overtaken: number;
  /** Undefined once it has left the queue. */
  cls: RunClass | undefined;
}

/**
 * Pending Runs of one pool that every Pod answers alike: same requests, workspace, references and required affinity. When the first of
 * them cannot be placed, none can, so one decision stands for thousands of Runs.
 */
export class RunClass {
  readonly key: string;
  /** Set since no Pod could take the first Run: why, and what would wake the class. */
  waiting: Waiting | undefined;
  /**
   * Pods on which something was freed since then. All others still refuse the first Run, so only these are tried: a place that
   * becomes free costs a look at one Pod and not at all of them.
   */
  readonly hints = new Set<string>();
  /** The reason of the last time it was blocked, and since when (monotonic) it has been that one. */
  reason: Waiting["reason"] | undefined;
  reasonSince = 0;
  readonly #members = new Set<Entry>();
  readonly #heap = new Heap<Entry>((a, b) => isBefore(a.run, b.run));

  constructor(key: string) {
    this.key = key;
  }

  get size(): number {
    return this.#members.size;
  }

  /** Whether there is nothing to try. */
  get blocked(): boolean {
    return this.waiting !== undefined && this.hints.size === 0;
  }

  /** All its Runs, in no order. */
  get entries(): Iterable<Entry> {
    return this.#members;
  }

  /** The Run that is next in order. Those that have left are not searched for in the heap: they are skipped here. */
  head(): Entry | undefined {
    for (let top = this.#heap.peek(); top !== undefined; top = this.#heap.peek()) {
      if (this.#members.has(top)) return top;
      this.#heap.pop();
    }
    return undefined;
  }

  add(entry: Entry): void {
    entry.cls = this;
    this.#members.add(entry);
    this.#heap.push(entry);
  }

  remove(entry: Entry): void {
    if (!this.#members.delete(entry)) return;
    entry.cls = undefined;
    if (this.#heap.size > 2 * this.size + 64) this.#heap.retain((one) => this.#members.has(one));
  }
}

/**
 * The class of a Run.
 * @param withLabels labels count as well: where Runs on the Pods keep others away by their labels
 */
export function classKey(run: Workload, withLabels = false): string {
  const { required, requiredAnti } = run.affinity;
  const selective = required.length + requiredAnti.length > 0;
  return stableJson([
    run.requests,
    run.exclusive,
    run.workspace ?? null,
    run.references,
    selective ? [required.map((term) => term.key), requiredAnti.map((term) => term.key)] : null,
    selective || withLabels ? run.labels : null,
  ]);
}

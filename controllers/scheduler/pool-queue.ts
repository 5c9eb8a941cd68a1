import { Heap } from "#kube/heap.ts";
import type { Waiting } from "./explain.ts";
import { classKey, type Entry, RunClass } from "./run-class.ts";
import { capacityTopic, podTopic, type Topic } from "./topics.ts";
import { isBefore, type Workload } from "./workload.ts";

interface Position {
  readonly cls: RunClass;
  readonly head: Entry;
}

/**
 * The Pending Runs of one Runtime, by class. Classes that may be placed are tried in the order of their first Runs; a blocked class
 * is not tried before one of its topics is woken.
 */
export class PoolQueue {
  readonly key: string;
  readonly #classes = new Map<string, RunClass>();
  readonly #topics = new Map<Topic, Set<RunClass>>();
  /** Classes that may be placed, by their first Runs. A position whose Run is no longer the first of its class is void. */
  readonly #open = new Heap<Position>((a, b) => isBefore(a.head.run, b.head.run));

  constructor(key: string) {
    this.key = key;
  }

  get empty(): boolean {
    return this.#classes.size === 0;
  }

  /** The Run that is tried next. */
  peek(): Entry | undefined {
    for (let top = this.#open.peek(); top !== undefined; top = this.#open.peek()) {
      if (!top.cls.blocked && top.cls.head() === top.head) return top.head;
      this.#open.pop();
    }
    return undefined;
  }

  add(entry: Entry, withLabels = false): RunClass {
    const key = classKey(entry.run, withLabels);
    let cls = this.#classes.get(key);
    if (cls === undefined) {
      cls = new RunClass(key);
      this.#classes.set(key, cls);
    }
    cls.add(entry);
    this.#offer(cls, entry);
    return cls;
  }

  remove(entry: Entry): void {
    const { cls } = entry;
    if (cls === undefined) return;
    const wasHead = cls.head() === entry;
    cls.remove(entry);
    if (cls.size === 0) {
      this.#unsubscribe(cls);
      this.#classes.delete(cls.key);
    } else if (wasHead) {
      this.#offer(cls, cls.head());
    }
  }

  /** Tries a class again without an event: its first Run is one that the others cannot stand for. */
  reopen(cls: RunClass): void {
    this.#unsubscribe(cls);
    this.#offer(cls, cls.head());
  }

  /** The class waits until one of the topics is woken. */
  block(cls: RunClass, waiting: Waiting): void {
    this.#unsubscribe(cls);
    cls.waiting = waiting;
    for (const topic of waiting.topics) {
      const classes = this.#topics.get(topic);
      if (classes === undefined) this.#topics.set(topic, new Set([cls]));
      else classes.add(cls);
    }
  }

  /** Opens the classes that wait for the topic; returns how many. */
  wake(topic: Topic, test?: (head: Workload) => boolean): number {
    let woken = 0;
    for (const cls of [...(this.#topics.get(topic) ?? [])]) {
      const head = cls.head();
      if (head === undefined || (test !== undefined && !test(head.run))) continue;
      this.reopen(cls);
      woken++;
    }
    return woken;
  }

  /** Opens the classes that wait for the topic, but only for one Pod; they keep waiting for their topics beside it. */
  hint(topic: Topic, podKey: string, test: (head: Workload) => boolean): number {
    let woken = 0;
    for (const cls of this.#topics.get(topic) ?? []) {
      const head = cls.head();
      if (head === undefined || cls.hints.has(podKey) || !test(head.run)) continue;
      cls.hints.add(podKey);
      this.#offer(cls, head);
      woken++;
    }
    return woken;
  }

  /**
   * A Run was placed on a Pod: those before it that wait for room there, or anywhere, were overtaken. Each time that happened
   * `limit` times to one of them it is tried again, so that a Pod can be kept free for it.
   */
  noteOvertaking(placed: Workload, podKey: string, limit: number): void {
    for (const topic of [capacityTopic, podTopic(podKey)]) {
      for (const cls of [...(this.#topics.get(topic) ?? [])]) {
        const head = cls.head();
        if (head === undefined || cls.waiting?.reason !== "InsufficientCapacity" || !isBefore(head.run, placed))
          continue;
        head.overtaken++;
        if (head.overtaken % limit === 0) this.reopen(cls);
      }
    }
  }

  #offer(cls: RunClass, entry: Entry | undefined): void {
    if (entry === undefined || cls.blocked || cls.head() !== entry) return;
    this.#open.push({ cls, head: entry });
  }

  #unsubscribe(cls: RunClass): void {
    for (const topic of cls.waiting?.topics ?? []) {
      const classes = this.#topics.get(topic);
      classes?.delete(cls);
      if (classes?.size === 0) this.#topics.delete(topic);
    }
    cls.waiting = undefined;
    cls.hints.clear();
  }
}

import type { Waiting } from "./explain.ts";
import { PoolQueue } from "./pool-queue.ts";
import { Ring } from "./ring.ts";
import type { Entry } from "./run-class.ts";
import type { Topic } from "./topics.ts";
import type { Workload } from "./workload.ts";

interface Namespace {
  /** Pools that have waiting Runs, and those of them whose turn may come. */
  readonly all: Set<PoolQueue>;
  readonly turns: Ring<PoolQueue>;
}

/**
 * All Pending Runs that may be placed as soon as there is room. Within a pool by priority, then age; between namespaces, and between
 * the pools of one namespace, in turns: a long queue of one delays nobody else.
 *
 * A Run that is blocked is looked at again only when something happened that can help it (see `topics.ts`).
 */
export class Queue {
  readonly #entries = new Map<string, Entry>();
  readonly #pools = new Map<string, PoolQueue>();
  /** Namespaces and pools that may have something to try; one that has nothing drops out when its turn comes. */
  readonly #turns = new Ring<Namespace>();
  readonly #namespaces = new Map<string, Namespace>();

  get size(): number {
    return this.#entries.size;
  }

  get(runUID: string): Entry | undefined {
    return this.#entries.get(runUID);
  }

  /**
   * Adds a Run, or takes note of changed labels of one that is in: it keeps its place and its waiting time.
   * @param now monotonic
   */
  add(run: Workload, now: number): Entry {
    const old = this.#entries.get(run.uid);
    if (old?.run === run) return old;
    if (old !== undefined) this.remove(run.uid);
    const entry: Entry = { run, since: old?.since ?? now, overtaken: old?.overtaken ?? 0, cls: undefined };
    this.#entries.set(run.uid, entry);
    const pool = this.#poolOf(run);
    pool.add(entry);
    this.#giveTurn(run.namespace, pool);
    return entry;
  }

  /** Takes a Run out: it was placed, cancelled or deleted. */
  remove(runUID: string): Entry | undefined {
    const entry = this.#entries.get(runUID);
    if (entry === undefined) return undefined;
    this.#entries.delete(runUID);
    const pool = this.#pools.get(entry.run.pool);
    pool?.remove(entry);
    if (pool?.empty) this.#drop(entry.run.namespace, pool);
    return entry;
  }

  /**
   * The Run to try next. It stays in the queue until it is removed, or its class blocked; the turn passes on in any case.
   */
  next(): Entry | undefined {
    for (let namespace = this.#turns.peek(); namespace !== undefined; namespace = this.#turns.peek()) {
      for (let pool = namespace.turns.peek(); pool !== undefined; pool = namespace.turns.peek()) {
        const entry = pool.peek();
        if (entry !== undefined) {
          namespace.turns.rotate();
          this.#turns.rotate();
          return entry;
        }
        namespace.turns.delete(pool.key);
      }
      this.#turns.dropFirst();
    }
    return undefined;
  }

  /** No Pod can take the Run, and so none of its class: they all wait for the topics. */
  block(entry: Entry, waiting: Waiting): void {
    if (entry.cls !== undefined) this.#pools.get(entry.run.pool)?.block(entry.cls, waiting);
  }

  /** Tries the class of a Run again without an event. */
  reopen(entry: Entry): void {
    const pool = this.#pools.get(entry.run.pool);
    if (pool === undefined || entry.cls === undefined) return;
    pool.reopen(entry.cls);
    this.#giveTurn(entry.run.namespace, pool);
  }

  /** The Run is told apart from others with the same requests by its labels from now on. */
  separate(entry: Entry): void {
    const pool = this.#pools.get(entry.run.pool);
    if (pool === undefined) return;
    pool.remove(entry);
    pool.add(entry, true);
    this.#giveTurn(entry.run.namespace, pool);
  }

  /**
   * Something happened in a pool. Opens the classes that wait for it and whose first Run passes the test.
   * @returns how many
   */
  wake(poolKey: string, topic: Topic, test?: (head: Workload) => boolean): number {
    const pool = this.#pools.get(poolKey);
    const woken = pool?.wake(topic, test) ?? 0;
    if (pool !== undefined && woken > 0) this.#giveTurn(namespaceOf(poolKey), pool);
    return woken;
  }

  /** Like {@link wake}, but only that Pod is worth a try. */
  hint(poolKey: string, topic: Topic, podKey: string, test: (head: Workload) => boolean): number {
    const pool = this.#pools.get(poolKey);
    const woken = pool?.hint(topic, podKey, test) ?? 0;
    if (pool !== undefined && woken > 0) this.#giveTurn(namespaceOf(poolKey), pool);
    return woken;
  }

  /** Like {@link wake}, for all pools of a namespace. */
  wakeNamespace(name: string, topic: Topic): number {
    let woken = 0;
    for (const pool of this.#namespaces.get(name)?.all ?? []) woken += this.wake(pool.key, topic);
    return woken;
  }

  /** See {@link PoolQueue.noteOvertaking}. */
  noteOvertaking(placed: Workload, podKey: string, limit: number): void {
    const pool = this.#pools.get(placed.pool);
    if (pool === undefined) return;
    pool.noteOvertaking(placed, podKey, limit);
    this.#giveTurn(placed.namespace, pool);
  }

  #poolOf(run: Workload): PoolQueue {
    let pool = this.#pools.get(run.pool);
    if (pool === undefined) {
      pool = new PoolQueue(run.pool);
      this.#pools.set(run.pool, pool);
    }
    return pool;
  }

  #giveTurn(name: string, pool: PoolQueue): void {
    let namespace = this.#namespaces.get(name);
    if (namespace === undefined) {
      namespace = { all: new Set(), turns: new Ring() };
      this.#namespaces.set(name, namespace);
    }
    namespace.all.add(pool);
    namespace.turns.add(pool.key, pool);
    this.#turns.add(name, namespace);
  }

  #drop(name: string, pool: PoolQueue): void {
    this.#pools.delete(pool.key);
    const namespace = this.#namespaces.get(name);
    namespace?.turns.delete(pool.key);
    namespace?.all.delete(pool);
    if (namespace?.all.size === 0) {
      this.#namespaces.delete(name);
      this.#turns.delete(name);
    }
  }
}

const namespaceOf = (poolKey: string): string => poolKey.slice(0, poolKey.indexOf("/"));

import { type KubeObject, keyOf } from "#api/meta.ts";
import { deepFreeze } from "#kube/json.ts";
import type { Cancel, Clock, Logger } from "#kube/ports.ts";
import { WriteLedger, type WritePosition } from "#kube/write-ledger.ts";

/**
 * Told of each change: `old` undefined = new here, `next` undefined = gone from here. With selectors, gone may only mean
 * that the object stopped matching them: whoever must know whether it was deleted reads it live.
 */
export type ChangeListener<T> = (old: T | undefined, next: T | undefined) => void;

export interface CacheOptions<T extends KubeObject, I extends string> {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Drops what the readers do not need, before an object is kept. `managedFields` are dropped in any case. */
  readonly transform?: (object: T) => T;
  /** Named lookups: each function gives the values under which an object is found. */
  readonly indexes?: Readonly<Record<I, (object: T) => Iterable<string>>>;
  /** Freezes all objects deeply, so that a reader that changes one fails; default false (it costs time). */
  readonly freeze?: boolean;
}

/** What readers see of a cache. Objects are shared: nobody may change them. */
export interface CacheReader<T extends KubeObject, I extends string = string> {
  readonly size: number;
  get(key: string): T | undefined;
  values(): IterableIterator<T>;
  /** Objects for which the index `name` gives `value`. */
  byIndex(name: I, value: string): T[];
  /** Whether the first list is in. Before that, absence means nothing: do not act. */
  synced(): boolean;
  /** Resolves when {@link synced}, or rejects when the signal is aborted first. */
  whenSynced(signal?: AbortSignal): Promise<void>;
  /**
   * Calls `listener` after each change from now on; what is here already is not told. A listener that throws is logged
   * and disturbs nobody.
   */
  onChange(listener: ChangeListener<T>): Cancel;
}

interface Index<T> {
  readonly valuesOf: (object: T) => Iterable<string>;
  readonly entries: Map<string, Map<string, T>>;
}

/**
 * Objects by key, kept up to date by a reflector, with read-your-writes: an object returned by a local write is
 * visible at once, and watch events from before that write do not hide it (see `write-ledger.ts`).
 *
 * An object with the key but not the uid of a kept one is another object: listeners see a removal and an addition.
 */
export class Cache<T extends KubeObject, I extends string = string> implements CacheReader<T, I> {
  readonly #objects = new Map<string, T>();
  readonly #indexes = new Map<string, Index<T>>();
  readonly #listeners = new Set<ChangeListener<T>>();
  readonly #changes: [T | undefined, T | undefined][] = [];
  readonly #ledger: WriteLedger<T>;
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #transform: (object: T) => T;
  readonly #freeze: boolean;
  #notifying = false;
  #synced = false;
  #waiters: (() => void)[] = [];

  constructor(options: CacheOptions<T, I>) {
    this.#logger = options.logger;
    this.#clock = options.clock;
    this.#transform = options.transform ?? ((object) => object);
    this.#freeze = options.freeze ?? false;
    this.#ledger = new WriteLedger(options.clock, (key, held) => this.#replace(key, held));
    for (const [name, valuesOf] of Object.entries<(object: T) => Iterable<string>>(options.indexes ?? {})) {
      this.#indexes.set(name, { valuesOf, entries: new Map() });
    }
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  values(): IterableIterator<T> {
    return this.#objects.values();
  }

  byIndex(name: I, value: string): T[] {
    const index = this.#indexes.get(name);
    if (index === undefined) throw new Error(`the cache has no index ${name}`);
    return [...(index.entries.get(value)?.values() ?? [])];
  }

  synced(): boolean {
    return this.#synced;
  }

  whenSynced(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#synced) return resolve();
      const onAbort = () => {
        this.#waiters = this.#waiters.filter((waiter) => waiter !== onSync);
        reject(new Error("aborted before the cache had synced", { cause: signal?.reason }));
      };
      const onSync = () => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      };
      if (signal?.aborted) return onAbort();
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#waiters.push(onSync);
    });
  }

  onChange(listener: ChangeListener<T>): Cancel {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Makes the answer of a local create, update or patch visible at once. Call it only for objects that the selectors
   * of this cache choose, or chose before the write: of others no watch event would ever tell the end.
   *
   * @param basis the resourceVersion that the write had as its precondition: what it replaced cannot come back then
   */
  noteWrite(object: T, basis?: string): void {
    const key = keyOf(object);
    const current = this.#objects.get(key);
    const kept = this.#trim(object);
    if (this.#ledger.noteWrite(key, current, kept, basis)) this.#replace(key, kept);
  }

  /**
   * Shows that the API server accepted a local deletion: the kept object carries a `deletionTimestamp` from now on.
   * It goes when the watch says so, since finalizers and grace periods may keep it alive.
   */
  noteDelete(object: { metadata: { name: string; namespace?: string; uid?: string } }): void {
    const key = keyOf(object);
    const current = this.#objects.get(key);
    if (current === undefined || current.metadata.uid !== object.metadata.uid) return;
    this.#ledger.noteDelete(key, current);
    if (current.metadata.deletionTimestamp !== undefined) return;
    const deletionTimestamp = new Date(this.#clock.now()).toISOString();
    this.#replace(key, this.#kept({ ...current, metadata: { ...current.metadata, deletionTimestamp } }));
  }

  /** For the reflector: an object as the watch shows it. */
  upsert(object: T): void {
    const key = keyOf(object);
    const current = this.#objects.get(key);
    const next = this.#trim(object);
    if (this.#ledger.admit(key, current, next)) this.#replace(key, next);
  }

  /** For the reflector: an object as a list shows it. The list may be older or newer than a local write. */
  upsertListed(object: T): void {
    const key = keyOf(object);
    const next = this.#trim(object);
    if (this.#ledger.admitListed(key, this.#objects.get(key), next)) this.#replace(key, next);
  }

  /** For the reflector: an object that is gone, or that the selectors no longer choose. */
  remove(object: T): void {
    const key = keyOf(object);
    const current = this.#objects.get(key);
    if (this.#ledger.admitRemoval(key, current, object)) this.#replace(key, undefined);
  }

  /**
   * For the reflector: a list is complete, and what it did not contain is gone. Objects that a local write made
   * visible after the list began stay.
   */
  listed(keys: ReadonlySet<string>, begun: WritePosition): void {
    for (const key of [...this.#objects.keys()]) {
      if (!keys.has(key) && this.#ledger.admitAbsence(key, begun)) this.#replace(key, undefined);
    }
    this.#ledger.noteListed();
    if (this.#synced) return;
    this.#synced = true;
    for (const resolve of this.#waiters.splice(0)) resolve();
  }

  /** For the reflector: to be taken before a list, so that {@link listed} can tell local writes before and after. */
  beginList(): WritePosition {
    return this.#ledger.position();
  }

  /** Cancels the timer of the ledger; the contents stay readable. */
  close(): void {
    this.#ledger.close();
  }

  #trim(object: T): T {
    let kept = object;
    if ("managedFields" in object.metadata) {
      const { managedFields: _, ...metadata } = object.metadata as T["metadata"] & { managedFields?: unknown };
      kept = { ...object, metadata };
    }
    return this.#kept(this.#transform(kept));
  }

  #kept(object: T): T {
    return this.#freeze ? deepFreeze(object) : object;
  }

  #replace(key: string, next: T | undefined): void {
    const old = this.#objects.get(key);
    if (old === undefined && next === undefined) return;
    if (old !== undefined && next !== undefined && isSame(old, next)) return;
    if (next === undefined) this.#objects.delete(key);
    else this.#objects.set(key, next);
    for (const [name, index] of this.#indexes) this.#reindex(name, index, key, old, next);
    if (old !== undefined && next !== undefined && !sameUid(old, next)) {
      this.#changes.push([old, undefined], [undefined, next]);
    } else this.#changes.push([old, next]);
    this.#notify();
  }

  #reindex(name: string, index: Index<T>, key: string, old: T | undefined, next: T | undefined): void {
    const valuesOf = (object: T): Iterable<string> => {
      try {
        return index.valuesOf(object);
      } catch (error) {
        this.#logger.error("index function failed; the object is not found by it", { index: name, key, error });
        return [];
      }
    };
    if (old !== undefined) {
      for (const value of valuesOf(old)) {
        const entry = index.entries.get(value);
        entry?.delete(key);
        if (entry?.size === 0) index.entries.delete(value);
      }
    }
    if (next === undefined) return;
    for (const value of valuesOf(next)) {
      const entry = index.entries.get(value);
      if (entry === undefined) index.entries.set(value, new Map([[key, next]]));
      else entry.set(key, next);
    }
  }

  /** In order, also when a listener writes: its change is told after the one that it was told of. */
  #notify(): void {
    if (this.#notifying) return;
    this.#notifying = true;
    for (let change = this.#changes.shift(); change !== undefined; change = this.#changes.shift()) {
      for (const listener of [...this.#listeners]) {
        try {
          listener(change[0], change[1]);
        } catch (error) {
          this.#logger.error("cache listener failed", { key: keyOf((change[1] ?? change[0]) as T), error });
        }
      }
    }
    this.#notifying = false;
  }
}

/** Whether this is the same version again (a list, the echo of our own write); our own deletion mark may differ. */
function isSame(a: KubeObject, b: KubeObject): boolean {
  const version = a.metadata.resourceVersion;
  if (version === undefined || version !== b.metadata.resourceVersion) return false;
  return a.metadata.deletionTimestamp === b.metadata.deletionTimestamp;
}

const sameUid = (a: KubeObject, b: KubeObject): boolean => a.metadata.uid === b.metadata.uid;

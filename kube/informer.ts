import type { KubeObject } from "#api/meta.ts";
import { Cache, type CacheReader } from "#kube/cache.ts";
import type { Clock, Logger, Random } from "#kube/ports.ts";
import { Reflector, type ReflectorStats } from "#kube/reflector.ts";
import type { Client, ResourceType } from "#kube/resource.ts";

export interface InformerOptions<T extends KubeObject, I extends string> {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Only this namespace; default all. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Drops what the readers do not need, e.g. annotations; `managedFields` are dropped in any case. */
  readonly transform?: (object: T) => T;
  readonly indexes?: Readonly<Record<I, (object: T) => Iterable<string>>>;
  /** Freezes the cached objects: for tests. */
  readonly freeze?: boolean;
  /** See {@link ReflectorOptions.idleMs}. */
  readonly idleMs?: number | undefined;
}

/** A cache and what keeps it up to date. */
export interface Informer<T extends KubeObject, I extends string = string> extends CacheReader<T, I> {
  /** Starts to list and watch; ends when the signal is aborted. Called once. */
  start(signal: AbortSignal): void;
  /** Resolves when a started informer has ended: nothing is open and no listener is called any more. */
  stopped(): Promise<void>;
  /** See {@link Cache.noteWrite}. */
  noteWrite(object: T, basis?: string): void;
  /** See {@link Cache.noteDelete}. */
  noteDelete(object: { metadata: { name: string; namespace?: string; uid?: string } }): void;
  stats(): ReflectorStats;
}

/** An informer for one kind; share it between the controllers that read the same selection. */
export function createInformer<T extends KubeObject, I extends string = never>(
  client: Client,
  resource: ResourceType<T>,
  options: InformerOptions<T, I>,
): Informer<T, I> {
  const cache = new Cache<T, I>(options);
  const reflector = new Reflector<T>({ ...options, client: client.of(resource), store: cache });
  let run: Promise<void> | undefined;

  return {
    start(signal) {
      if (run !== undefined) throw new Error(`the informer of ${resource.plural} was started before`);
      run = reflector.run(signal).finally(() => cache.close());
    },
    async stopped() {
      await run;
    },
    stats: () => reflector.stats(),
    get size() {
      return cache.size;
    },
    get: (key) => cache.get(key),
    values: () => cache.values(),
    byIndex: (name, value) => cache.byIndex(name, value),
    synced: () => cache.synced(),
    whenSynced: (signal) => cache.whenSynced(signal),
    onChange: (listener) => cache.onChange(listener),
    noteWrite: (object, basis) => cache.noteWrite(object, basis),
    noteDelete: (object) => cache.noteDelete(object),
  };
}

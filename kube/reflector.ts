import { type KubeObject, keyOf, type WatchEvent } from "#api/meta.ts";
import { backoff } from "#kube/backoff.ts";
import { type Clock, type Logger, type Random, sleep } from "#kube/ports.ts";
import type { ResourceClient } from "#kube/resource.ts";
import { isGone, StatusError, TransportError } from "#kube/transport.ts";

/** Where a reflector puts what it sees; {@link Cache} is one. */
export interface ReflectorStore<T extends KubeObject> {
  /** A list begins; what is returned comes back in {@link listed}. */
  beginList(): number;
  /** An object of a list. */
  upsertListed(object: T): void;
  /** The list is complete; objects with other keys are gone. */
  listed(keys: ReadonlySet<string>, begun: number): void;
  upsert(object: T): void;
  /**
   * The object was deleted, or, when the reflector has selectors, only stopped matching them. Whoever must know which
   * reads it live.
   */
  remove(object: T): void;
}

export interface ReflectorOptions<T extends KubeObject> {
  readonly client: ResourceClient<T>;
  readonly store: ReflectorStore<T>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /**
   * A watch without any event or bookmark for this long is taken for dead and opened again; default 150,000. The API
   * server sends a bookmark about every minute.
   */
  readonly idleMs?: number | undefined;
}

export interface ReflectorStats {
  readonly lists: number;
  readonly watches: number;
  /** Lists and watches that failed, and watches that ended too soon. */
  readonly failures: number;
  readonly events: number;
  readonly bookmarks: number;
  /** Whether a watch is open now: what the store holds is at most a moment old. */
  readonly watching: boolean;
}

const PAGE_SIZE = 500;
const SMALLEST_PAGE = 20;
/** Parsing a page blocks the event loop for about 10 ms per MiB; a larger page halves the next ones. */
const LARGE_PAGE_BYTES = 4 * 1024 * 1024;
const BASE_DELAY_MS = 200;
const MAX_DELAY_MS = 30_000;
/** A watch that lasted this long was healthy, even if nothing happened on it. */
const HEALTHY_MS = 10_000;

/** The store is behind the server's memory (410), or the server does not know our version (restored backup). */
class VersionLost extends Error {}

/**
 * Keeps a store equal to a selection of objects: list, then watch from the version of the list, for ever. After a
 * broken watch it resumes from the last version seen; only when that is lost it lists again, and the store keeps its
 * contents meanwhile.
 */
export class Reflector<T extends KubeObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #what: string;
  #version: string | undefined;
  #failures = 0;
  #pageSize = PAGE_SIZE;
  #running = false;
  readonly #stats = { lists: 0, watches: 0, failures: 0, events: 0, bookmarks: 0, watching: false };

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#what = options.client.resource.plural;
  }

  stats(): ReflectorStats {
    return { ...this.#stats };
  }

  /** Runs until the signal is aborted; then nothing is open any more and the store is not touched again. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#running) throw new Error(`the reflector of ${this.#what} runs already`);
    this.#running = true;
    try {
      while (!signal.aborted) {
        try {
          if (this.#version === undefined) this.#version = await this.#list(signal);
          await this.#watch(this.#version, signal);
        } catch (error) {
          if (signal.aborted) break;
          await this.#recover(error, signal);
        }
      }
    } finally {
      this.#running = false;
    }
  }

  async #recover(error: unknown, signal: AbortSignal): Promise<void> {
    this.#failures++;
    this.#stats.failures++;
    const { clock, random, logger } = this.#options;
    let delayMs = backoff(this.#failures, BASE_DELAY_MS, MAX_DELAY_MS, random);
    if (error instanceof VersionLost) {
      this.#version = undefined;
      // The first new list is free; a server that loses versions all the time gets the back-off.
      if (this.#failures === 1) delayMs = 0;
    }
    const retryAfterMs = error instanceof StatusError ? error.retryAfterMs : undefined;
    if (retryAfterMs !== undefined) delayMs = Math.max(delayMs, retryAfterMs * (1 + random.next() / 4));
    const fields = { resource: this.#what, failures: this.#failures, delayMs: Math.round(delayMs), error };
    if (error instanceof VersionLost) logger.info("listing again: the watch cannot be resumed", fields);
    else if (this.#failures === 1) logger.info("watch interrupted", fields);
    else logger.warn("cannot list or watch", fields);
    if (delayMs > 0) await sleep(clock, delayMs, signal);
  }

  /** Reads all pages into the store; returns the version to watch from. */
  async #list(signal: AbortSignal): Promise<string> {
    for (let expired = 0; ; expired++) {
      try {
        // A snapshot that expires twice while we page through it is read in one piece.
        return await this.#listOnce(signal, expired < 2);
      } catch (error) {
        if (!isGone(error) || expired === 2) throw error;
        this.#options.logger.info("the list expired between two pages; starting again", { resource: this.#what });
      }
    }
  }

  async #listOnce(signal: AbortSignal, paged: boolean): Promise<string> {
    const { client, store, clock, namespace, labelSelector, fieldSelector } = this.#options;
    this.#stats.lists++;
    const begun = store.beginList();
    const keys = new Set<string>();
    for (let token: string | undefined; ; ) {
      let bytes = 0;
      const page = await client.list({
        namespace,
        labelSelector,
        fieldSelector,
        limit: paged ? this.#pageSize : undefined,
        continue: token,
        signal,
        onBytes: (n) => {
          bytes = n;
        },
      });
      if (bytes > LARGE_PAGE_BYTES) this.#pageSize = Math.max(SMALLEST_PAGE, this.#pageSize >> 1);
      for (const [i, item] of page.items.entries()) {
        // Servers that ignore the limit must not block the event loop.
        if (i > 0 && i % PAGE_SIZE === 0) await sleep(clock, 0, signal);
        if (signal.aborted) throw new TransportError("stopped during the list");
        keys.add(keyOf(item));
        this.#guard("list", item, () => store.upsertListed(item));
      }
      if (signal.aborted) throw new TransportError("stopped during the list");
      token = page.metadata.continue || undefined;
      if (token !== undefined) continue;
      store.listed(keys, begun);
      if (!page.metadata.resourceVersion) throw new TransportError(`the list of ${this.#what} has no resourceVersion`);
      return page.metadata.resourceVersion;
    }
  }

  /** Watches until the server ends the watch in good order; throws when anything else happens. */
  async #watch(from: string, signal: AbortSignal): Promise<void> {
    const { client, clock, random, namespace, labelSelector, fieldSelector } = this.#options;
    const idleMs = this.#options.idleMs ?? 150_000;
    const own = new AbortController();
    const stop = () => own.abort();
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) own.abort();

    const begun = clock.monotonic();
    let heard = begun;
    let silent = false;
    const checkIdle = () => {
      const left = heard + idleMs - clock.monotonic();
      if (left <= 0) {
        silent = true;
        own.abort();
      } else cancelIdle = clock.after(left, checkIdle);
    };
    let cancelIdle = clock.after(idleMs, checkIdle);

    try {
      this.#stats.watches++;
      const stream = await client.watch({
        namespace,
        labelSelector,
        fieldSelector,
        resourceVersion: from,
        // Spread, so that the watches of many clients do not end together.
        timeoutSeconds: Math.round(300 + 300 * random.next()),
        signal: own.signal,
      });
      this.#stats.watching = true;
      for await (const event of stream) {
        if (own.signal.aborted) break;
        heard = clock.monotonic();
        this.#apply(event);
      }
      if (signal.aborted) return;
      if (silent) throw new TransportError(`the watch of ${this.#what} was silent for ${idleMs} ms`);
      if (this.#version === from && clock.monotonic() - begun < HEALTHY_MS) {
        throw new TransportError(`the watch of ${this.#what} ended at once`);
      }
    } catch (error) {
      if (error instanceof StatusError && versionIsLost(error)) throw new VersionLost(error.message, { cause: error });
      throw error;
    } finally {
      this.#stats.watching = false;
      cancelIdle();
      signal.removeEventListener("abort", stop);
      // What was achieved counts, also when it ended badly: the back-off starts anew.
      if (this.#version !== from || clock.monotonic() - begun >= HEALTHY_MS) this.#failures = 0;
    }
  }

  #apply(event: WatchEvent<T>): void {
    if (event.type === "ERROR") throw new StatusError(event.object);
    const version = event.object?.metadata?.resourceVersion;
    if (!version) throw new TransportError(`the watch of ${this.#what} sent an event without resourceVersion`);
    const { store, logger } = this.#options;
    switch (event.type) {
      case "BOOKMARK":
        this.#stats.bookmarks++;
        break;
      case "ADDED":
      case "MODIFIED":
        this.#stats.events++;
        this.#guard("watch", event.object, () => store.upsert(event.object));
        break;
      case "DELETED":
        this.#stats.events++;
        this.#guard("watch", event.object, () => store.remove(event.object));
        break;
      default:
        logger.warn("unknown kind of watch event", { resource: this.#what, type: (event as { type: unknown }).type });
    }
    this.#version = version;
  }

  /** The store is not ours: what it throws is reported and must not stop the flow of events. */
  #guard(where: string, object: T, act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#options.logger.error("could not store an object", {
        resource: this.#what,
        where,
        key: keyOf(object),
        error,
      });
    }
  }
}

/** Too old (410), or never seen by the server, as after its data was restored from a backup. */
function versionIsLost({ code, status }: StatusError): boolean {
  return code === 410 || (status.details?.causes ?? []).some((cause) => cause.reason === "ResourceVersionTooLarge");
}

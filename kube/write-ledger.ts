import type { KubeObject } from "#api/meta.ts";
import type { Cancel, Clock } from "#kube/ports.ts";

/** A point in the order of local writes. */
export type WritePosition = number;

interface Pending<T> {
  /** The versions our writes made; the watch will show them, unless a list jumps over them. */
  readonly awaited: Set<string>;
  /** The version that was visible before; older than all of them. */
  readonly replaced: string | undefined;
  position: WritePosition;
  /** Whether the watch is certain to show them: no list can have jumped over them. */
  comes: boolean;
  /** What the watch showed meanwhile, of unknown age; `object` undefined = absent. */
  held?: { object: T | undefined };
  cancel?: Cancel;
}

/**
 * How long an event of unknown age is held back while the version of a local write has not been seen. The watch shows
 * writes within milliseconds; this only bounds the harm if a version never comes.
 */
const PATIENCE_MS = 10_000;

/** No call takes longer from its begin to the moment its answer is noted (deadline of the transport, and some). */
const LONGEST_CALL_MS = 60_000;

/** Versions remembered as passed by the watch: more than can arrive between an answer and its processing. */
const PASSED_LIMIT = 4096;

/**
 * Decides which version of an object is newer when local writes and a watch tell of it, although versions can only be
 * compared for equality:
 *
 * - A watch shows the versions of one object in their order. Until it has shown all versions that we wrote, everything
 *   else is older than the last of them and is not shown.
 * - If the watch has shown our version before its answer reached us, the answer is old news.
 * - A list shows one moment, before or after our write. The versions that our write replaced are before it; anything
 *   else is believed, because the watch that follows repeats our write if the list was before it.
 * - A list that was completed while our write was under way may have jumped over it, so what was visible before may be
 *   newer; it is held back like an event of unknown age.
 * - If our write replaced the very version that is visible, that one is older for certain: it does not come back, however
 *   late the watch is.
 * - Whatever was held back by mistake wins after ten seconds, so a wrong guess never lasts.
 */
export class WriteLedger<T extends KubeObject> {
  readonly #pending = new Map<string, Pending<T>>();
  /** Uids of objects whose deletion was accepted, by key. */
  readonly #deleting = new Map<string, string | undefined>();
  readonly #passed = new Set<string>();
  readonly #clock: Clock;
  readonly #adopt: (key: string, object: T | undefined) => void;
  #position: WritePosition = 0;
  #closed = false;
  /** When the last list was completed, on the monotonic clock. */
  #listed = Number.NEGATIVE_INFINITY;

  /** @param adopt called with an object that was held back long enough. */
  constructor(clock: Clock, adopt: (key: string, object: T | undefined) => void) {
    this.#clock = clock;
    this.#adopt = adopt;
  }

  /**
   * A local write was answered with `next`; returns whether to show it.
   * @param basis the resourceVersion that the write had as its precondition, if any
   */
  noteWrite(key: string, current: T | undefined, next: T, basis?: string): boolean {
    const { uid, resourceVersion: written, deletionTimestamp } = next.metadata;
    if (written === undefined) return true;
    const old = current?.metadata.resourceVersion;
    const before = this.#pending.get(key);
    const pending: Pending<T> = before ?? { awaited: new Set(), replaced: old, position: 0, comes: true };
    if (written === old || written === pending.replaced || this.#passed.has(`${key} ${written}`)) return false;
    pending.awaited.add(written);
    pending.position = ++this.#position;
    this.#pending.set(key, pending);
    if (old === undefined || old !== basis) pending.comes = false;
    const listedLately = this.#clock.monotonic() < this.#listed + LONGEST_CALL_MS;
    if (before === undefined && listedLately && !pending.comes) this.#hold(key, pending, current);
    // A write that was answered after our deletion came before it.
    return !(this.#deleting.has(key) && this.#deleting.get(key) === uid && deletionTimestamp === undefined);
  }

  /** The deletion of `current` was accepted: versions of it without a deletionTimestamp are older from now on. */
  noteDelete(key: string, current: T): void {
    if (current.metadata.deletionTimestamp === undefined) this.#deleting.set(key, current.metadata.uid);
  }

  /** The watch shows `next`; returns whether readers may see it. */
  admit(key: string, current: T | undefined, next: T): boolean {
    this.#pass(key, next);
    const isPast = this.#isBeforeDeletion(key, next);
    const pending = this.#pending.get(key);
    const version = next.metadata.resourceVersion;
    if (pending === undefined || version === undefined) {
      if (current !== undefined && !isPast) this.#pass(key, current);
      return !isPast;
    }
    if (pending.awaited.delete(version) && pending.awaited.size === 0) {
      this.#settle(key);
      return !isPast;
    }
    if (version !== pending.replaced && !isPast) this.#hold(key, pending, next);
    return false;
  }

  /** A list shows `next`; returns whether readers may see it. */
  admitListed(key: string, current: T | undefined, next: T): boolean {
    const isPast = this.#isBeforeDeletion(key, next);
    const version = next.metadata.resourceVersion;
    if (version !== undefined && this.#pending.get(key)?.replaced === version) return false;
    this.#settle(key);
    if (current !== undefined && !isPast) this.#pass(key, current);
    return !isPast;
  }

  /** The watch shows that `object` went; returns whether that ends `current`. */
  admitRemoval(key: string, current: T | undefined, object: T): boolean {
    this.#pass(key, object);
    if (current === undefined) return false;
    if (current.metadata.uid !== object.metadata.uid) {
      // A namesake went, before or after the one that we wrote.
      const pending = this.#pending.get(key);
      if (pending !== undefined) this.#hold(key, pending, undefined);
      return false;
    }
    this.#pass(key, current);
    this.forget(key);
    return true;
  }

  /** A list does not show `key`; returns whether that ends it: not if it was written after `since`. */
  admitAbsence(key: string, since: WritePosition): boolean {
    const pending = this.#pending.get(key);
    if (pending !== undefined && pending.position > since) {
      // From before the object was created, or from after its end: then nothing more of it comes.
      pending.comes = false;
      this.#hold(key, pending, undefined);
      return false;
    }
    this.forget(key);
    return true;
  }

  /** A list is complete. */
  noteListed(): void {
    this.#listed = this.#clock.monotonic();
  }

  position(): WritePosition {
    return this.#position;
  }

  forget(key: string): void {
    this.#settle(key);
    this.#deleting.delete(key);
  }

  /** Cancels all timers; a write that is noted later starts none, since no watch will ever show it. */
  close(): void {
    this.#closed = true;
    for (const pending of this.#pending.values()) pending.cancel?.();
    this.#pending.clear();
  }

  #settle(key: string): void {
    this.#pending.get(key)?.cancel?.();
    this.#pending.delete(key);
  }

  #hold(key: string, pending: Pending<T>, object: T | undefined): void {
    if (this.#closed) return;
    if (pending.comes) return; // older, and not needed again
    pending.held = { object };
    pending.cancel ??= this.#clock.after(PATIENCE_MS, () => {
      this.#settle(key);
      this.#adopt(key, pending.held?.object);
    });
  }

  #isBeforeDeletion(key: string, next: T): boolean {
    if (!this.#deleting.has(key)) return false;
    if (this.#deleting.get(key) === next.metadata.uid && next.metadata.deletionTimestamp === undefined) return true;
    this.#deleting.delete(key);
    return false;
  }

  #pass(key: string, object: T): void {
    const version = object.metadata.resourceVersion;
    if (version === undefined) return;
    this.#passed.add(`${key} ${version}`);
    if (this.#passed.size > PASSED_LIMIT) {
      for (const oldest of this.#passed) {
        this.#passed.delete(oldest);
        break;
      }
    }
  }
}

import { LabelIndex } from "./label-index.ts";
import { Repellents } from "./repellents.ts";
import { load, type Slot } from "./slot.ts";

/** Shares of load that are told apart by the index; within one of them Pods are compared exactly when they are scored. */
const steps = 16;
const unresponsiveBucket = steps + 1;
const unavailableBucket = steps + 2;

/**
 * The Pods of one Runtime by load, and the labels of the Runs on them. A walk from the emptiest to the fullest Pod finds room in
 * few steps, so a decision need not look at all Pods.
 */
export class Pool {
  readonly key: string;
  readonly labels = new LabelIndex();
  readonly repellents = new Repellents();
  readonly #slots = new Map<string, Slot>();
  readonly #buckets: Set<Slot>[] = Array.from({ length: unavailableBucket + 1 }, () => new Set());

  constructor(key: string) {
    this.key = key;
  }

  /** Number of Pods with the label of the Runtime, whatever their state. */
  get size(): number {
    return this.#slots.size;
  }

  /** Whether there is nothing left to know of it. */
  get empty(): boolean {
    return this.#slots.size === 0 && this.labels.size === 0;
  }

  get(podKey: string): Slot | undefined {
    return this.#slots.get(podKey);
  }

  /** The Pods from the emptiest to the fullest, then unresponsive ones, then those that take no Runs. */
  *byLoad(): Generator<Slot, void, void> {
    for (const bucket of this.#buckets) yield* bucket;
  }

  /** Puts a Pod where it belongs now, at the end of its equals: equals take turns. */
  place(slot: Slot): void {
    this.#slots.set(slot.key, slot);
    const bucket = bucketOf(slot);
    this.#buckets[slot.bucket]?.delete(slot);
    this.#buckets[bucket]?.add(slot);
    slot.bucket = bucket;
  }

  remove(slot: Slot): void {
    this.#slots.delete(slot.key);
    this.#buckets[slot.bucket]?.delete(slot);
    slot.bucket = -1;
  }
}

function bucketOf(slot: Slot): number {
  if (slot.view?.availability !== "available") return unavailableBucket;
  if (slot.unresponsive) return unresponsiveBucket;
  return Math.floor(Math.min(1, load(slot)) * steps);
}

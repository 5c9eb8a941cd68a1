import { fnv1a32 } from "#api/hash.ts";
import type { Random } from "#kube/ports.ts";
import { seededRandom } from "#kube/seeded-random.ts";

/** Throws dice on a {@link Random}; each purpose has its own, so that one kind of event does not shift all others. */
export class Dice {
  readonly random: Random;

  /** @param purpose tells this stream of numbers from the others of the seed */
  constructor(seed: number, purpose: string) {
    this.random = seededRandom(fnv1a32(`${seed}/${purpose}`));
  }

  /** True with that probability. */
  chance(probability: number): boolean {
    return this.random.next() < probability;
  }

  /** A whole number from `low` to `high`, both included. */
  int(low: number, high: number): number {
    return low + Math.floor(this.random.next() * (high - low + 1));
  }

  /** Whole milliseconds with that mean, at most ten times as many. */
  around(meanMs: number): number {
    return Math.round(Math.min(10 * meanMs, -meanMs * Math.log(1 - this.random.next())));
  }

  /** @throws RangeError for an empty list */
  pick<T>(items: readonly T[]): T {
    const item = items[Math.floor(this.random.next() * items.length)];
    if (item === undefined) throw new RangeError("nothing to pick from");
    return item;
  }

  /** One of the names, each as likely as its weight. */
  weighted<N extends string>(weights: Readonly<Record<N, number>>): N {
    const entries = Object.entries(weights) as [N, number][];
    let left = this.random.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [name, weight] of entries) {
      left -= weight;
      if (left < 0) return name;
    }
    throw new RangeError("nothing to pick from");
  }

  /** Some of the items, each with that probability, in their order. */
  some<T>(items: readonly T[], probability: number): T[] {
    return items.filter(() => this.chance(probability));
  }
}

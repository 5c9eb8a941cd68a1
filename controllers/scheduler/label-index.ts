import { type Labels, pairOf, type Selector } from "./label-selector.ts";

interface Item {
  readonly pod: string;
  readonly labels: Labels;
}

/**
 * The labels of the active Runs of one pool, and the Pods that they are on. Adding and removing costs as much as a Run has
 * labels; a question costs as much as there are Runs with the rarest label value that the selector names.
 */
export class LabelIndex {
  readonly #items = new Map<string, Item>();
  readonly #byPair = new Map<string, Set<string>>();

  get size(): number {
    return this.#items.size;
  }

  add(id: string, pod: string, labels: Labels): void {
    this.remove(id);
    this.#items.set(id, { pod, labels });
    for (const [key, value] of Object.entries(labels)) {
      const pair = pairOf(key, value);
      const ids = this.#byPair.get(pair);
      if (ids === undefined) this.#byPair.set(pair, new Set([id]));
      else ids.add(id);
    }
  }

  remove(id: string): void {
    const item = this.#items.get(id);
    if (item === undefined) return;
    this.#items.delete(id);
    for (const [key, value] of Object.entries(item.labels)) {
      const pair = pairOf(key, value);
      const ids = this.#byPair.get(pair);
      ids?.delete(id);
      if (ids?.size === 0) this.#byPair.delete(pair);
    }
  }

  /** The Pods with Runs that the selector chooses, and how many. */
  podsMatching(selector: Selector): ReadonlyMap<string, number> {
    const pods = new Map<string, number>();
    for (const id of this.#candidates(selector)) {
      const item = this.#items.get(id);
      if (item !== undefined && selector.matches(item.labels)) pods.set(item.pod, (pods.get(item.pod) ?? 0) + 1);
    }
    return pods;
  }

  /** Runs that can match: those of the requirement with the fewest, or all when no requirement names values. */
  #candidates(selector: Selector): Iterable<string> {
    let best: readonly ReadonlySet<string>[] | undefined;
    let bestSize = Number.POSITIVE_INFINITY;
    for (const pairs of selector.lookups) {
      const sets = pairs.map((pair) => this.#byPair.get(pair)).filter((ids) => ids !== undefined);
      const size = sets.reduce((sum, ids) => sum + ids.size, 0);
      if (size < bestSize) [best, bestSize] = [sets, size];
    }
    if (best === undefined) return this.#items.keys();
    const [only] = best;
    return best.length === 1 && only !== undefined ? only : new Set(best.flatMap((ids) => [...ids]));
  }
}

import type { Labels, Selector } from "./label-selector.ts";

interface Repellent {
  readonly selector: Selector;
  /** How many active Runs with this term are on each Pod. */
  readonly pods: Map<string, number>;
}

/**
 * The required anti-affinity terms of the active Runs of one pool. Anti-affinity is symmetric: a Run that wants to be apart from
 * others also keeps those away that come later, so the terms of active Runs count against every new one.
 */
export class Repellents {
  readonly #byKey = new Map<string, Repellent>();

  get size(): number {
    return this.#byKey.size;
  }

  add(selector: Selector, pod: string): void {
    const repellent = this.#byKey.get(selector.key);
    if (repellent === undefined) this.#byKey.set(selector.key, { selector, pods: new Map([[pod, 1]]) });
    else repellent.pods.set(pod, (repellent.pods.get(pod) ?? 0) + 1);
  }

  remove(selector: Selector, pod: string): void {
    const repellent = this.#byKey.get(selector.key);
    if (repellent === undefined) return;
    const left = (repellent.pods.get(pod) ?? 0) - 1;
    if (left > 0) repellent.pods.set(pod, left);
    else repellent.pods.delete(pod);
    if (repellent.pods.size === 0) this.#byKey.delete(selector.key);
  }

  /** The Pods whose Runs keep away a Run with these labels. Each distinct term is asked once. */
  podsRepelling(labels: Labels): ReadonlySet<string> {
    const pods = new Set<string>();
    for (const { selector, pods: here } of this.#byKey.values()) {
      if (selector.matches(labels)) for (const pod of here.keys()) pods.add(pod);
    }
    return pods;
  }
}

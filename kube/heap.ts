/** A binary heap: the smallest element by `before` comes out first. Push and pop are O(log n). */
export class Heap<T> {
  readonly #items: T[] = [];
  readonly #before: (a: T, b: T) => boolean;

  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before;
  }

  get size(): number {
    return this.#items.length;
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    const items = this.#items;
    let at = items.length;
    items.push(item);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = items[parent] as T;
      if (!this.#before(item, above)) break;
      items[at] = above;
      at = parent;
    }
    items[at] = item;
  }

  pop(): T | undefined {
    const items = this.#items;
    const top = items[0];
    const last = items.pop();
    if (last === undefined || items.length === 0) return top;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && this.#before(items[child + 1] as T, items[child] as T)) child++;
      const below = items[child] as T;
      if (!this.#before(below, last)) break;
      items[at] = below;
      at = child;
    }
    items[at] = last;
    return top;
  }

  clear(): void {
    this.#items.length = 0;
  }

  /** Drops what does not satisfy `keep`; O(n log n). */
  retain(keep: (item: T) => boolean): void {
    const kept = this.#items.filter(keep);
    this.#items.length = 0;
    for (const item of kept) this.push(item);
  }
}

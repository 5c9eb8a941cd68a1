/** Things that take turns. All operations are O(1). */
export class Ring<T> {
  readonly #items = new Map<string, T>();

  get size(): number {
    return this.#items.size;
  }

  /** Adds at the end; a key that is in keeps its turn. */
  add(key: string, item: T): void {
    if (!this.#items.has(key)) this.#items.set(key, item);
  }

  delete(key: string): void {
    this.#items.delete(key);
  }

  /** Whose turn it is. */
  peek(): T | undefined {
    return this.#items.values().next().value;
  }

  /** Takes out the one whose turn it is. */
  dropFirst(): void {
    for (const key of this.#items.keys()) {
      this.#items.delete(key);
      return;
    }
  }

  /** Gives the turn to the next one. */
  rotate(): void {
    for (const [key, item] of this.#items) {
      this.#items.delete(key);
      this.#items.set(key, item);
      return;
    }
  }
}

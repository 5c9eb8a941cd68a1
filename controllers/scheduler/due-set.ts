import { Heap } from "#kube/heap.ts";

interface Position {
  readonly key: string;
  readonly due: number;
}

/** Keys with a due time each. Setting, deleting and taking cost O(log n); old positions in the heap are void, not searched. */
export class DueSet {
  readonly #due = new Map<string, number>();
  readonly #heap = new Heap<Position>((a, b) => a.due < b.due);

  get size(): number {
    return this.#due.size;
  }

  get(key: string): number | undefined {
    return this.#due.get(key);
  }

  /** Sets the due time of a key, later or earlier than before. */
  set(key: string, due: number): void {
    if (this.#due.get(key) === due) return;
    this.#due.set(key, due);
    this.#heap.push({ key, due });
    if (this.#heap.size > 2 * this.#due.size + 64) this.#heap.retain((position) => this.#isValid(position));
  }

  delete(key: string): void {
    this.#due.delete(key);
  }

  /** The earliest due time. */
  next(): number | undefined {
    for (let top = this.#heap.peek(); top !== undefined; top = this.#heap.peek()) {
      if (this.#isValid(top)) return top.due;
      this.#heap.pop();
    }
    return undefined;
  }

  /** Takes out one key whose time has come, the earliest first. */
  take(now: number): string | undefined {
    const due = this.next();
    if (due === undefined || due > now) return undefined;
    const key = this.#heap.pop()?.key;
    if (key !== undefined) this.#due.delete(key);
    return key;
  }

  #isValid({ key, due }: Position): boolean {
    return this.#due.get(key) === due;
  }
}

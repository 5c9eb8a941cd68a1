/** Names in order, kept by binary insertion: cheap for tens of thousands, and pages start anywhere without sorting. */
export class SortedNames {
  readonly #names: string[] = [];
  readonly #compare: (a: string, b: string) => number;

  constructor(compare: (a: string, b: string) => number = (a, b) => (a < b ? -1 : a > b ? 1 : 0)) {
    this.#compare = compare;
  }

  add(name: string): void {
    this.#names.splice(this.indexAfter(name), 0, name);
  }

  remove(name: string): void {
    const index = this.indexAfter(name) - 1;
    if (this.#names[index] === name) this.#names.splice(index, 1);
  }

  /** Index of the first name that comes after `name`. */
  indexAfter(name: string): number {
    let low = 0;
    let high = this.#names.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#compare(this.#names[middle] ?? "", name) <= 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  at(index: number): string | undefined {
    return this.#names[index];
  }

  /** A copy of the names from an index on, safe against changes during iteration. */
  from(index: number): string[] {
    return this.#names.slice(index);
  }
}

/** Where the bytes that are shown of a stream stand in what the program wrote: masks are not as long as their secrets. */
export class Positions {
  /** From so many shown bytes on, what is shown is as far in the stream; in order. */
  #marks: { readonly shown: number; readonly written: number }[] = [];
  #base: number | undefined;
  #shown = 0;

  /** Tells how many bytes the program had written before the first ones that are shown here. Only the first call counts. */
  begin(offset: number): void {
    this.#base ??= offset;
  }

  /** @param shown bytes up to the end of a mask. @param taken bytes of the program that they stand for */
  readonly mark = (shown: number, taken: number): void => {
    this.#marks.push({ shown, written: taken });
  };

  /** Goes on by so many shown bytes. @returns how many bytes the program had written there */
  advance(bytes: number): number {
    this.#shown += bytes;
    let passed = 0;
    while ((this.#marks[passed + 1]?.shown ?? Number.POSITIVE_INFINITY) <= this.#shown) passed++;
    this.#marks.splice(0, passed);
    const mark = this.#marks[0];
    const before = mark !== undefined && mark.shown <= this.#shown ? mark : { shown: 0, written: 0 };
    return (this.#base ?? 0) + before.written + (this.#shown - before.shown);
  }
}

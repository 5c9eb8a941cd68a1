import { stripVTControlCharacters } from "node:util";
import type { Output } from "../environment.ts";

/**
 * The lines at the bottom of a terminal that are drawn over and over; what is printed above them stays. The cursor always
 * stands on the line below, so that a process that is killed leaves a terminal that can be used.
 */
export class Screen {
  readonly #out: Output;
  /** Visible lengths of the lines that stand there. */
  #drawn: number[] = [];

  constructor(out: Output) {
    this.#out = out;
  }

  /**
   * Draws the lines in place of those that stand there.
   *
   * @param above what is printed before them and stays; whole lines
   */
  draw(lines: readonly string[], above = ""): void {
    const below = lines.map((line) => `${line}\n`).join("");
    this.#out.write(`${this.#erase()}${above}${below}`);
    this.#drawn = lines.map((line) => [...stripVTControlCharacters(line)].length);
  }

  /** Moves to the first line that was drawn and clears from there. A terminal that became narrower has wrapped lines. */
  #erase(): string {
    const columns = Math.max(1, this.#out.columns());
    const rows = this.#drawn.reduce((sum, length) => sum + Math.max(1, Math.ceil(length / columns)), 0);
    return rows === 0 ? "" : `\u001b[${rows}A\r\u001b[J`;
  }
}

/** A terminal that knows the few sequences that are drawn with: what a person would see of some output. */
export class Terminal {
  readonly #lines: string[] = [""];
  #row = 0;
  #column = 0;
  readonly #width: number;

  constructor(width: number) {
    this.#width = width;
  }

  write(text: string): void {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what a terminal reads
    for (const [token] of text.matchAll(/\u001b\[[\d;]*[A-Za-z]|[\s\S]/gu)) this.#take(token);
  }

  /** The lines, without those at the end that are empty. */
  get lines(): string[] {
    const last = this.#lines.findLastIndex((line) => line.trimEnd() !== "");
    return this.#lines.slice(0, last + 1).map((line) => line.trimEnd());
  }

  #take(token: string): void {
    const up = token.startsWith("\u001b[") ? /^(\d+)A$/.exec(token.slice(2)) : null;
    if (up !== null) this.#row = Math.max(0, this.#row - Number(up[1]));
    else if (token === "\u001b[J") this.#clear();
    else if (token === "\r") this.#column = 0;
    else if (token === "\n") this.#newLine();
    else if (!token.startsWith("\u001b")) this.#put(token);
    else if (!token.endsWith("m")) throw new Error(`the terminal does not know ${JSON.stringify(token)}`);
  }

  #clear(): void {
    this.#lines.length = this.#row + 1;
    this.#lines[this.#row] = (this.#lines[this.#row] ?? "").slice(0, this.#column);
  }

  #newLine(): void {
    this.#row += 1;
    this.#column = 0;
    this.#lines[this.#row] ??= "";
  }

  #put(character: string): void {
    if (this.#column === this.#width) this.#newLine();
    const line = [...(this.#lines[this.#row] ?? "").padEnd(this.#column)];
    line[this.#column] = character;
    this.#lines[this.#row] = line.join("");
    this.#column += 1;
  }
}

import type { Output } from "../environment.ts";

/** A stream whose text is kept. */
export class Capture implements Output {
  text = "";
  isTerminal: boolean;
  color: boolean;
  width = 80;
  height = 24;
  readonly #resize = new Set<() => void>();

  constructor({ isTerminal = false, color = false }: { isTerminal?: boolean; color?: boolean } = {}) {
    this.isTerminal = isTerminal;
    this.color = color;
  }

  write(text: string | Uint8Array): void {
    this.text += typeof text === "string" ? text : Buffer.from(text).toString("utf8");
  }

  columns(): number {
    return this.width;
  }

  rows(): number {
    return this.height;
  }

  onResize(listener: () => void): () => void {
    this.#resize.add(listener);
    return () => this.#resize.delete(listener);
  }

  resize(width: number, height: number): void {
    this.width = width;
    this.height = height;
    for (const listener of this.#resize) listener();
  }

  /** How many wait to be told of a new size. */
  get listeners(): number {
    return this.#resize.size;
  }

  /** Lines since the last call. */
  take(): string[] {
    const lines = this.text.split("\n");
    this.text = "";
    if (lines.at(-1) === "") lines.pop();
    return lines;
  }
}

import type { Cancel, Clock } from "#kube/ports.ts";
import { paint } from "#workflows/text.ts";
import type { Output } from "../environment.ts";
import { changeLines } from "./changes.ts";
import type { Display } from "./display.ts";
import { type LogLine, separator } from "./log-line.ts";
import type { View } from "./view.ts";

/**
 * A phase and the last output of a program take two ways to us, and the phase may be first by a moment. It is held back for this
 * long, so that it stands behind the output.
 */
const holdMs = 20;

/** Progress as lines, one for each change: for files, pipes and terminals that cannot be redrawn. */
export class PlainDisplay implements Display {
  readonly #out: Output;
  readonly #clock: Clock;
  #view: View | undefined;
  #held: string[] = [];
  #cancelHold: Cancel | undefined;

  constructor(out: Output, clock: Clock) {
    this.#out = out;
    this.#clock = clock;
  }

  update(view: View): void {
    this.#held.push(...changeLines(this.#view, view));
    this.#view = view;
    if (this.#held.length === 0) return;
    this.#cancelHold ??= this.#clock.after(holdMs, () => this.#release());
  }

  log({ label, stream, text }: LogLine): void {
    const before = `${label}${separator(stream)}`;
    this.#out.write(`${this.#out.color ? paint(before, "dim") : before}${text}\n`);
  }

  note(text: string): void {
    this.#release();
    this.#out.write(`${text}\n`);
  }

  /** Its lines are for no terminal, where nobody is asked. */
  hold(): void {}

  end(): void {
    this.#release();
  }

  #release(): void {
    this.#cancelHold?.();
    this.#cancelHold = undefined;
    const lines = this.#held;
    this.#held = [];
    if (lines.length > 0) this.#out.write(`${lines.join("\n")}\n`);
  }
}

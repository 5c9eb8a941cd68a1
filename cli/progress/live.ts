import type { Cancel, Clock } from "#kube/ports.ts";
import { paint } from "#workflows/text.ts";
import type { Output } from "../environment.ts";
import type { Display } from "./display.ts";
import { frame, type OrderOf } from "./frame.ts";
import { type LogLine, separator, terminalText } from "./log-line.ts";
import { Screen } from "./screen.ts";
import type { View } from "./view.ts";

/** Shortest time between two drawings, so that a flood of changes or output does not become a flood of drawings. */
const drawMs = 50;

/** Durations count up this often while nothing else happens. */
const tickMs = 250;

/** The tree of jobs and steps, drawn over and over at the bottom of a terminal; output scrolls by above it. */
export class LiveDisplay implements Display {
  readonly #out: Output;
  readonly #clock: Clock;
  readonly #orderOf: OrderOf;
  readonly #screen: Screen;
  readonly #forget: Cancel;
  #view: View | undefined;
  #above = "";
  #drawnAt = Number.NEGATIVE_INFINITY;
  #cancelDraw: Cancel | undefined;
  #due = Number.POSITIVE_INFINITY;
  #ended = false;
  #held = false;

  constructor(out: Output, clock: Clock, orderOf: OrderOf) {
    this.#out = out;
    this.#clock = clock;
    this.#orderOf = orderOf;
    this.#screen = new Screen(out);
    this.#forget = out.onResize(() => this.#schedule(0));
  }

  update(view: View): void {
    this.#view = view;
    this.#schedule(0);
  }

  log({ label, stream, text }: LogLine): void {
    const { color } = this.#out;
    const before = `${label}${separator(stream)}`;
    this.#above += `${color ? paint(before, "dim") : before}${terminalText(text, color)}\n`;
    this.#schedule(0);
  }

  note(text: string): void {
    this.#above += `${text}\n`;
    this.#schedule(0);
  }

  hold(isHeld: boolean): void {
    this.#held = isHeld;
    if (!isHeld) {
      this.#due = Number.POSITIVE_INFINITY;
      this.#schedule(0);
      return;
    }
    this.#cancelDraw?.();
    this.#screen.draw([], this.#above);
    this.#above = "";
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#cancelDraw?.();
    this.#forget();
    this.#screen.draw([], this.#above);
  }

  /** Draws in `ms`, though not too soon after the last time; an earlier date wins. */
  #schedule(ms: number): void {
    if (this.#ended || this.#held) return;
    const now = this.#clock.monotonic();
    const due = Math.max(now + ms, this.#drawnAt + drawMs);
    if (due >= this.#due) return;
    this.#cancelDraw?.();
    this.#due = due;
    this.#cancelDraw = this.#clock.after(due - now, () => this.#draw());
  }

  #draw(): void {
    this.#due = Number.POSITIVE_INFINITY;
    this.#drawnAt = this.#clock.monotonic();
    const { out, view } = { out: this.#out, view: this.#view };
    const size = { columns: out.columns(), rows: out.rows() };
    const options = { now: this.#clock.now(), color: out.color, orderOf: this.#orderOf, ...size };
    this.#screen.draw(view === undefined ? [] : frame(view, options), this.#above);
    this.#above = "";
    this.#schedule(tickMs);
  }
}

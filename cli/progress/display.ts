import type { LogLine } from "./log-line.ts";
import type { View } from "./view.ts";

/** How progress is shown. */
export interface Display {
  /** Something has changed, or time has passed. */
  update(view: View): void;
  log(line: LogLine): void;
  /** One line in our own words. */
  note(text: string): void;
  /** Whether somebody else writes on the terminal now: then everything waits. */
  hold(isHeld: boolean): void;
  /** Nothing follows. What was held back is shown, what was drawn goes. */
  end(): void;
}

import { setImmediate as turn } from "node:timers/promises";
import type { VirtualClock } from "#kube/virtual-clock.ts";

/** Turns of the event loop within which whatever needs no time has happened. */
const turns = 30;

/** Lets time pass, timer by timer, until it holds; fails after so many virtual milliseconds. */
export async function until(
  clock: VirtualClock,
  holds: () => boolean | Promise<boolean>,
  ms = 3_600_000,
): Promise<void> {
  const limit = clock.now() + ms;
  for (;;) {
    for (let n = 0; n < turns; n++) await turn();
    if (await holds()) return;
    if (clock.now() > limit || !clock.runNext()) throw new Error("it does not get there");
  }
}

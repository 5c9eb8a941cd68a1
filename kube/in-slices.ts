import type { Work } from "#api/work.ts";
import { type Clock, sleep } from "#kube/ports.ts";

/**
 * How long work goes on before others get their turn, in milliseconds. Timers and answers are late by this and one step of the work at
 * most; leases, health checks and the 5 s of an admission request are far from it.
 */
const sliceMs = 10;

/**
 * Does long work in slices, so that the process goes on with everything else meanwhile. The work says where it may be interrupted: it
 * yields there.
 */
export async function inSlices<T>(work: Work<T>, clock: Clock): Promise<T> {
  let begun = clock.monotonic();
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
    if (clock.monotonic() - begun < sliceMs) continue;
    await sleep(clock, 0);
    begun = clock.monotonic();
  }
}

import type { RunStatus } from "#api/kinds/run.ts";

const base = 250;
const longest = 15_000;

/**
 * How long a Run that came back from a Pod without having been claimed waits before it is placed again, in milliseconds. Once is
 * bad luck and costs no delay; a Run that keeps coming back must not turn into a loop of writes. Every assignment raises the
 * epoch and every claim the attempt, so their difference counts the assignments that came to nothing, also after a restart.
 */
export function bounceDelay(status: RunStatus | undefined): number {
  const bounces = (status?.assignmentEpoch ?? 0) - (status?.attempt ?? 0);
  return bounces < 2 ? 0 : Math.min(longest, base * 2 ** Math.min(bounces - 2, 16));
}

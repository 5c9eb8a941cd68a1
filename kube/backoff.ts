import type { Random } from "#kube/ports.ts";

/**
 * Delay before the next attempt after `failures` failures in a row: doubled each time up to `max`, spread over 50 to
 * 150 % so that clients that failed together do not come back together.
 */
export function backoff(failures: number, base: number, max: number, random: Random): number {
  const full = Math.min(max, base * 2 ** Math.min(Math.max(0, failures - 1), 40));
  return full * (0.5 + random.next());
}

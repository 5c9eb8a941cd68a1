import type { Score } from "../framework.ts";

/**
 * Pods that let an assignment lie until it was taken back come last: they are empty just because their agent does nothing, so load
 * alone would choose them again and again.
 */
export const responsive: Score = {
  name: "responsive",
  weight: 100,
  score: (_run, pod) => (pod.unresponsive ? 0 : 1),
};

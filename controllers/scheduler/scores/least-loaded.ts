import type { Score } from "../framework.ts";
import { load } from "../slot.ts";

/** The share that stays free of the scarcest resource once the Run is there: a ratio and no rank, so near equals stay near. */
export const leastLoaded: Score = {
  name: "least-loaded",
  weight: 1,
  score: (run, pod) => Math.max(0, 1 - load(pod, run)),
};

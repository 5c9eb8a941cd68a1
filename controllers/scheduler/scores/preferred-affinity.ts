import type { Score } from "../framework.ts";

/**
 * The share of the preferred weight that the Pod satisfies: terms with a matching Run there, and anti-terms without one. It counts
 * twice as much as load, so that a wish is heard unless the Pod is nearly full beside an empty one.
 */
export const preferredAffinity: Score = {
  name: "preferred-affinity",
  weight: 2,
  score(_run, pod, { affinity }) {
    let total = 0;
    let satisfied = 0;
    for (const { weight, pods } of affinity.preferred) {
      total += weight;
      if (pods.has(pod.key)) satisfied += weight;
    }
    for (const { weight, pods } of affinity.preferredAnti) {
      total += weight;
      if (!pods.has(pod.key)) satisfied += weight;
    }
    return total === 0 ? 0 : satisfied / total;
  },
};

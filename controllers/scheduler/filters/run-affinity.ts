import type { Filter, Refusal, Verdict } from "../framework.ts";

const reason = "AffinityNotSatisfied";
/** What every Pod says on which nobody is that the Run has to be with. */
export const withoutCohort: Refusal = { reason, message: "without a Run that the required affinity names" };
const avoided: Verdict = { reason, message: "with a Run that the required anti-affinity names" };
const repelled: Verdict = { reason, message: "with a Run whose anti-affinity names this one", byLabels: true };

/**
 * Required affinity (every term needs a matching Run on the Pod, or the Run starts the cohort), required anti-affinity, and the
 * anti-affinity of the Runs that are there already.
 */
export const runAffinity: Filter = {
  name: "run-affinity",
  filter(_run, pod, { affinity }) {
    for (const term of affinity.required) if (!term.seed && !term.pods.has(pod.key)) return withoutCohort;
    if (affinity.avoided.has(pod.key)) return avoided;
    return affinity.repelling.has(pod.key) ? repelled : undefined;
  },
};

import type { Filter, Refusal } from "../framework.ts";
import type { Availability } from "../pod-view.ts";

const phrases: Readonly<Record<Exclude<Availability, "available">, string>> = {
  draining: "draining",
  notReady: "not ready",
  deleting: "being deleted",
  ended: "ended",
  foreign: "not owned by the Runtime",
};

// One object for each phrase: this filter runs for every Pod of a decision.
const verdicts = Object.fromEntries(
  Object.entries(phrases).map(([availability, message]) => [availability, { reason: "NoReadyPods", message }]),
) as Readonly<Record<Exclude<Availability, "available">, Refusal>>;

/** Only ready Pods of the Runtime's own ReplicaSets; a draining one only for Runs whose workspace is bound to it. */
export const podAvailable: Filter = {
  name: "pod-available",
  filter(_run, pod, { workspace }) {
    const availability = pod.view?.availability ?? "ended";
    if (availability === "available") return undefined;
    const bound = workspace?.kind === "bound" && workspace.slot === pod;
    return availability === "draining" && bound ? undefined : verdicts[availability];
  },
};

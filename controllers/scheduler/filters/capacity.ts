import type { Filter, Verdict } from "../framework.ts";
import { canUse, couldFit, fits } from "../slot.ts";

const reason = "InsufficientCapacity";
const tooSmall: Verdict = { reason, message: "too small", lasting: true };
const session: Verdict = { reason, message: "taken by a session" };
const notEmpty: Verdict = { reason, message: "not empty, as a session needs it" };
const full: Verdict = { reason, message: "full" };
const held: Verdict = { reason, message: "kept free for a Run that waits longer" };

/**
 * The whole vector of requests must fit beside what is there, a session needs the Pod for itself, and a Pod that is kept free for
 * a waiting Run is open only to those before it in order.
 */
export const capacity: Filter = {
  name: "capacity",
  filter(run, pod) {
    if (!couldFit(pod, run.requests)) return tooSmall;
    if (!fits(pod, run)) {
      if (pod.exclusive > 0) return session;
      return run.exclusive && pod.runs.size > 0 ? notEmpty : full;
    }
    return canUse(pod, run) ? undefined : held;
  },
};

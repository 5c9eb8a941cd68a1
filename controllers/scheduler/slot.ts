import type { Amounts } from "#api/quantity.ts";
import type { PodView } from "./pod-view.ts";
import { isBefore, type Workload } from "./workload.ts";

/** What is known of one Pod: what it has, and what is charged to it. Only the ledger changes it. */
export interface Slot {
  /** `namespace/uid` of the Pod. */
  readonly key: string;
  /** Absent while only Runs tell of the Pod: it is gone, or not seen yet. */
  view: PodView | undefined;
  /** Sum of the requests of `runs`. */
  readonly used: Map<string, number>;
  /** Active and reserved Runs by UID. */
  readonly runs: Map<string, Workload>;
  /** How many of `runs` want the Pod to themselves. */
  exclusive: number;
  /** A waiting Run for which the Pod is kept free: nobody that comes after it in order gets in. */
  heldFor: Workload | undefined;
  /** Did not claim a Run in time and has claimed none since: taken only when no other Pod fits. */
  unresponsive: boolean;
  /** Position in the load index of its pool; -1 when it is not in one. */
  bucket: number;
}

export function emptySlot(key: string): Slot {
  return {
    key,
    view: undefined,
    used: new Map(),
    runs: new Map(),
    exclusive: 0,
    heldFor: undefined,
    unresponsive: false,
    bucket: -1,
  };
}

/** Whether the Pod could hold the Run if it were empty. */
export function couldFit(slot: Slot, requests: Amounts): boolean {
  const capacity = slot.view?.capacity ?? {};
  for (const name in requests) if ((requests[name] ?? 0) > (capacity[name] ?? 0)) return false;
  return true;
}

/** Whether the Pod has room for the Run now: the full vector, and the rule that a session is alone. */
export function fits(slot: Slot, run: Workload): boolean {
  const capacity = slot.view?.capacity;
  if (capacity === undefined || slot.exclusive > 0 || (run.exclusive && slot.runs.size > 0)) return false;
  const { requests } = run;
  for (const name in requests) {
    const amount = requests[name] ?? 0;
    if (amount > 0 && (slot.used.get(name) ?? 0) + amount > (capacity[name] ?? 0)) return false;
  }
  return true;
}

/** Whether the Pod has room for the Run and is not kept free for one that comes before it. */
export function canUse(slot: Slot, run: Workload): boolean {
  const { heldFor } = slot;
  return fits(slot, run) && (heldFor === undefined || heldFor.uid === run.uid || isBefore(run, heldFor));
}

/**
 * How full the Pod is: the largest used share of any resource, 0 to 1 (above 1 when over-committed). With `extra`, after that Run
 * was added.
 */
export function load(slot: Slot, extra?: Workload): number {
  const capacity = slot.view?.capacity ?? {};
  if (slot.exclusive > 0 || extra?.exclusive) return 1;
  let most = 0;
  for (const name in capacity) {
    const have = capacity[name] ?? 0;
    const used = (slot.used.get(name) ?? 0) + (extra?.requests[name] ?? 0);
    const share = have > 0 ? used / have : used > 0 ? 1 : 0;
    if (share > most) most = share;
  }
  return most;
}

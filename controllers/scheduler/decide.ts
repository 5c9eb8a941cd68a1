import { explain, noRefusals, refusedByLabels, type Waiting } from "./explain.ts";
import type { Plugins, Refusal, Verdict } from "./framework.ts";
import { load, type Slot } from "./slot.ts";
import { podsOfCohort, type Snapshot, takeSnapshot, type World } from "./snapshot.ts";
import type { Workload } from "./workload.ts";

/**
 * Pods that pass all filters are compared up to this number; then the search ends. It goes from the emptiest Pod to the fullest,
 * so more of them would hardly be better. Kubernetes compares at least 100 nodes of a large cluster for the same reason.
 */
export const maxCompared = 64;

export type Decision =
  | { readonly kind: "place"; readonly slot: Slot }
  | ({ readonly kind: "wait" } & Waiting)
  /** None of the Pods that were to be tried takes it; the others were not asked. `byLabels` as in {@link Waiting}. */
  | { readonly kind: "refused"; readonly byLabels: boolean };

/**
 * Chooses a Pod for a Run, or says why there is none and what could change that. Pure: the caller reserves.
 * @param only the only Pods that are worth a try; default all that there are
 */
export function decide(run: Workload, world: World, plugins: Plugins, only?: readonly Slot[]): Decision {
  const snapshot = takeSnapshot(run, world);
  const { runtime, workspace } = snapshot;
  if (runtime === undefined || runtime.deleting || workspace?.kind === "unusable") {
    return { kind: "wait", ...explain(run, snapshot, noRefusals) };
  }

  const counts = new Map<Refusal, number>();
  const fitting: Slot[] = [];
  let holdable: Slot | undefined;
  for (const pod of only ?? candidates(snapshot)) {
    const verdict = firstVerdict(plugins, run, pod, snapshot);
    if (verdict === undefined) {
      if (fitting.push(pod) === maxCompared) break;
      continue;
    }
    counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
    if (canBeHeld(verdict, pod) && (holdable === undefined || load(pod) < load(holdable))) holdable = pod;
  }
  const slot = best(plugins, run, fitting, snapshot);
  if (slot !== undefined) return { kind: "place", slot };
  if (only === undefined) return { kind: "wait", ...explain(run, snapshot, { counts, holdable }) };
  return { kind: "refused", byLabels: refusedByLabels(counts.keys()) };
}

/** Whether room is all that the Pod lacks for the Run, if anything: then it is worth keeping free. */
export function lacksOnlyRoom(run: Workload, pod: Slot, world: World, plugins: Plugins): boolean {
  const snapshot = takeSnapshot(run, world);
  if (!snapshot.runtime || snapshot.runtime.deleting || snapshot.workspace?.kind === "unusable") return false;
  const verdict = firstVerdict(plugins, run, pod, snapshot);
  return verdict === undefined || (verdict.reason === "InsufficientCapacity" && verdict.lasting !== true);
}

function firstVerdict(plugins: Plugins, run: Workload, pod: Slot, snapshot: Snapshot): Verdict {
  for (const { filter } of plugins.filters) {
    const verdict = filter(run, pod, snapshot);
    if (verdict !== undefined) return verdict;
  }
  return undefined;
}

/** Pods that can do at all, in the order in which they are tried. Most Runs can go anywhere; some only to few Pods. */
function* candidates({ pool, workspace, affinity }: Snapshot): Generator<Slot, void, void> {
  if (workspace?.kind === "bound") {
    yield workspace.slot;
    return;
  }
  const bound = podsOfCohort(affinity);
  if (bound !== undefined) {
    yield* known(bound.keys());
    return;
  }
  // Wished-for Pods first, since the search ends before it has seen all.
  const wished = new Set(affinity.preferred.flatMap(({ pods }) => [...pods.keys()]));
  yield* known(wished);
  for (const slot of pool.byLoad()) if (!wished.has(slot.key)) yield slot;

  function* known(keys: Iterable<string>): Generator<Slot, void, void> {
    for (const key of keys) {
      const slot = pool.get(key);
      if (slot !== undefined) yield slot;
    }
  }
}

function canBeHeld(verdict: Refusal, pod: Slot): boolean {
  return verdict.reason === "InsufficientCapacity" && verdict.lasting !== true && pod.heldFor === undefined;
}

/** The highest sum of weighted scores; equals by Pod name, so that the same world gives the same choice. */
function best(plugins: Plugins, run: Workload, pods: readonly Slot[], snapshot: Snapshot): Slot | undefined {
  let top: Slot | undefined;
  let most = Number.NEGATIVE_INFINITY;
  for (const pod of pods) {
    let sum = 0;
    for (const { weight, score } of plugins.scores) sum += weight * score(run, pod, snapshot);
    if (top === undefined || sum > most || (sum === most && nameOf(pod) < nameOf(top))) [top, most] = [pod, sum];
  }
  return top;
}

const nameOf = (pod: Slot): string => pod.view?.name ?? pod.key;

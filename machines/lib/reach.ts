import type { ChartModel, TransitionModel } from "./describe.ts";

/**
 * Every state that can be reached from `from` by transitions that `may` accepts, `from` itself included: a status
 * write that keeps the phase needs none.
 */
export function reachable(model: ChartModel, from: string, may: (transition: TransitionModel) => boolean): Set<string> {
  const found = new Set([from]);
  const open = [from];
  for (let state = open.pop(); state !== undefined; state = open.pop()) {
    for (const transition of model.transitions) {
      if (transition.from === state && may(transition) && !found.has(transition.to)) {
        found.add(transition.to);
        open.push(transition.to);
      }
    }
  }
  return found;
}

/** The states of `set` in the order of the chart. */
export function inOrder(model: ChartModel, set: ReadonlySet<string>): string[] {
  return model.states.map((state) => state.name).filter((name) => set.has(name));
}

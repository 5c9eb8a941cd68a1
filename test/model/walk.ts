import type { AnyMachineSnapshot, AnyStateMachine } from "xstate";
import { getShortestPaths, getSimplePaths } from "xstate/graph";
import { stableJson } from "#api/json.ts";
import type { Walk } from "./samples/samples.ts";

interface Event {
  readonly type: string;
}

/** Paths with a common beginning: `prefix` from `start`, then each of `tails` by itself. */
export interface Paths {
  readonly start: AnyMachineSnapshot;
  readonly prefix: readonly Event[];
  readonly tails: readonly Event[];
}

/** How many paths these are. */
export function count(list: readonly Paths[]): number {
  return list.reduce((sum, { tails }) => sum + tails.length, 0);
}

interface GraphStep {
  readonly event: Event;
}

/** The first step of every generated path only says where it begins. */
function eventsOf(steps: readonly GraphStep[]): Event[] {
  return steps.map((step) => step.event).filter((event) => event.type !== "xstate.init");
}

/**
 * Shortest paths to everything: to each snapshot that the samples can lead to (told apart by `essence`), and from each
 * of them every sample once, whether the chart takes it or not. So each transition and each refusal of a guard lies on
 * a path.
 */
export function coveringPaths(machine: AnyStateMachine, walk: Walk, starts: readonly AnyMachineSnapshot[]): Paths[] {
  const events = Object.values(walk.samples).flat();
  return starts.flatMap((start) => {
    const options = {
      events,
      fromState: start,
      serializeState: (snapshot: AnyMachineSnapshot) => stableJson(walk.essence(snapshot)),
    };
    return getShortestPaths(machine, options).map((path) => {
      return { start, prefix: eventsOf(path.steps as unknown as readonly GraphStep[]), tails: events };
    });
  });
}

/**
 * Paths that never come back to a state they were in, one for each order of states and each way between two of them,
 * at most `limit`. Snapshots are told apart by state only.
 */
export function simplePaths(machine: AnyStateMachine, walk: Walk, start: AnyMachineSnapshot, limit: number): Paths[] {
  const options = {
    events: Object.values(walk.samples).flat(),
    fromState: start,
    serializeState: (snapshot: AnyMachineSnapshot) => String(snapshot.value),
  };
  return getSimplePaths(machine, options)
    .slice(0, limit)
    .map((path) => {
      const events = eventsOf(path.steps as unknown as readonly GraphStep[]);
      return { start, prefix: events.slice(0, -1), tails: events.slice(-1) };
    });
}

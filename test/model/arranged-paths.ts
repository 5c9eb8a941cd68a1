import type { AnyMachineSnapshot } from "xstate";
import { stableJson } from "#api/json.ts";
import type { TransitionModel } from "#machines/lib/describe.ts";
import { step } from "#machines/lib/settle.ts";
import type { AnyArrangements, Event, Scene } from "./arrangements/arranged.ts";
import type { modelled } from "./models.ts";
import { drawnTransition } from "./replay.ts";

type Modelled = (typeof modelled)[number];

export interface ArrangedStep {
  readonly event: Event;
  readonly from: string;
  /** Undefined when the guards of every branch refuse. */
  readonly transition: TransitionModel | undefined;
}

/** A path of a chart through one scene. */
export interface ArrangedPath {
  readonly scene: Scene;
  readonly steps: readonly ArrangedStep[];
}

interface Place {
  readonly snapshot: AnyMachineSnapshot;
  readonly steps: readonly ArrangedStep[];
}

/** More events than any component sends by itself in a row. */
const maxFollowing = 12;

/**
 * The shortest path to each snapshot that the events of a scene lead to, continued by each event that the scene has
 * there, for all scenes.
 */
export function arrangedPaths(of: Modelled, arrangements: AnyArrangements): ArrangedPath[] {
  return arrangements.scenes.flatMap((scene) => {
    const essence = (snapshot: AnyMachineSnapshot) => stableJson(of.walk.essence(snapshot));
    const known = new Set([essence(scene.start)]);
    const open: Place[] = [{ snapshot: scene.start, steps: [] }];
    const paths: ArrangedPath[] = [];
    for (let place = open.shift(); place !== undefined; place = open.shift()) {
      for (const event of scene.events(place.snapshot)) {
        const end = follow(of, scene, place, event);
        paths.push({ scene, steps: end.steps });
        const key = essence(end.snapshot);
        if (known.has(key)) continue;
        known.add(key);
        open.push(end);
      }
    }
    return paths;
  });
}

/** An event, and all that the components do by themselves after it. */
function follow(of: Modelled, scene: Scene, from: Place, first: Event): Place {
  let { snapshot } = from;
  const steps = [...from.steps];
  let event: Event | undefined = first;
  for (let count = 0; event !== undefined; count++) {
    if (count > maxFollowing) throw new RangeError(`${of.name}: "${scene.name}" does not come to rest`);
    const transition = drawnTransition(of.machine, snapshot, event);
    steps.push({ event, from: String(snapshot.value), transition });
    snapshot = step(of.machine, snapshot, event).snapshot;
    event = scene.follows?.(snapshot, event);
  }
  return { snapshot, steps };
}

/** What a path shows: transitions by their id, refusals by state and event. */
export function shownBy({ steps }: ArrangedPath): string[] {
  return steps.map(({ event, from, transition }) => transition?.id ?? `${from} ${event.type} refused`);
}

/** Few of the paths, such that everything that one of them shows, as far as it is wanted, is shown. */
export function cover(paths: readonly ArrangedPath[], isWanted: (id: string) => boolean = () => true): ArrangedPath[] {
  const left = new Set(paths.flatMap(shownBy).filter(isWanted));
  const chosen: ArrangedPath[] = [];
  while (left.size > 0) {
    const gain = (path: ArrangedPath) => new Set(shownBy(path).filter((id) => left.has(id))).size;
    const best = paths.reduce((a, b) => {
      const more = gain(b) - gain(a);
      return more > 0 || (more === 0 && b.steps.length < a.steps.length) ? b : a;
    });
    chosen.push(best);
    for (const id of shownBy(best)) left.delete(id);
  }
  return chosen;
}

/** For the name of a test. */
export function nameOf(path: ArrangedPath): string {
  return `${path.scene.name}: ${shownBy(path).join(", ")}`;
}

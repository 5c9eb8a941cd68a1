import type { AnyMachineSnapshot } from "xstate";

export interface Event {
  readonly type: string;
}

/** The objects around the subject of a chart on the embedded API server, with the real components at work on them. */
export interface Stage {
  /** Lets time pass, timer by timer, until it holds; fails after so many virtual milliseconds. */
  until(holds: () => boolean | Promise<boolean>, ms?: number): Promise<void>;
  /** State of the subject in the API server; undefined for a chart that is not stored. */
  state(): Promise<string | undefined>;
  stop(): void | Promise<void>;
}

/** One kind of surroundings in which paths of a chart are played. */
export interface Scene<S extends Stage = Stage, E extends Event = Event> {
  /** What is special about it, for the name of the test. */
  readonly name: string;
  /** The subject before the first event. */
  readonly start: AnyMachineSnapshot;
  /** Other subjects of the same chart live there, whose moves are recorded as well. */
  readonly hasNeighbours?: true;
  /** Events that can be made to happen there. */
  events(snapshot: AnyMachineSnapshot): readonly E[];
  /** What the components do next by themselves once an event is through; undefined when they are at rest. */
  follows?(snapshot: AnyMachineSnapshot, event: E): E | undefined;
  build(): Promise<S>;
}

/**
 * How the real components are brought to fire each event of a chart: by the objects that they see, never by a call.
 * An event of the chart's type without an arrangement does not compile.
 */
export interface Arrangements<S extends Stage, E extends Event> {
  readonly scenes: readonly Scene<S, E>[];
  /** Brings about what the observer makes the event of. Nothing, where it follows by itself. */
  readonly arrange: { readonly [T in E["type"]]: (stage: S, event: Extract<E, { type: T }>) => Promise<void> | void };
}

/** {@link Arrangements} of any chart. */
export interface AnyArrangements {
  readonly events: readonly string[];
  readonly scenes: readonly Scene[];
  perform(stage: Stage, event: Event): Promise<void>;
}

/** Forgets the types of one chart, so that all charts can be looped over. */
export function arranged<S extends Stage, E extends Event>({ scenes, arrange }: Arrangements<S, E>): AnyArrangements {
  const by = arrange as unknown as Readonly<Record<string, (stage: S, event: E) => Promise<void> | void>>;
  return {
    events: Object.keys(arrange),
    scenes: scenes as readonly Scene[],
    async perform(stage, event) {
      const arrangement = by[event.type];
      if (arrangement === undefined) throw new RangeError(`${event.type} has no arrangement`);
      // The scenes of a chart build the stages that its arrangements work on.
      await arrangement(stage as S, event as E);
    },
  };
}

/** For arrangements of what the components do by themselves. */
export const byItself = (): void => {};

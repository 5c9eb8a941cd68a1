import type { ChartModel, StateModel, TransitionModel } from "./describe.ts";

export type Change = "added" | "removed" | "altered";

/** One state or transition that is not what it was. */
export interface Difference {
  readonly chart: string;
  readonly change: Change;
  readonly kind: "chart" | "state" | "transition" | "guard";
  readonly name: string;
  /** For altered ones: what changed, as `field: before -> after`. */
  readonly details: readonly string[];
}

/** How one chart differs from what it was. */
export interface ChartDiff {
  readonly chart: string;
  readonly before: ChartModel | undefined;
  readonly after: ChartModel | undefined;
  readonly differences: readonly Difference[];
}

/** Every chart that differs, in the order of the later ones; charts that are gone come last. */
export function diffCharts(before: readonly ChartModel[], after: readonly ChartModel[]): ChartDiff[] {
  const names = new Set([...after, ...before].map(({ name }) => name));
  return [...names]
    .map((name) => diffChart(before.find(named(name)), after.find(named(name)), name))
    .filter(({ differences }) => differences.length > 0);
}

const named = (name: string) => (each: { readonly name: string }) => each.name === name;

function diffChart(before: ChartModel | undefined, after: ChartModel | undefined, chart: string): ChartDiff {
  const whole = (change: Change, details: readonly string[] = []): Difference => {
    return { chart, change, kind: "chart", name: chart, details };
  };
  const differences: Difference[] = [];
  if (before === undefined) differences.push(whole("added"));
  else if (after === undefined) differences.push(whole("removed"));
  else {
    const details = changes(before, after, ["description", "initial"]);
    if (details.length > 0) differences.push(whole("altered", details));
  }
  const compare = <T>(
    kind: Difference["kind"],
    of: (model: ChartModel) => Map<string, T>,
    fields: readonly (keyof T)[],
  ) => {
    const [old, now] = [before, after].map((model) => (model === undefined ? new Map<string, T>() : of(model)));
    for (const { change, name, details } of compareMaps(old ?? new Map(), now ?? new Map(), fields)) {
      differences.push({ chart, change, kind, name, details });
    }
  };
  compare<StateModel>("state", statesOf, ["description", "tags"]);
  compare<Placed>("transition", placedOf, ["to", "place", "writers", "reasons", "effects", "reopens", "description"]);
  compare<{ condition: string }>("guard", guardsOf, ["condition"]);
  return { chart, before, after, differences };
}

/** The name by which a transition is the same one: its number among the branches of its event changes with the others. */
export function keyOf({ from, event, guard }: TransitionModel): string {
  return `${from} ${event}${guard === undefined ? "" : ` [${guard}]`}`;
}

/** With its place among the branches that exist on both sides: the first whose guard holds is taken. */
interface Placed extends TransitionModel {
  readonly place: string;
}

const statesOf = ({ states }: ChartModel) => new Map(states.map((state) => [state.name, state]));

function placedOf({ transitions }: ChartModel): Map<string, Placed> {
  const placed = new Map<string, Placed>();
  for (const transition of transitions) {
    const { from, event } = transition;
    const before = transitions
      .slice(0, transitions.indexOf(transition))
      .filter((each) => each.from === from && each.event === event);
    placed.set(keyOf(transition), { ...transition, place: before.map(({ guard }) => guard ?? "").join(", ") });
  }
  return placed;
}

const guardsOf = ({ guards }: ChartModel) => new Map(guards.map((guard) => [guard.name, guard]));

interface Compared {
  readonly change: Change;
  readonly name: string;
  readonly details: readonly string[];
}

function compareMaps<T>(before: Map<string, T>, after: Map<string, T>, fields: readonly (keyof T)[]): Compared[] {
  const found: Compared[] = [];
  for (const [name, now] of after) {
    const old = before.get(name);
    if (old === undefined) found.push({ change: "added", name, details: [] });
    else {
      const details = changes(old, now, fields);
      if (details.length > 0) found.push({ change: "altered", name, details });
    }
  }
  for (const name of before.keys()) if (!after.has(name)) found.push({ change: "removed", name, details: [] });
  return found;
}

function changes<T>(before: T, after: T, fields: readonly (keyof T)[]): string[] {
  return fields.flatMap((field) => {
    const [old, now] = [text(before[field]), text(after[field])];
    return old === now ? [] : [`${names[String(field)] ?? String(field)}: ${old} -> ${now}`];
  });
}

const names: Readonly<Record<string, string>> = { place: "tried after" };

function text(value: unknown): string {
  const shown = Array.isArray(value) ? value.join(", ") : String(value);
  return shown === "" ? "nothing" : shown;
}

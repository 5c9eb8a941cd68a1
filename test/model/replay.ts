import { Ajv, type ValidateFunction } from "ajv";
import type { AnyMachineSnapshot, AnyStateMachine } from "xstate";
import { type ChartModel, describe, type TransitionModel } from "#machines/lib/describe.ts";
import { step } from "#machines/lib/settle.ts";
import type { modelled } from "./models.ts";
import { mustTake, type Status, wrongEnd } from "./oracles/oracle.ts";
import type { Paths } from "./walk.ts";

type Modelled = (typeof modelled)[number];

/** How the snapshot gets from one event to the next. */
export type Carrier = "memory" | "status";

function refusableOf({ transitions }: ChartModel): Set<string> {
  const open = new Set(transitions.filter(({ guard }) => guard === undefined).map(placeOf));
  return new Set(transitions.map(placeOf).filter((place) => !open.has(place)));
}

const placeOf = ({ from, event }: TransitionModel) => `${from} ${event}`;

const charts = new WeakMap<AnyStateMachine, ChartModel>();

/** The transition that a machine picks, as its model has it; undefined when it picks none. */
export function drawnTransition(
  machine: AnyStateMachine,
  snapshot: AnyMachineSnapshot,
  event: { readonly type: string },
): TransitionModel | undefined {
  const [picked] = machine.getTransitionData(snapshot, event);
  if (picked === undefined) return undefined;
  const state = String(snapshot.value);
  const chart = charts.get(machine) ?? describe(machine);
  charts.set(machine, chart);
  const index = machine.states[state]?.transitions.get(event.type)?.indexOf(picked) ?? -1;
  const drawn = chart.transitions.filter((each) => each.from === state && each.event === event.type)[index];
  if (drawn === undefined) throw new Error(`${state} ${event.type} is taken and not drawn`);
  return drawn;
}

/** Replays paths of one chart and holds every step against its oracle. */
export class Replay {
  readonly chart: ChartModel;
  /** Ids of the transitions taken. */
  readonly taken = new Set<string>();
  /** `STATE EVENT` where every branch had a guard and all of them refused. */
  readonly refused = new Set<string>();
  readonly states = new Set<string>();
  /** `STATE EVENT` where every branch has a guard, so that all of them may refuse. */
  readonly refusable: ReadonlySet<string>;
  steps = 0;
  /** Types of the effects of the last step. */
  lastEffects: readonly string[] = [];
  readonly #of: Modelled;
  readonly #fitsSchema: ValidateFunction | undefined;

  constructor(of: Modelled) {
    this.#of = of;
    this.chart = describe(of.machine);
    this.refusable = refusableOf(this.chart);
    const ajv = new Ajv({ strict: false, validateFormats: false });
    this.#fitsSchema = of.schema && ajv.compile(of.schema);
  }

  /** The status of a snapshot; a chart that is not stored shows its context instead. */
  statusOf(snapshot: AnyMachineSnapshot): Status {
    const { persistence } = this.#of;
    if (persistence !== undefined) return persistence.toStatus(snapshot) as Status;
    return { ...(snapshot.context as object), phase: String(snapshot.value) };
  }

  /** Runs the paths and returns where each of them ends. */
  run({ start, prefix, tails }: Paths, carrier: Carrier): AnyMachineSnapshot[] {
    const carry = (snapshot: AnyMachineSnapshot) => (carrier === "memory" ? snapshot : this.throughStatus(snapshot));
    const follow = (from: AnyMachineSnapshot, events: readonly { readonly type: string }[]) => {
      let snapshot = from;
      events.forEach((event, index) => {
        try {
          snapshot = this.step(carry(snapshot), event);
        } catch (error) {
          const trace = [
            JSON.stringify(this.statusOf(from)),
            ...events.slice(0, index + 1).map((it) => JSON.stringify(it)),
          ];
          throw new Error(`${this.#of.name}: after\n  ${trace.join("\n  ")}`, { cause: error });
        }
      });
      return snapshot;
    };
    const middle = follow(start, prefix);
    return tails.map((event) => follow(middle, [event]));
  }

  /** One event: the move must be one that the chart draws, and the oracle must find nothing wrong with it. */
  step(snapshot: AnyMachineSnapshot, event: { readonly type: string }): AnyMachineSnapshot {
    this.steps++;
    const drawn = this.#drawn(snapshot, event);
    const before = this.statusOf(snapshot);
    const { snapshot: next, effects, changed } = step(this.#of.machine, snapshot, event);
    const after = this.statusOf(next);
    this.states.add(String(snapshot.value)).add(String(next.value));
    const types = effects.map((effect) => (effect as { type: string }).type);
    this.lastEffects = types;
    const wrong = [...this.#againstChart(drawn, before, after, types, changed)];
    const expected = mustTake(this.#of.oracle, before, event);
    if (expected !== (drawn !== undefined)) {
      wrong.push(`${event.type} in ${before.phase} ${expected ? "must do something" : "must be ignored"}`);
    }
    if (drawn !== undefined) {
      const move = { before, event, after, effects: types };
      wrong.push(...this.#of.oracle.check(move), ...wrongEnd(this.#of.oracle, move));
      const writers = this.#of.oracle.writersOf(move);
      if (String(drawn.writers) !== String(writers)) {
        wrong.push(`${drawn.id} names the writer ${drawn.writers}, and it is ${writers} who may do that`);
      }
    }
    if (this.#fitsSchema !== undefined && !this.#fitsSchema(JSON.parse(JSON.stringify(after)))) {
      wrong.push(`the status breaks its schema: ${JSON.stringify(this.#fitsSchema.errors)}`);
    }
    if (wrong.length > 0) {
      throw new Error(`${JSON.stringify(event)}:\n  ${wrong.join("\n  ")}\n  ${JSON.stringify(after)}`);
    }
    return next;
  }

  /** The transition that the machine picks, as the model has it; notes what was taken or refused. */
  #drawn(snapshot: AnyMachineSnapshot, event: { readonly type: string }): TransitionModel | undefined {
    const drawn = drawnTransition(this.#of.machine, snapshot, event);
    if (drawn !== undefined) this.taken.add(drawn.id);
    else if (this.chart.transitions.some((each) => each.from === snapshot.value && each.event === event.type)) {
      this.refused.add(`${String(snapshot.value)} ${event.type}`);
    }
    return drawn;
  }

  #againstChart(
    drawn: TransitionModel | undefined,
    before: Status,
    after: Status,
    effects: readonly string[],
    changed: boolean,
  ): string[] {
    if (drawn === undefined) {
      return changed || effects.length > 0 ? ["an event without a transition changed something"] : [];
    }
    const wrong: string[] = [];
    if (after.phase !== drawn.to) wrong.push(`drawn to ${drawn.to}, went to ${after.phase}`);
    if (String(effects) !== String(drawn.effects)) wrong.push(`drawn with ${drawn.effects}, emitted ${effects}`);
    if (changed && JSON.stringify(before) === JSON.stringify(after))
      wrong.push("written although nothing is different");
    if (!changed && JSON.stringify(before) !== JSON.stringify(after)) wrong.push("changed and not said so");
    return wrong;
  }

  /** Stored, forgotten, read again. */
  throughStatus(snapshot: AnyMachineSnapshot): AnyMachineSnapshot {
    const { persistence } = this.#of;
    if (persistence === undefined) return snapshot;
    const { value, context } = persistence.restore(JSON.parse(JSON.stringify(persistence.toStatus(snapshot))));
    // Into this machine, which may be another one than the one that is in use.
    return this.#of.machine.resolveState({ value, context });
  }
}

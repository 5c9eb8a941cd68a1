import type { AnyStateMachine } from "xstate";
import { type ArrangedPath, arrangedPaths, cover } from "./arranged-paths.ts";
import { arrangementsOf } from "./arrangements/index.ts";
import { type Recorded, substitute } from "./arrangements/recorder.ts";
import type { modelled } from "./models.ts";
import { deleted, Hunt, type Mutant, negated, retargeted, unguarded } from "./mutants.ts";
import { judge, play } from "./play.ts";
import { Replay } from "./replay.ts";

type Modelled = (typeof modelled)[number];

/** The replays: each looks for faults by itself. */
export type Finder = "pure" | "status" | "components";

export interface Tally {
  readonly chart: string;
  readonly faults: number;
  readonly by: Readonly<Record<Finder, { readonly tried: number; readonly missed: readonly string[] }>>;
  /** Names of the faults that no replay has found. */
  readonly survivors: readonly string[];
}

/** An event that does not come is not waited for longer than this, in virtual milliseconds: no scene takes two minutes. */
const patienceMs = 180_000;

/**
 * Looks for every fault of one chart. Each is looked for on the pure machine and through the status. The real components
 * are given every transition that is gone, every guard that says the opposite, and one wrong target for each transition;
 * most guards that let everything pass they cannot see, since their observers look before they send.
 */
export async function huntAll(of: Modelled): Promise<Tally> {
  const hunt = new Hunt(of);
  const retargets = retargeted(of);
  const thorough = new Set([...deleted(of), ...oneForEachPlace(retargets), ...negated(of)]);
  const faults = [...new Set([...thorough, ...retargets, ...unguarded(of)])];
  const paths = arrangedPaths(of, arrangementsOf(of.name));
  const by: Record<Finder, Count> = { pure: none(), status: none(), components: none() };
  const survivors: string[] = [];
  for (const mutant of faults) {
    const found = [note(by.pure, mutant, hunt.finds(mutant, "memory"))];
    if (of.persistence !== undefined) found.push(note(by.status, mutant, hunt.finds(mutant, "status")));
    if (thorough.has(mutant)) {
      found.push(note(by.components, mutant, await isFoundByComponents(of, mutant, paths)));
    }
    if (!found.includes(true)) survivors.push(mutant.name);
  }
  return { chart: of.name, faults: faults.length, by, survivors };
}

interface Count {
  tried: number;
  readonly missed: string[];
}

const none = (): Count => ({ tried: 0, missed: [] });

function note(count: Count, { name }: Mutant, isFound: boolean): boolean {
  count.tried++;
  if (!isFound) count.missed.push(name);
  return isFound;
}

/** The first for each transition is always the same state; which one depends on its place instead. */
function oneForEachPlace(mutants: readonly Mutant[]): Mutant[] {
  const places = Map.groupBy(mutants, ({ state, event, branch }) => `${state} ${event} ${branch}`);
  return [...places.values()].flatMap((group, index) => group.slice(index % group.length, (index % group.length) + 1));
}

/** Lets the real components work by the faulty chart, on the paths that come by the place of the fault. */
export async function isFoundByComponents(
  of: Modelled,
  { state, event, machine }: Mutant,
  paths: readonly ArrangedPath[],
): Promise<boolean> {
  const passing = cover(
    paths.filter(({ steps }) => steps.some((each) => each.from === state && each.event.type === event)),
    (id) => id.startsWith(`${state} ${event}`),
  );
  const replays = new Map([[of.name, new Replay(of)]]);
  try {
    for (const path of passing) {
      const records = await playBy(of, machine, path);
      judge(
        records.filter(({ chart }) => chart === of.name),
        replays,
      );
    }
    return false;
  } catch {
    return true;
  }
}

/** Plays a path while the components work by another chart; what they did is judged by the real one afterwards. */
async function playBy(of: Modelled, machine: AnyStateMachine, path: ArrangedPath): Promise<readonly Recorded[]> {
  const undo = substitute(of.machine, machine);
  try {
    return await play(of, arrangementsOf(of.name), path, patienceMs);
  } finally {
    undo();
  }
}

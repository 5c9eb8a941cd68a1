import { describe, expect, test } from "vitest";
import { describe as describeChart } from "#machines/lib/describe.ts";
import { arrangedPaths } from "./arranged-paths.ts";
import { arrangementsOf } from "./arrangements/index.ts";
import { modelled } from "./models.ts";
import { deleted, Hunt, type Mutant, negated, retargeted, unchanged, unguarded } from "./mutants.ts";
import { isFoundByComponents } from "./mutation.ts";

/**
 * One wrong target for each transition; which one depends on its place, so that all states have their turn.
 * `npm run test:mutation` tries every one of them.
 */
function sample(mutants: readonly Mutant[], states: number): Mutant[] {
  const targets = states - 1;
  return mutants.filter((_, index) => index % targets === Math.floor(index / targets) % targets);
}

describe.each(modelled)("$name", (each) => {
  const hunt = new Hunt(each);
  const control = unchanged(each).filter((_, index) => index % 5 === 0);
  const survivors = (mutants: readonly Mutant[]) =>
    mutants.filter((mutant) => !hunt.finds(mutant, "memory")).map(({ name }) => name);

  test("where nothing is wrong nothing is found", () => {
    for (const each of control) expect(hunt.finds(each, "memory"), each.name).toBe(false);
  });

  test("a transition that is gone is found", () => {
    const mutants = deleted(each);
    expect(mutants.length).toBe(each.minimums.transitions);
    expect(survivors(mutants)).toEqual([]);
  });

  test("a transition that leads somewhere else is found", () => {
    const mutants = sample(retargeted(each), Object.keys(each.machine.states).length);
    expect(mutants.length).toBe(each.minimums.transitions);
    expect(survivors(mutants)).toEqual([]);
  });

  test("a wrong target is found through the status too", () => {
    if (each.persistence === undefined) return;
    const few = retargeted(each).filter((_, index) => index % 20 === 0);
    expect(few.filter((mutant) => !hunt.finds(mutant, "status")).map(({ name }) => name)).toEqual([]);
  });

  test("the real components do not get along with a transition that is gone", async () => {
    const mutants = deleted(each);
    const [mutant] = mutants.slice(Math.floor(mutants.length / 2));
    if (mutant === undefined) throw new RangeError(each.name);
    const paths = arrangedPaths(each, arrangementsOf(each.name));
    expect(await isFoundByComponents(each, mutant, paths), mutant.name).toBe(true);
  });

  test("a guard that says the opposite, or lets everything pass, is found", () => {
    const mutants = [...negated(each), ...unguarded(each)];
    expect(mutants.length > 0).toBe(describeChart(each.machine).guards.length > 0);
    expect(survivors(mutants)).toEqual([]);
  });
});

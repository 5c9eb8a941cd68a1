import { describe, expect, test } from "vitest";
import { modelled } from "./models.ts";
import { isFound, type Mutant, retargeted, unguarded } from "./mutants.ts";
import { coveringPaths } from "./walk.ts";

/** One wrong target for each transition; which one depends on its place, so that all states have their turn. */
function sample(mutants: readonly Mutant[], states: number): Mutant[] {
  const targets = states - 1;
  return mutants.filter((_, index) => index % targets === Math.floor(index / targets) % targets);
}

describe.each(modelled)("$name", (each) => {
  const paths = coveringPaths(each.machine, each.walk, [each.initial(), ...(each.walk.starts ?? [])]);
  const survivors = (mutants: readonly Mutant[]) =>
    mutants.filter((mutant) => !isFound(each, paths, mutant)).map(({ name }) => name);

  test("the paths without a fault find none", () => {
    expect(isFound(each, paths, { name: "no fault", machine: each.machine })).toBe(false);
  });

  test("a transition that leads somewhere else is found", () => {
    const mutants = sample(retargeted(each), Object.keys(each.machine.states).length);
    expect(mutants.length).toBe(each.minimums.transitions);
    expect(survivors(mutants)).toEqual([]);
  });

  test("a guard that lets everything pass is found", () => {
    const mutants = unguarded(each);
    expect(mutants.length).toBeGreaterThan(0);
    expect(survivors(mutants)).toEqual([]);
  });
});

import { expect, test } from "vitest";
import {
  ageOfExecutorIgnored,
  type Defect,
  exitCodesIgnored,
  noCapacityFilter,
  recordsAreLost,
  recoveryIsLost,
  runsUnseenBySweep,
  workspacesRemovedAtStart,
} from "./defects.ts";
import { simulate } from "./simulate.ts";

/** Worlds that are tried until one shows the defect. */
const maxWorlds = 25;

interface Planted {
  readonly defect: Defect;
  readonly rule: string;
  /** The world that is tried first: it has shown the defect before, and may not any more when the code changes. */
  readonly world: number;
}

const defects: Record<string, Planted> = {
  "a scheduler that does not look for room": { defect: noCapacityFilter, rule: "capacity is never exceeded", world: 6 },
  "an agent that does not ask when its executor was started": {
    defect: ageOfExecutorIgnored,
    rule: "no attempt number starts twice",
    world: 28,
  },
  "an agent that takes every end for a good one": {
    defect: exitCodesIgnored,
    rule: "Succeeded means that the program exited with 0",
    world: 4,
  },
  "an agent that removes what Runs share": {
    defect: workspacesRemovedAtStart,
    rule: "files go only with their workspace",
    world: 3,
  },
  "an agent that takes every Run for gone when it sweeps": {
    defect: runsUnseenBySweep,
    rule: "artifacts go only when nobody refers to them",
    world: 6,
  },
  "a controller that does not take Runs away from lost Pods": {
    defect: recoveryIsLost,
    rule: "everything settles once nothing goes wrong",
    world: 4,
  },
  "a controller that does not record what it was asked for": {
    defect: recordsAreLost,
    rule: "what only an action can do was done by one",
    world: 1,
  },
};

test.each(Object.entries(defects))("%s is found out", async (_, { defect, rule, world }) => {
  const broken = new Set<string>();
  const others = Array.from({ length: maxWorlds }, (_, index) => index + 1).filter((seed) => seed !== world);
  for (const seed of [world, ...others]) {
    if (broken.has(rule)) break;
    const { violations } = await simulate({ seed, defect });
    for (const violation of violations) broken.add(violation.rule);
  }
  expect([...broken]).toContain(rule);
});

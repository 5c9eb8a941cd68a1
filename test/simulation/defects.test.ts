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

const defects: Record<string, { defect: Defect; rule: string }> = {
  "a scheduler that does not look for room": { defect: noCapacityFilter, rule: "capacity is never exceeded" },
  "an agent that does not ask when its executor was started": {
    defect: ageOfExecutorIgnored,
    rule: "no attempt number starts twice",
  },
  "an agent that takes every end for a good one": {
    defect: exitCodesIgnored,
    rule: "Succeeded means that the program exited with 0",
  },
  "an agent that removes what Runs share": {
    defect: workspacesRemovedAtStart,
    rule: "files go only with their workspace",
  },
  "an agent that takes every Run for gone when it sweeps": {
    defect: runsUnseenBySweep,
    rule: "artifacts go only when nobody refers to them",
  },
  "a controller that does not take Runs away from lost Pods": {
    defect: recoveryIsLost,
    rule: "everything settles once nothing goes wrong",
  },
  "a controller that does not record what it was asked for": {
    defect: recordsAreLost,
    rule: "what only an action can do was done by one",
  },
};

test.each(Object.entries(defects))("%s is found out", async (_, { defect, rule }) => {
  const broken = new Set<string>();
  for (let seed = 1; seed <= maxWorlds && !broken.has(rule); seed++) {
    const { violations } = await simulate({ seed, defect });
    for (const violation of violations) broken.add(violation.rule);
  }
  expect([...broken]).toContain(rule);
});

import { expect, test } from "vitest";
import type { Score } from "../framework.ts";
import { makeView, makeWorkload, prefers } from "../testing/builders.ts";
import { SmallWorld } from "../testing/small-world.ts";
import type { Workload } from "../workload.ts";
import { leastLoaded } from "./least-loaded.ts";
import { preferredAffinity } from "./preferred-affinity.ts";
import { responsive } from "./responsive.ts";

const x = { labels: { team: "x" } };
const y = { labels: { team: "y" } };
const ill = () => {
  const world = new SmallWorld("p");
  world.ledger.setUnresponsive("ns/uid-p", true);
  return world;
};

const cases: Record<string, { score: Score; world: SmallWorld; run: Workload; want: number }> = {
  "load is the share that stays free": {
    score: leastLoaded,
    world: new SmallWorld(makeView("p", { runs: 8 })).put("p", makeWorkload("b")),
    run: makeWorkload("a"),
    want: 0.75,
  },
  "the scarcest resource counts": {
    score: leastLoaded,
    world: new SmallWorld(makeView("p", { runs: 8, gpu: 2 })),
    run: makeWorkload("a", { requests: { gpu: 1 } }),
    want: 0.5,
  },
  "a session leaves nothing": {
    score: leastLoaded,
    world: new SmallWorld(makeView("p", { runs: 8 })),
    run: makeWorkload("a", { spec: { mode: { session: {} } } }),
    want: 0,
  },
  "an over-committed Pod is not worse than full": {
    score: leastLoaded,
    world: new SmallWorld(makeView("p", { runs: 1 })).put("p", makeWorkload("b"), makeWorkload("c")),
    run: makeWorkload("a"),
    want: 0,
  },
  "without wishes all Pods are equal": {
    score: preferredAffinity,
    world: new SmallWorld("p"),
    run: makeWorkload("a"),
    want: 0,
  },
  "a wish counts by its weight": {
    score: preferredAffinity,
    world: new SmallWorld("p").put("p", makeWorkload("b", x)),
    run: makeWorkload("a", {
      spec: prefers([
        [30, x.labels],
        [10, y.labels],
      ]),
    }),
    want: 0.75,
  },
  "an anti-wish is fulfilled where nobody matches": {
    score: preferredAffinity,
    world: new SmallWorld("p").put("p", makeWorkload("b", x)),
    run: makeWorkload("a", {
      spec: prefers(
        [],
        [
          [30, x.labels],
          [10, y.labels],
        ],
      ),
    }),
    want: 0.25,
  },
  "a Pod that claims is responsive": { score: responsive, world: new SmallWorld("p"), run: makeWorkload("a"), want: 1 },
  "a Pod that let an assignment lie is not": { score: responsive, world: ill(), run: makeWorkload("a"), want: 0 },
};

test.each(Object.entries(cases))("%s", (_, { score, world, run, want }) => {
  expect(score.score(run, world.pod("p"), world.snapshot(run))).toBeCloseTo(want, 10);
});

import { expect, test } from "vitest";
import { type Decision, decide } from "./decide.ts";
import { defaultPlugins } from "./plugins.ts";
import { makeView, makeWorkload, makeWorkspace, prefers, type RunOptions, requires } from "./testing/builders.ts";
import { SmallWorld } from "./testing/small-world.ts";

const ask = (world: SmallWorld, options: RunOptions = {}): Decision =>
  decide(makeWorkload("a", options), world, defaultPlugins);
const x = { labels: { team: "x" } };

/** Pods that are full, by name, and Pods in other states. */
function busy(names: string[], ...others: ReturnType<typeof makeView>[]): SmallWorld {
  const world = new SmallWorld(...names.map((name) => makeView(name, { runs: 1 })), ...others);
  for (const name of names) world.put(name, makeWorkload(`on-${name}`));
  return world;
}

test("the least loaded Pod is chosen, equals by name", () => {
  const world = new SmallWorld("c", "b", "a").put("a", makeWorkload("r"));
  expect(ask(world)).toMatchObject({ kind: "place", slot: { view: { name: "b" } } });
});

test("a wish is worth more than load, but not a full Pod", () => {
  const spec = prefers([[1, x.labels]]);
  const half = new SmallWorld("p", "q").put("p", makeWorkload("r", x));
  expect(ask(half, { spec })).toMatchObject({ kind: "place", slot: { view: { name: "p" } } });
  half.put("p", makeWorkload("s"));
  expect(ask(half, { spec })).toMatchObject({ kind: "place", slot: { view: { name: "q" } } });
});

test("a wished-for Pod is found among a thousand emptier ones", () => {
  const names = Array.from({ length: 1000 }, (_, i) => `p${i}`);
  const world = new SmallWorld(...names).put("p777", makeWorkload("r", x));
  expect(ask(world, { spec: prefers([[1, x.labels]]) })).toMatchObject({ slot: { view: { name: "p777" } } });
});

test("a Pod that let an assignment lie is taken only when no other fits", () => {
  const world = new SmallWorld("p", "q").put("q", makeWorkload("r"));
  world.ledger.setUnresponsive("ns/uid-p", true);
  expect(ask(world)).toMatchObject({ slot: { view: { name: "q" } } });
  world.put("q", makeWorkload("s"));
  expect(ask(world)).toMatchObject({ slot: { view: { name: "p" } } });
});

const withWorkspace = (world: SmallWorld, pod: string) => {
  world.workspaces.set(
    "ws",
    makeWorkspace("ws", { phase: "Bound", runtime: "bash", boundPod: pod, boundPodUID: `uid-${pod}` }),
  );
  return world;
};
const inWorkspace = { spec: { workspace: { name: "ws" } } } as const;

interface Waits {
  readonly world: SmallWorld;
  readonly run?: RunOptions;
  readonly reason: string;
  readonly message: string;
  readonly topics: string[];
  readonly hopeless?: true;
}

const deleting = new SmallWorld("p");
deleting.bash = { uid: "u", deleting: true, capacity: { runs: 2 }, references: [] };

const waits: Record<string, Waits> = {
  "no Runtime": {
    world: new SmallWorld("p"),
    run: { runtime: "python" },
    reason: "RuntimeNotFound",
    message: "there is no Runtime python in namespace ns",
    topics: ["runtime"],
  },
  "a Runtime that is being deleted takes nothing any more": {
    world: deleting,
    reason: "RuntimeNotFound",
    message: "Runtime bash is being deleted",
    topics: ["runtime"],
  },
  "no Pods at all": {
    world: new SmallWorld(),
    reason: "NoReadyPods",
    message: "Runtime bash has no ready Pod",
    topics: ["runtime", "pods", "capacity"],
  },
  "no Pod that is ready": {
    world: new SmallWorld(makeView("p", {}, "notReady"), makeView("q", {}, "notReady"), makeView("r", {}, "draining")),
    reason: "NoReadyPods",
    message: "Runtime bash has no ready Pod (3 Pods: 1 draining, 2 not ready)",
    topics: ["runtime", "pods", "capacity"],
  },
  "all full or not ready": {
    world: busy(["p", "q"], makeView("r", {}, "notReady")),
    reason: "InsufficientCapacity",
    message: "runs 1 does not fit on any Pod of Runtime bash (3 Pods: 2 full, 1 not ready)",
    topics: ["runtime", "pods", "capacity"],
  },
  "too large for the Pods that are there, but not for those to come": {
    world: busy(["p"]),
    run: { requests: { runs: 2 } },
    reason: "InsufficientCapacity",
    message: "runs 2 does not fit on any Pod of Runtime bash (1 Pod: 1 too small)",
    topics: ["runtime", "pods", "capacity"],
  },
  "too large for ever": {
    world: busy(["p"]),
    run: { requests: { gpu: 1 } },
    reason: "InsufficientCapacity",
    message: "gpu 1, runs 1 can never fit on any Pod of Runtime bash, which holds runs 2 (1 Pod: 1 too small)",
    topics: ["runtime", "pods", "capacity"],
    hopeless: true,
  },
  "no Pod with the cohort": {
    world: new SmallWorld("p", "q"),
    run: { spec: requires({ team: "x" }) },
    reason: "AffinityNotSatisfied",
    message:
      "the required run affinity does not hold on any Pod of Runtime bash (2 Pods: 2 without a Run that the required affinity names)",
    topics: ["runtime", "affinity"],
  },
  "no Pod at all, and nobody of the cohort": {
    world: new SmallWorld(),
    run: { spec: requires({ team: "x" }) },
    reason: "NoReadyPods",
    message: "Runtime bash has no ready Pod",
    topics: ["runtime", "affinity", "pods"],
  },
  "the Pod with the cohort is full": {
    world: (() => {
      const world = new SmallWorld(makeView("p", { runs: 1 }), "q", "r");
      return world.put("p", makeWorkload("member", x));
    })(),
    run: { spec: requires({ team: "x" }) },
    reason: "InsufficientCapacity",
    message:
      "runs 1 does not fit on any Pod of Runtime bash (3 Pods: 1 full, 2 without a Run that the required affinity names)",
    topics: ["runtime", "pod:ns/uid-p", "affinity"],
  },
  "kept off everywhere by Runs that are there": {
    world: new SmallWorld("p").put("p", makeWorkload("hermit", { spec: requires(undefined, { team: "x" }) })),
    run: x,
    reason: "AffinityNotSatisfied",
    message:
      "the required run affinity does not hold on any Pod of Runtime bash (1 Pod: 1 with a Run whose anti-affinity names this one)",
    topics: ["runtime", "pods", "capacity", "affinity"],
  },
  "the workspace does not exist": {
    world: new SmallWorld("p"),
    run: inWorkspace,
    reason: "WorkspaceNotFound",
    message: "there is no PersistentWorkspace ws in namespace ns",
    topics: ["runtime", "workspace:ws"],
  },
  "the Pod of the workspace is not ready": {
    world: withWorkspace(new SmallWorld(makeView("p", {}, "notReady"), "q"), "p"),
    run: inWorkspace,
    reason: "WorkspacePodNotReady",
    message: "Pod p of workspace ws is not ready",
    topics: ["runtime", "workspace:ws", "pod:ns/uid-p"],
  },
  "the Pod of the workspace is full, though another is free": {
    world: withWorkspace(new SmallWorld(makeView("p", { runs: 1 }), "q").put("p", makeWorkload("r")), "p"),
    run: inWorkspace,
    reason: "InsufficientCapacity",
    message: "runs 1 does not fit on Pod p of workspace ws (2 Pods: 1 full, 1 without the workspace)",
    topics: ["runtime", "workspace:ws", "pod:ns/uid-p"],
  },
};

test.each(Object.entries(waits))("waits: %s", (_, { world, run, reason, message, topics, hopeless = false }) => {
  expect(ask(world, run)).toMatchObject({ kind: "wait", reason, message, topics, hopeless });
});

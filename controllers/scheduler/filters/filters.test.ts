import { expect, test } from "vitest";
import type { RunSpec } from "#api/kinds/run.ts";
import type { Filter } from "../framework.ts";
import { makeView, makeWorkload, makeWorkspace, requires } from "../testing/builders.ts";
import { SmallWorld } from "../testing/small-world.ts";
import type { Workload } from "../workload.ts";
import { capacity } from "./capacity.ts";
import { podAvailable } from "./pod-available.ts";
import { references } from "./references.ts";
import { runAffinity } from "./run-affinity.ts";
import { workspacePod } from "./workspace.ts";

interface Case {
  readonly filter: Filter;
  readonly world: SmallWorld;
  readonly run: Workload;
  /** Phrase of the refusal of Pod `p`; undefined = accepted. */
  readonly want: string | undefined;
}

const boundTo = (world: SmallWorld, pod: string) => {
  world.workspaces.set(
    "ws",
    makeWorkspace("ws", { phase: "Bound", runtime: "bash", boundPod: pod, boundPodUID: `uid-${pod}` }),
  );
  return world;
};
const session = makeWorkload("session", { spec: { mode: { session: {} } } });
const inWorkspace = makeWorkload("w", { spec: { workspace: { name: "ws" } } });
const held = (by: Workload) => {
  const world = new SmallWorld("p");
  world.ledger.hold(by, world.pod("p"));
  return world;
};
const team = (value: string) => ({ labels: { team: value } });

/** Pod `p` with what it mounts, of a Runtime with what it lists. */
const mounting = (has: readonly string[], lists: readonly string[]) => {
  const world = new SmallWorld({ ...makeView("p"), references: has });
  world.bash = { uid: "uid-bash", deleting: false, capacity: { runs: 2 }, references: lists };
  return world;
};
const referring = (name: string, more: Partial<RunSpec> = {}) =>
  makeWorkload("r", { spec: { env: [{ name: "V", valueFrom: { secretKeyRef: { name, key: "k" } } }], ...more } });

const cases: Record<string, Case> = {
  "a Pod that mounts what the Run refers to is taken": {
    filter: references,
    world: mounting(["Secret/db"], ["Secret/db"]),
    run: referring("db"),
    want: undefined,
  },
  "a Pod from before the Runtime listed it is refused": {
    filter: references,
    world: mounting(["Secret/other"], ["Secret/db", "Secret/other"]),
    run: referring("db"),
    want: "from before the Runtime listed Secret db",
  },
  "a Pod still has what the Runtime lists no more": {
    filter: references,
    world: mounting(["Secret/db"], []),
    run: referring("db"),
    want: undefined,
  },
  "what is not listed is for the agent of any Pod to refuse": {
    filter: references,
    world: mounting([], ["ConfigMap/db"]),
    run: referring("db"),
    want: undefined,
  },
  "a Run in a workspace has no other Pod to wait for": {
    filter: references,
    world: boundTo(mounting([], ["Secret/db"]), "p"),
    run: referring("db", { workspace: { name: "ws" } }),
    want: undefined,
  },
  "an available Pod is taken": {
    filter: podAvailable,
    world: new SmallWorld("p"),
    run: makeWorkload("a"),
    want: undefined,
  },
  "a Pod that is not ready is refused": {
    filter: podAvailable,
    world: new SmallWorld(makeView("p", { runs: 2 }, "notReady")),
    run: makeWorkload("a"),
    want: "not ready",
  },
  "a draining Pod is refused": {
    filter: podAvailable,
    world: new SmallWorld(makeView("p", { runs: 2 }, "draining")),
    run: makeWorkload("a"),
    want: "draining",
  },
  "a draining Pod is open to Runs of a workspace that is bound to it": {
    filter: podAvailable,
    world: boundTo(new SmallWorld(makeView("p", { runs: 2 }, "draining")), "p"),
    run: inWorkspace,
    want: undefined,
  },
  "a draining Pod is closed to Runs of a workspace that is bound elsewhere": {
    filter: podAvailable,
    world: boundTo(new SmallWorld(makeView("p", { runs: 2 }, "draining"), "q"), "q"),
    run: inWorkspace,
    want: "draining",
  },
  "a Pod of somebody else is refused": {
    filter: podAvailable,
    world: new SmallWorld(makeView("p", { runs: 2 }, "foreign")),
    run: makeWorkload("a"),
    want: "not owned by the Runtime",
  },

  "without a workspace any Pod will do": {
    filter: workspacePod,
    world: new SmallWorld("p"),
    run: makeWorkload("a"),
    want: undefined,
  },
  "the Pod of the workspace is the one": {
    filter: workspacePod,
    world: boundTo(new SmallWorld("p", "q"), "p"),
    run: inWorkspace,
    want: undefined,
  },
  "no other Pod is": {
    filter: workspacePod,
    world: boundTo(new SmallWorld("p", "q"), "q"),
    run: inWorkspace,
    want: "without the workspace",
  },
  "an unusable workspace is on no Pod": {
    filter: workspacePod,
    world: new SmallWorld("p"),
    run: inWorkspace,
    want: "there is no PersistentWorkspace ws in namespace ns",
  },

  "required affinity needs a matching Run on the Pod": {
    filter: runAffinity,
    world: new SmallWorld("p", "q").put("q", makeWorkload("b", team("x"))),
    run: makeWorkload("a", { ...team("x"), spec: requires({ team: "x" }) }),
    want: "without a Run that the required affinity names",
  },
  "with one there it is satisfied": {
    filter: runAffinity,
    world: new SmallWorld("p").put("p", makeWorkload("b", team("x"))),
    run: makeWorkload("a", { spec: requires({ team: "x" }) }),
    want: undefined,
  },
  "the first of a cohort may go anywhere": {
    filter: runAffinity,
    world: new SmallWorld("p"),
    run: makeWorkload("a", { ...team("x"), spec: requires({ team: "x" }) }),
    want: undefined,
  },
  "a Run that does not match its own term starts no cohort": {
    filter: runAffinity,
    world: new SmallWorld("p"),
    run: makeWorkload("a", { spec: requires({ team: "x" }) }),
    want: "without a Run that the required affinity names",
  },
  "a matching Run of another Runtime is nobody to be with, so a cohort may start": {
    filter: runAffinity,
    world: new SmallWorld("p").put("elsewhere", makeWorkload("b", { ...team("x"), runtime: "python" })),
    run: makeWorkload("a", { ...team("x"), spec: requires({ team: "x" }) }),
    want: undefined,
  },
  "required anti-affinity keeps off a Pod with a matching Run": {
    filter: runAffinity,
    world: new SmallWorld("p").put("p", makeWorkload("b", team("x"))),
    run: makeWorkload("a", { spec: requires(undefined, { team: "x" }) }),
    want: "with a Run that the required anti-affinity names",
  },
  "anti-affinity of a Run that is there keeps others off too": {
    filter: runAffinity,
    world: new SmallWorld("p").put("p", makeWorkload("b", { spec: requires(undefined, { team: "x" }) })),
    run: makeWorkload("a", team("x")),
    want: "with a Run whose anti-affinity names this one",
  },
  "but not those that it does not name": {
    filter: runAffinity,
    world: new SmallWorld("p").put("p", makeWorkload("b", { spec: requires(undefined, { team: "x" }) })),
    run: makeWorkload("a", team("y")),
    want: undefined,
  },

  "a Pod with room is taken": {
    filter: capacity,
    world: new SmallWorld("p").put("p", makeWorkload("b")),
    run: makeWorkload("a"),
    want: undefined,
  },
  "a full Pod is refused": {
    filter: capacity,
    world: new SmallWorld("p").put("p", makeWorkload("b"), makeWorkload("c")),
    run: makeWorkload("a"),
    want: "full",
  },
  "every resource must fit, not only the number of Runs": {
    filter: capacity,
    world: new SmallWorld(makeView("p", { runs: 9, gpu: 1 })).put("p", makeWorkload("b", { requests: { gpu: 1 } })),
    run: makeWorkload("a", { requests: { gpu: 1 } }),
    want: "full",
  },
  "a resource that the Pod does not have never fits": {
    filter: capacity,
    world: new SmallWorld("p"),
    run: makeWorkload("a", { requests: { gpu: 1 } }),
    want: "too small",
  },
  "nothing of it can be asked for anywhere": {
    filter: capacity,
    world: new SmallWorld("p"),
    run: makeWorkload("a", { requests: { gpu: 0 } }),
    want: undefined,
  },
  "a session needs an empty Pod": {
    filter: capacity,
    world: new SmallWorld("p").put("p", makeWorkload("b")),
    run: session,
    want: "not empty, as a session needs it",
  },
  "an empty Pod takes a session": { filter: capacity, world: new SmallWorld("p"), run: session, want: undefined },
  "beside a session there is no room": {
    filter: capacity,
    world: new SmallWorld("p").put("p", session),
    run: makeWorkload("a"),
    want: "taken by a session",
  },
  "a Pod that is kept free is closed to those who come later": {
    filter: capacity,
    world: held(makeWorkload("first", { created: 1 })),
    run: makeWorkload("a", { created: 2 }),
    want: "kept free for a Run that waits longer",
  },
  "it is open to the one it is kept for": { filter: capacity, world: held(session), run: session, want: undefined },
  "and to those before that one": {
    filter: capacity,
    world: held(makeWorkload("first", { created: 1 })),
    run: makeWorkload("a", { created: 2, spec: { priority: 1 } }),
    want: undefined,
  },
};

test.each(Object.entries(cases))("%s", (_, { filter, world, run, want }) => {
  expect(filter.filter(run, world.pod("p"), world.snapshot(run))?.message).toBe(want);
});

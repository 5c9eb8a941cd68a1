import { namespaces } from "#kube/builtin.ts";
import { Components } from "./components.ts";
import type { Defect } from "./defects.ts";
import { Disturbances } from "./disturbances.ts";
import type { FaultKind } from "./faults.ts";
import { Operations } from "./people/operations.ts";
import { Workload } from "./people/workload.ts";
import { actionRules } from "./rules/actions.ts";
import { artifactRules } from "./rules/artifacts.ts";
import { attemptRules } from "./rules/attempts.ts";
import { capacityRules } from "./rules/capacity.ts";
import { unsettled } from "./rules/convergence.ts";
import { phaseRules } from "./rules/phases.ts";
import type { Rule } from "./rules/rule.ts";
import { shutdownRules } from "./rules/shutdown.ts";
import { workflowRules } from "./rules/workflows.ts";
import { workspaceRules } from "./rules/workspaces.ts";
import { SimNode } from "./sim-node.ts";
import type { Trace } from "./trace.ts";
import { namespace, type Violation, World } from "./world.ts";

export interface SimulationOptions {
  readonly seed: number;
  /** Faults that do not come. */
  readonly without?: ReadonlySet<FaultKind>;
  /** Deeds of people after which they rest; default: as many as they get to. */
  readonly deeds?: number;
  /** Something wrong that is built in. */
  readonly defect?: Defect;
}

export interface SimulationResult {
  readonly seed: number;
  readonly violations: readonly Violation[];
  readonly trace: Trace;
  readonly faults: ReadonlyMap<FaultKind, number>;
  /** Deeds of people. */
  readonly deeds: number;
  /** Virtual milliseconds. */
  readonly lasted: number;
  /** How often objects of our kinds were written with a phase and reason, e.g. `Run Failed ExitNonZero`. */
  readonly seen: ReadonlyMap<string, number>;
  /** What processes have asked of the API server, as rights. */
  readonly asked: ReadonlySet<string>;
}

/** Virtual time in which people work and things go wrong. */
const busyMs = 150_000;

/** Virtual time after that in which everything must settle: drains, back-offs and dead watches take some. */
const calmMs = 20 * 60_000;
const lookEveryMs = 5000;

/** Timers at one moment after which nobody believes that time will ever go on. */
const maxTimersAtOnce = 20_000;

/** One world from its begin to its end: first everything goes wrong, then nothing any more, and all must settle. */
export async function simulate(options: SimulationOptions): Promise<SimulationResult> {
  const { seed, without = new Set(), deeds = Number.POSITIVE_INFINITY, defect = {} } = options;
  const world = new World(seed, without);
  const node = new SimNode(world, defect);
  const seen = new Map<string, number>();
  world.addRules(
    phaseRules(world.report),
    attemptRules(world, world.report, () => node.pods.values()),
    capacityRules(world, world.report),
    workspaceRules(world, world.report),
    artifactRules(world, world.report),
    workflowRules(world, world.report),
    actionRules(world, world.report),
    shutdownRules(world.report),
    counter(seen),
  );
  const system = await world.user.of(namespaces).get({ name: "kube-system" });
  await world.user.of(namespaces).create({ metadata: { name: namespace } });
  const components = new Components(world, node, system.metadata.uid ?? "", defect);
  const disturbances = new Disturbances(world, node);
  const workload = new Workload(world, deeds);
  const operations = new Operations(world, deeds);

  components.startAll();
  disturbances.start();
  await workload.begin();
  operations.begin();
  await runUntil(world, busyMs);
  if (world.violations.length === 0) {
    world.trace.add("from here on nothing goes wrong any more");
    world.faults.end();
    disturbances.repair();
    components.startAll();
    await workload.end();
    await operations.end();
    await settle(world, node);
  }
  // Nobody is left to say anything more: what was written down by now is the whole story.
  for (const life of [...world.lives]) life.end();
  world.api.close();
  return {
    seed,
    violations: world.violations,
    trace: world.trace,
    faults: world.faults.counts,
    deeds: Math.max(workload.done, operations.done),
    lasted: world.clock.monotonic(),
    seen,
    asked: world.network.asked,
  };
}

/** Lets time pass up to a moment (milliseconds since the begin), or to the first violation. */
async function runUntil(world: World, until: number): Promise<void> {
  const { clock } = world;
  let moment = -1;
  let timers = 0;
  await clock.settle();
  while (world.violations.length === 0) {
    const due = clock.nextDue();
    if (due === undefined || due - (clock.now() - clock.monotonic()) > until) {
      clock.advance(Math.max(0, until - clock.monotonic()));
      return;
    }
    clock.runNext();
    await clock.settle();
    timers = clock.monotonic() === moment ? timers + 1 : 0;
    moment = clock.monotonic();
    if (timers > maxTimersAtOnce) world.report("time goes on", "the world", `${timers} timers at ${moment}`);
  }
}

/** Until everything is settled; what is not settled in time is a violation. */
async function settle(world: World, node: SimNode): Promise<void> {
  const limit = world.clock.monotonic() + calmMs;
  for (;;) {
    const problems = await unsettled(world, [...node.pods.values()]);
    if (problems.length === 0 || world.violations.length > 0) return;
    if (world.clock.monotonic() >= limit) {
      for (const problem of problems) world.report("everything settles once nothing goes wrong", problem, "");
      return;
    }
    await runUntil(world, world.clock.monotonic() + lookEveryMs);
  }
}

/** Counts what was seen, so that a test can tell whether the worlds are eventful enough. */
function counter(seen: Map<string, number>): Rule {
  return {
    change({ object, previous }) {
      const { phase, reason } = (object.status ?? {}) as { phase?: string; reason?: string };
      const before = (previous?.status ?? {}) as { phase?: string; reason?: string };
      if (phase === undefined || (phase === before.phase && reason === before.reason)) return;
      const key = [object.kind, phase, reason].filter((part) => part !== undefined).join(" ");
      seen.set(key, (seen.get(key) ?? 0) + 1);
    },
  };
}

import { expect, test } from "vitest";
import type { JobSpec } from "#api/kinds/job.ts";
import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import type { Run } from "#api/kinds/run.ts";
import type { Runtime } from "#api/kinds/runtime.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import type { KubeObject } from "#api/meta.ts";
import { persistentWorkspaces, runs, runtimes, workflowRuns } from "#api/resources.ts";
import { timestamp } from "#api/time.ts";
import { validateCreate } from "#api/validation/index.ts";
import type { Work } from "#api/work.ts";
import { ControlPlane } from "#test/integration/support/control-plane.ts";
import { compileWorkflow, compilingWorkflow } from "#workflows/compile-workflow.ts";
import { advancing } from "./advance.ts";
import { maxStatusBytes } from "./budget.ts";
import { createWorkflowRunController } from "./index.ts";
import type { Found, Seen } from "./seen.ts";

const namespace = "default";

/** Steps full of expressions. */
const steps = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    name: `step-${index}`,
    if: `success() && run.name != 'v${index}'`,
    env: { WHO: `\${{ job.id }}-${index}` },
    run: `echo "\${{ env.WHO }}"\ntest "\${{ job.status }}" = success && echo \${{ run.uid }}`,
  }));

/** Workflows as large as they come, and how many steps they have. */
const large: Record<string, { jobs: Record<string, JobSpec>; total: number }> = {
  "1,000 steps in 50 jobs": {
    jobs: Object.fromEntries(
      Array.from({ length: 50 }, (_, index) => [`job-${index}`, { "runs-on": "bash", steps: steps(20) }]),
    ),
    total: 1000,
  },
  "256 instances of a job of two steps": {
    jobs: {
      test: {
        "runs-on": "bash",
        strategy: { matrix: { n: Array.from({ length: 256 }, (_, index) => index) } },
        steps: steps(2),
      },
    },
    total: 512,
  },
};

const runtime: Runtime = {
  metadata: { name: "bash", namespace },
  spec: { template: { spec: { containers: [{ name: "runtime", image: "x" }] } } },
};

/** Nobody waits longer than 50 ms: a slice of 10 ms, and the step of the work that is at hand then. */
const longestStallMs = 50 - 10;

/** The longest processor time that a pass over a run, whose active children have all succeeded, takes without a break. */
function passMs(run: WorkflowRun, children: readonly Run[], workspaces: readonly PersistentWorkspace[]): number {
  const compiled = compileWorkflow({ jobs: run.spec.jobs ?? {} });
  const found = <T extends KubeObject>(objects: readonly T[]): Map<string, Found<T>> =>
    new Map(objects.map((object) => [object.metadata.name, { kind: "ours", object }]));
  const seen: Seen = {
    run,
    source: { kind: "plan", compiled, inputs: {} },
    runs: found(children),
    workspaces: found(workspaces),
    children: new Map(),
    waitingBelow: () => [],
    inbox: { pending: [], told: [] },
    honoursDeprecated: true,
    runtimeOf: () => runtime,
    refused: new Map(),
    sightings: new Map(),
  };
  const now = Date.parse("2100-01-01T00:00:00Z");
  return Math.min(...Array.from({ length: 3 }, () => longestStepMs(advancing(seen, now))));
}

/** The longest processor time of a step of some work: between two of them others get their turn, once 10 ms are over. */
function longestStepMs(work: Work<unknown>): number {
  let longest = 0;
  for (let done = false; !done; ) {
    const begun = process.cpuUsage();
    done = work.next().done === true;
    const { user, system } = process.cpuUsage(begun);
    longest = Math.max(longest, (user + system) / 1000);
  }
  return longest;
}

/** The least processor time that it takes: the rest is other work of the machine, or of the garbage collector. */
function cpuMs(work: () => unknown): number {
  return Math.min(
    ...Array.from({ length: 5 }, () => {
      const begun = process.cpuUsage();
      work();
      const { user, system } = process.cpuUsage(begun);
      return (user + system) / 1000;
    }),
  );
}

test.each(Object.entries(large))(
  "%s stay within the status, and no pass stalls the loop",
  async (_, { jobs, total }) => {
    const plane = new ControlPlane();
    await plane.create(runtimes, runtime);
    await plane.start((deps, informers) => [createWorkflowRunController(deps, informers, { workspaceTtlSeconds: 60 })]);
    const created = await plane.create(workflowRuns, { metadata: { name: "large", namespace }, spec: { jobs } });
    // The first pass lists all jobs and all steps.
    expect(passMs(created, [], [])).toBeLessThan(longestStallMs);
    const client = plane.client.of(runs);
    const done = new Set<string>();
    let longest = 0;
    const read = async () => plane.find(workflowRuns, "large");
    for (let round = 0; done.size < total; round++) {
      if (round > 200) throw new Error(`only ${done.size} of ${total} Runs`);
      await plane.elapse(200);
      const { items } = await client.list({ namespace });
      for (const run of items.filter(({ metadata }) => !done.has(metadata.name))) {
        done.add(run.metadata.name);
        const at = timestamp(plane.clock.now());
        const status = { phase: "Succeeded" as const, attempt: 1, exitCode: 0, startTime: at, completionTime: at };
        await client.update({ ...run, status }, "status");
      }
      const run = await read();
      const workspaces = (await plane.client.of(persistentWorkspaces).list({ namespace })).items;
      const children = (await client.list({ namespace })).items;
      if (run !== undefined) longest = Math.max(longest, passMs(run, children, workspaces));
    }
    expect(longest).toBeLessThan(longestStallMs);
    await plane.until(async () => (await read())?.status?.phase === "Succeeded");
    const { status } = (await read()) ?? {};
    expect(JSON.stringify(status).length).toBeLessThan(maxStatusBytes);
    plane.stop();
  },
  // Hundreds of Runs go through an API server in this process.
  60_000,
);

test.each(Object.entries(large))(
  "compiling %s, and judging them at admission, never stalls the loop",
  (_, { jobs }) => {
    const text = JSON.stringify({ metadata: { name: "large", namespace }, spec: { jobs } });
    const judge = () => validateCreate("WorkflowRun", JSON.parse(text));
    expect(judge()).toEqual([]);
    expect(cpuMs(judge)).toBeLessThan(longestStallMs);
    const work = compilingWorkflow({ jobs }, { path: "spec", languageOf: () => "bash" });
    let longest = 0;
    for (let done = false; !done; ) {
      const begun = process.cpuUsage();
      done = work.next().done === true;
      const { user, system } = process.cpuUsage(begun);
      longest = Math.max(longest, (user + system) / 1000);
    }
    expect(longest).toBeLessThan(longestStallMs);
  },
);

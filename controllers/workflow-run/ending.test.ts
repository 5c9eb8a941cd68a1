import { afterEach, beforeEach, expect, test } from "vitest";
import type { Run, RunStatus } from "#api/kinds/run.ts";
import { persistentWorkspaces, runs, runtimes, workflowRuns, workflows } from "#api/resources.ts";
import { timestamp } from "#api/time.ts";
import { controllerReference } from "#kube/builtin.ts";
import { ControlPlane } from "#test/integration/support/control-plane.ts";
import { createWorkflowRunController } from "./index.ts";

const namespace = "default";
const workspaceTtlSeconds = 60;
let plane: ControlPlane;
beforeEach(() => {
  plane = new ControlPlane();
});
afterEach(() => plane.stop());

const start = () =>
  plane.start((deps, informers) => [createWorkflowRunController(deps, informers, { workspaceTtlSeconds })]);

const steps = (...names: string[]) => names.map((name) => ({ name, run: "true" }));

async function createRuntime() {
  await plane.create(runtimes, {
    metadata: { name: "bash", namespace },
    spec: { template: { spec: { containers: [{ name: "runtime", image: "x" }] } } },
  });
}

async function children(): Promise<Run[]> {
  return (await plane.client.of(runs).list({ namespace })).items;
}

async function finish(step: string): Promise<void> {
  const child = (await children()).find(({ metadata }) => metadata.labels?.["workflows.kruntimes.io/step"] === step);
  if (child === undefined) throw new Error(`step ${step} has no Run`);
  await finishRun(child);
  await plane.settle();
}

/** Lets a Run go all the way, as scheduler and agent would. */
async function finishRun(child: Run): Promise<void> {
  const placed = { assignedPod: "p", assignedPodUID: "u", assignmentEpoch: 1 };
  const claimed = { ...placed, attempt: 1, startTime: timestamp(plane.clock.now()) };
  let object = child;
  const statuses: RunStatus[] = [
    { phase: "Scheduled", ...placed },
    { phase: "Running", ...claimed },
    { phase: "Succeeded", ...claimed, completionTime: timestamp(plane.clock.now()) },
  ];
  for (const status of statuses) object = await plane.client.of(runs).update({ ...object, status }, "status");
}

const ttlOfWorkspace = async () =>
  (await plane.client.of(persistentWorkspaces).list({ namespace })).items[0]?.spec.ttlSecondsAfterUnused;

test("the workspace of a job has no TTL as long as the job goes on, however long that is, and gets it with its end", async () => {
  await createRuntime();
  await start();
  await plane.create(workflowRuns, {
    metadata: { name: "w", namespace },
    spec: { jobs: { a: { "runs-on": "bash", steps: steps("one", "two") } } },
  });
  await plane.settle();
  await finish("one");
  // The second step waits for a place, for a day.
  await plane.elapse(24 * 3_600_000);
  expect(await ttlOfWorkspace()).toBeUndefined();
  await finish("two");
  expect((await plane.find(workflowRuns, "w"))?.status?.phase).toBe("Succeeded");
  expect(await ttlOfWorkspace()).toBe(workspaceTtlSeconds);
});

test("a controller that was away at the end of a job gives its workspace the TTL when it is back", async () => {
  const run = await plane.create(
    workflowRuns,
    { metadata: { name: "w", namespace }, spec: { jobs: { a: { "runs-on": "bash", steps: steps("one") } } } },
    { phase: "Running", jobs: { a: { phase: "Succeeded" } } },
    { phase: "Succeeded", jobs: { a: { phase: "Succeeded" } }, completionTime: timestamp(plane.clock.now()) },
  );
  await plane.create(persistentWorkspaces, {
    metadata: {
      name: "w-a",
      namespace,
      labels: { "workflows.kruntimes.io/job": "a" },
      ownerReferences: [controllerReference(workflowRuns, run)],
    },
    spec: { runtime: "bash" },
  });
  await start();
  expect(await ttlOfWorkspace()).toBe(workspaceTtlSeconds);
});

/** A WorkflowRun of a Workflow that has failed, with one child Run. */
async function endedRun(child: Partial<RunStatus> | undefined, message = "job a did not succeed"): Promise<void> {
  await plane.create(workflows, {
    metadata: { name: "template", namespace },
    spec: { jobs: { a: { "runs-on": "bash", steps: steps("one") } } },
  });
  const ended = { jobs: { a: { phase: "Failed" as const } }, message, completionTime: timestamp(plane.clock.now()) };
  const run = await plane.create(
    workflowRuns,
    { metadata: { name: "w", namespace }, spec: { workflowRef: { name: "template" } } },
    { phase: "Running", jobs: {} },
    { phase: "Failed", reason: "JobFailed", ...ended },
  );
  await plane.create(
    runs,
    {
      metadata: { name: "w-a-one", namespace, ownerReferences: [controllerReference(workflowRuns, run)] },
      spec: { runtime: "bash", source: { inline: "true" } },
    },
    ...(child === undefined ? [] : [{ phase: "Cancelled" as const, ...child }]),
  );
}

test("what has ended costs a controller that starts nothing but the lists", async () => {
  await endedRun({ completionTime: timestamp(plane.clock.now()) });
  const asked = new Set<string>();
  plane.api.faults.onRequest = ({ verb }) => {
    asked.add(verb);
    return undefined;
  };
  await start();
  await plane.elapse(60_000);
  expect([...asked].sort()).toEqual(["list", "watch"]);
});

test("a Run that is still at work for a WorkflowRun that has ended is asked to end, however long the reason is", async () => {
  await endedRun(undefined, `job a did not succeed (${"x".repeat(3000)})`);
  await start();
  await plane.elapse(60_000);
  const { termination } = (await plane.find(runs, "w-a-one"))?.spec ?? {};
  expect(termination).toMatchObject({ mode: "Immediate", message: expect.stringMatching(/^job a did not succeed/) });
});

test("a Run of a WorkflowRun that is out of time is told so", async () => {
  await createRuntime();
  await start();
  await plane.create(workflowRuns, {
    metadata: { name: "w", namespace },
    spec: { timeout: "10s", jobs: { a: { "runs-on": "bash", steps: steps("one") } } },
  });
  await plane.elapse(11_000);
  expect((await children())[0]?.spec.termination?.message).toBe("the run took longer than 10s");
});

test("64 jobs that end one after the other within a second cost few writes of the WorkflowRun", async () => {
  await createRuntime();
  await start();
  const jobs = Object.fromEntries(
    Array.from({ length: 64 }, (_, n) => [`job${n}`, { "runs-on": "bash", steps: steps("s") }]),
  );
  await plane.create(workflowRuns, { metadata: { name: "wide", namespace }, spec: { jobs } });
  await plane.until(async () => (await children()).length === 64);
  plane.api.counters.reset();
  for (const child of await children()) {
    await finishRun(child);
    await plane.elapse(15);
  }
  await plane.elapse(1000);
  expect((await plane.find(workflowRuns, "wide"))?.status).toMatchObject({ phase: "Succeeded", progress: "64/64" });
  expect(plane.api.counters.writes("workflowruns.kruntimes.io")).toBeLessThan(20);
});

import { afterEach, beforeEach, expect, test } from "vitest";
import type { RunSpec } from "#api/kinds/run.ts";
import { runs, workflowRuns } from "#api/resources.ts";
import { timestamp } from "#api/time.ts";
import { controllerReference } from "#kube/builtin.ts";
import { ControlPlane } from "#test/integration/support/control-plane.ts";
import { createRunTtl, createWorkflowRunTtl } from "./index.ts";

let plane: ControlPlane;
beforeEach(async () => {
  plane = new ControlPlane();
});
afterEach(() => plane.stop());

const start = () =>
  plane.start((deps, informers) => [createRunTtl(deps, informers), createWorkflowRunTtl(deps, informers)]);

const spec = (change: Partial<RunSpec> = {}): RunSpec => ({ runtime: "bash", source: { inline: "exit" }, ...change });

/** A Run that ended as Cancelled so many milliseconds ago. */
function ended(name: string, ttl: number | undefined, agoMs = 0) {
  const object = {
    metadata: { name, namespace: "default" },
    spec: spec(ttl === undefined ? {} : { ttlSecondsAfterFinished: ttl }),
  };
  return plane.create(runs, object, {
    phase: "Cancelled",
    completionTime: timestamp(plane.clock.now() - agoMs),
  });
}

test("a Run is deleted its TTL after it ended, and not before", async () => {
  await start();
  await ended("a", 60);
  await plane.elapse(59_000);
  expect(await plane.find(runs, "a")).toBeDefined();
  await plane.elapse(1000);
  expect(await plane.find(runs, "a")).toBeUndefined();
});

test("a TTL of zero deletes at once; without a TTL a Run is kept", async () => {
  await start();
  await ended("zero", 0);
  await ended("kept", undefined);
  await plane.elapse(1_000_000_000);
  expect(await plane.find(runs, "zero")).toBeUndefined();
  expect(await plane.find(runs, "kept")).toBeDefined();
});

test("after a restart what is overdue goes at once", async () => {
  await ended("a", 60, 100_000);
  await start();
  await plane.settle();
  expect(await plane.find(runs, "a")).toBeUndefined();
});

test.each([
  ["behind", 90_000],
  ["ahead", -90_000],
])(
  "the clock of the agent that wrote the end may be %s: a Run is found for its TTL after the end was seen",
  async (_, behindMs) => {
    await start();
    const object = { metadata: { name: "a", namespace: "default" }, spec: spec({ ttlSecondsAfterFinished: 60 }) };
    const made = await plane.create(runs, object);
    await plane.settle();
    const completionTime = timestamp(plane.clock.now() - behindMs);
    await plane.client.of(runs).update({ ...made, status: { phase: "Cancelled", completionTime } }, "status");
    await plane.elapse(59_000);
    expect(await plane.find(runs, "a")).toBeDefined();
    await plane.elapse(2000);
    expect(await plane.find(runs, "a")).toBeUndefined();
  },
);

test("a TTL that is set or changed after the end counts from the end", async () => {
  await start();
  await ended("a", undefined);
  await plane.elapse(30_000);
  await plane.client.of(runs).patch({ name: "a", namespace: "default" }, { spec: { ttlSecondsAfterFinished: 40 } });
  await plane.elapse(9000);
  expect(await plane.find(runs, "a")).toBeDefined();
  await plane.elapse(1000);
  expect(await plane.find(runs, "a")).toBeUndefined();
});

test("a Run that has not ended is kept, whatever its TTL", async () => {
  await start();
  await plane.create(runs, {
    metadata: { name: "a", namespace: "default" },
    spec: spec({ ttlSecondsAfterFinished: 0 }),
  });
  await plane.elapse(1_000_000);
  expect(await plane.find(runs, "a")).toBeDefined();
});

test("a Run of a WorkflowRun lives as long as that, also when somebody gave it a TTL", async () => {
  await start();
  const owner = await plane.create(workflowRuns, {
    metadata: { name: "w", namespace: "default" },
    spec: { jobs: { a: { "runs-on": "bash", steps: [{ name: "s", run: "true" }] } } },
  });
  await plane.create(
    runs,
    {
      metadata: { name: "child", namespace: "default", ownerReferences: [controllerReference(workflowRuns, owner)] },
      spec: spec({ ttlSecondsAfterFinished: 0 }),
    },
    { phase: "Cancelled", completionTime: timestamp(plane.clock.now()) },
  );
  await plane.elapse(1_000_000);
  expect(await plane.find(runs, "child")).toBeDefined();
});

test("a Run that somebody else's controller made goes by its TTL", async () => {
  await start();
  const owner = { apiVersion: "example.com/v1", kind: "CronRun", name: "nightly", uid: "u", controller: true };
  await plane.create(
    runs,
    {
      metadata: { name: "a", namespace: "default", ownerReferences: [owner] },
      spec: spec({ ttlSecondsAfterFinished: 0 }),
    },
    { phase: "Cancelled", completionTime: timestamp(plane.clock.now()) },
  );
  await plane.elapse(1000);
  expect(await plane.find(runs, "a")).toBeUndefined();
});

function endedWorkflowRun(name: string, agoMs: number) {
  return plane.create(
    workflowRuns,
    {
      metadata: { name, namespace: "default" },
      spec: {
        ttlSecondsAfterFinished: 60,
        jobs: { a: { "runs-on": "bash", steps: [{ name: "s", run: "true" }] } },
      },
    },
    { phase: "Failed", reason: "InvalidWorkflow", completionTime: timestamp(plane.clock.now() - agoMs) },
  );
}

test("a WorkflowRun that ended while no controller was there is kept for its TTL from when it was first seen", async () => {
  await endedWorkflowRun("w", 1_000_000);
  await start();
  await plane.elapse(59_000);
  expect(await plane.find(workflowRuns, "w")).toBeDefined();
  await plane.elapse(1000);
  expect(await plane.find(workflowRuns, "w")).toBeUndefined();
});

test("a WorkflowRun stays until actions that it has recorded are told: nobody else knows what was made of them", async () => {
  await start();
  const made = await endedWorkflowRun("w", 0);
  const at = timestamp(plane.clock.now());
  const record = { uid: "u", name: "a", action: "Terminate", at, outcome: "Succeeded" } as const;
  const status = made.status ?? { phase: "Failed" as const };
  const recorded = await plane.client
    .of(workflowRuns)
    .update({ ...made, status: { ...status, appliedActions: [record] } }, "status");
  await plane.elapse(100_000);
  expect(await plane.find(workflowRuns, "w")).toBeDefined();
  await plane.client.of(workflowRuns).update({ ...recorded, status }, "status");
  await plane.settle();
  expect(await plane.find(workflowRuns, "w")).toBeUndefined();
});

test.each([
  ["in the past", 1_000_000],
  ["in the future", -1_000_000],
])("a WorkflowRun whose end is %s, by the clock of who wrote it, is kept for its TTL", async (_, agoMs) => {
  await start();
  await endedWorkflowRun("w", agoMs);
  await plane.elapse(59_000);
  expect(await plane.find(workflowRuns, "w")).toBeDefined();
  await plane.elapse(Math.max(0, -agoMs) + 1000);
  expect(await plane.find(workflowRuns, "w")).toBeUndefined();
});

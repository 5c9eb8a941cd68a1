import { afterEach, beforeEach, expect, test } from "vitest";
import type { Run, RunStatus } from "#api/kinds/run.ts";
import { runs, runtimes } from "#api/resources.ts";
import { timestamp } from "#api/time.ts";
import { pods } from "#kube/builtin.ts";
import type { Controller } from "#kube/controller.ts";
import { ControlPlane } from "#test/integration/support/control-plane.ts";
import { createRunRecovery } from "./index.ts";

const namespace = "default";
let plane: ControlPlane;
let recovery: Controller;
beforeEach(async () => {
  plane = new ControlPlane();
  await plane.start((deps, informers) => {
    recovery = createRunRecovery(deps, informers);
    return [recovery];
  });
  await plane.create(runtimes, {
    metadata: { name: "bash", namespace },
    spec: { template: { spec: { containers: [{ name: "runtime", image: "x" }] } } },
  });
});
afterEach(() => plane.stop());

const makePod = () =>
  plane.create(
    pods,
    {
      metadata: { name: "p", namespace, labels: { "kruntimes.io/runtime": "bash" } },
      spec: { containers: [{ name: "runtime", image: "x" }], nodeName: "n" },
    },
    { phase: "Running" },
  );

/** A Run at work; its agent has a clock that is so many milliseconds behind. */
async function running(name: string, podUID: string, spec: Partial<Run["spec"]> = {}, behindMs = 0): Promise<Run> {
  const placed = { assignedPod: "p", assignedPodUID: podUID, assignmentEpoch: 1 };
  return plane.create(
    runs,
    { metadata: { name, namespace }, spec: { runtime: "bash", source: { inline: "exit" }, ...spec } },
    { phase: "Scheduled", ...placed },
    { phase: "Running", ...placed, attempt: 1, startTime: timestamp(plane.clock.now() - behindMs) },
  );
}

const status = async (name: string): Promise<RunStatus | undefined> => (await plane.find(runs, name))?.status;

test("Runs of a Pod that goes follow their retry policy; those of others stay", async () => {
  const { uid = "" } = (await makePod()).metadata;
  await running("once", uid);
  await running("again", uid, { retryPolicy: { maxAttempts: 2 } });
  await plane.client.of(pods).delete({ name: "p", namespace }, { gracePeriodSeconds: 0 });
  await plane.settle();
  expect(await status("once")).toMatchObject({ phase: "Failed", reason: "PodDeleted" });
  expect(await status("again")).toMatchObject({ phase: "Pending", attempts: [{ number: 1, reason: "PodDeleted" }] });
});

test("a Pod that came and went while its watch was blind loses its Runs all the same", async () => {
  plane.api.faults.onWatchEvent = ({ resource }) => (resource === "pods" ? { drop: true } : undefined);
  const { uid = "" } = (await makePod()).metadata;
  await running("run", uid);
  await plane.settle();
  expect(await status("run")).toMatchObject({ phase: "Running" });
  await plane.client.of(pods).delete({ name: "p", namespace }, { gracePeriodSeconds: 0 });
  await plane.clock.elapse(10_000);
  expect(await status("run")).toMatchObject({ phase: "Failed", reason: "PodDeleted" });
});

test("the last word of a Pod counts that is gone when it is looked at again", async () => {
  plane.api.faults.onWatchEvent = ({ resource }, { type }) =>
    resource !== "pods" ? undefined : type === "DELETED" ? { drop: true } : { delayMs: 1000 };
  const made = await makePod();
  await running("run", made.metadata.uid ?? "");
  await plane.elapse(2000);
  const status = { phase: "Failed", reason: "Evicted", message: "too many files" } as const;
  await plane.client.of(pods).update({ ...made, status }, "status");
  await plane.client.of(pods).delete({ name: "p", namespace }, { gracePeriodSeconds: 0 });
  await plane.elapse(2000);
  const run = await plane.find(runs, "run");
  expect(run?.status).toMatchObject({ phase: "Failed", reason: "PodEvicted" });
  expect(run?.status?.message).toContain("too many files");
});

test("a Pod that a late watch does not show yet loses nothing", async () => {
  plane.api.faults.onWatchEvent = ({ resource }) => (resource === "pods" ? { delayMs: 30_000 } : undefined);
  const { uid = "" } = (await makePod()).metadata;
  await running("a", uid);
  await plane.elapse(60_000);
  expect(await status("a")).toMatchObject({ phase: "Running" });
});

test("an agent that is silent for a minute after the timeout loses its Run", async () => {
  const { uid = "" } = (await makePod()).metadata;
  await running("a", uid, { timeout: "10s" });
  await plane.elapse(69_000);
  expect(await status("a")).toMatchObject({ phase: "Running" });
  await plane.elapse(2000);
  expect(await status("a")).toMatchObject({ phase: "Failed", reason: "NodeLost" });
});

test.each([
  ["behind", 3_600_000],
  ["ahead", -3_600_000],
])(
  "so it is with an agent whose clock is an hour %s: silence counts from when the attempt was seen",
  async (_, behind) => {
    const { uid = "" } = (await makePod()).metadata;
    await running("a", uid, { timeout: "10s" }, behind);
    await plane.elapse(69_000);
    expect(await status("a")).toMatchObject({ phase: "Running" });
    await plane.elapse(2000);
    expect(await status("a")).toMatchObject({ phase: "Failed", reason: "NodeLost" });
  },
);

test("a Run that has ended waits for no deadline any more", async () => {
  const { uid = "" } = (await makePod()).metadata;
  const run = await running("a", uid, { timeout: "24h" });
  await plane.settle();
  expect(recovery.metrics().queue.delayed).toBe(1);
  const ended = { ...run.status, phase: "Succeeded" as const, completionTime: timestamp(plane.clock.now()) };
  await plane.client.of(runs).update({ ...run, status: ended }, "status");
  await plane.settle();
  expect(recovery.metrics().queue.delayed).toBe(0);
});

test("without its Runtime a Run that was placed fails, and one that never was waits", async () => {
  await plane.client.of(runtimes).delete({ name: "bash", namespace });
  const spec = { runtime: "bash", source: { inline: "exit" } };
  await plane.create(
    runs,
    { metadata: { name: "placed", namespace }, spec },
    { phase: "Scheduled", assignedPod: "p", assignedPodUID: "gone", assignmentEpoch: 1 },
  );
  await plane.create(runs, { metadata: { name: "new", namespace }, spec });
  await plane.elapse(1000);
  expect(await status("placed")).toMatchObject({ phase: "Failed", reason: "RuntimeDeleted" });
  expect(await status("new")).toEqual({ phase: "Pending" });
});

import { afterEach, beforeEach, expect, test } from "vitest";
import type { JobSpec } from "#api/kinds/job.ts";
import { persistentWorkspaces, runs } from "#api/resources.ts";
import { ActionWorld, job, namespace } from "#test/support/action-world.ts";

let world: ActionWorld;
beforeEach(async () => {
  world = await new ActionWorld().start();
});
afterEach(() => world.stop());

const diamond: Record<string, JobSpec> = {
  a: job(["one"]),
  b: job(["one"], { needs: ["a"] }),
  c: job(["one"], { needs: ["a"] }),
  d: job(["one"], { needs: ["b", "c"] }),
};
const phases = async () =>
  Object.entries((await world.status("ci")).jobs ?? {}).map(
    ([id, { phase, attempt }]) => `${id} ${phase} ${attempt ?? 0}`,
  );

/** A and B succeeded, C failed, D never ran. */
async function failed(): Promise<void> {
  await world.run("ci", diamond);
  await world.finish("ci", "a", "one");
  await world.finish("ci", "b", "one");
  await world.finish("ci", "c", "one", "Failed");
  expect(await phases()).toEqual(["a Succeeded 1", "b Succeeded 1", "c Failed 1", "d Skipped 0"]);
}

test("what failed and what never ran gets another attempt; what is kept stays byte for byte", async () => {
  await failed();
  const before = await world.status("ci");
  const answer = await world.ask("ci", "Retry");
  expect(answer).toMatchObject({ phase: "Succeeded", message: "WorkflowRun ci goes on: 2 jobs run again" });
  const after = await world.status("ci");
  expect(after).toMatchObject({ phase: "Running", attempt: 2, progress: "2/4" });
  for (const field of ["completionTime", "reason", "message", "shutdown", "suspended"])
    expect(after).not.toHaveProperty(field);
  expect(after.conditions ?? []).toEqual([]);
  expect(JSON.stringify([after.jobs?.a, after.jobs?.b])).toBe(JSON.stringify([before.jobs?.a, before.jobs?.b]));
  expect(after.jobs?.c).toMatchObject({
    phase: "Running",
    attempt: 2,
    attempts: [{ number: 1, phase: "Failed", reason: "StepFailed" }],
  });
  await world.finish("ci", "c", "one");
  await world.finish("ci", "d", "one");
  expect(await world.status("ci")).toMatchObject({ phase: "Succeeded", attempt: 2 });
  expect(await phases()).toEqual(["a Succeeded 1", "b Succeeded 1", "c Succeeded 2", "d Succeeded 1"]);
});

test("an attempt has Runs and a workspace of its own; those of the one before stay", async () => {
  await failed();
  const old = await world.child("ci", "c", "one");
  await world.ask("ci", "Retry");
  const next = await world.child("ci", "c", "one");
  expect(next?.metadata.name).not.toBe(old?.metadata.name);
  expect(next?.spec.workspace?.name).not.toBe(old?.spec.workspace?.name);
  expect((await world.plane.find(runs, old?.metadata.name ?? ""))?.status?.phase).toBe("Failed");
  const { items } = await world.plane.client.of(persistentWorkspaces).list({ namespace });
  const ofC = items.filter(({ metadata }) => metadata.labels?.["workflows.kruntimes.io/job"] === "c");
  // The one before has its TTL since its attempt has ended.
  expect(ofC.map(({ spec }) => spec.ttlSecondsAfterUnused !== undefined).sort()).toEqual([false, true]);
});

test("a run that was stopped goes on, and the deadline counts from the new attempt", async () => {
  await world.run("ci", diamond, { timeout: "60s" });
  await world.finish("ci", "a", "one");
  await world.plane.elapse(50_000);
  await world.ask("ci", "Stop");
  await world.finish("ci", "b", "one", "Cancelled");
  await world.finish("ci", "c", "one", "Cancelled");
  expect(await world.status("ci")).toMatchObject({ phase: "Failed", reason: "Stopped" });
  expect(await world.ask("ci", "Retry")).toMatchObject({ message: "WorkflowRun ci goes on: 3 jobs run again" });
  await world.plane.elapse(50_000);
  const again = await world.status("ci");
  expect(again).toMatchObject({ phase: "Running" });
  expect(again.shutdown).toBeUndefined();
  await world.plane.elapse(10_000);
  expect(await world.status("ci")).toMatchObject({ phase: "Stopping", reason: "TimedOut" });
});

test("spec.shutdown and spec.suspend of the attempt before do not reach the new one", async () => {
  await world.run("ci", diamond, { suspend: true });
  await world.change("ci", { shutdown: "Terminate" });
  expect(await world.status("ci")).toMatchObject({ phase: "Failed", reason: "Terminated", suspended: true });
  await world.ask("ci", "Retry");
  await world.plane.elapse(1000);
  expect(await world.status("ci")).toMatchObject({ phase: "Running", attempt: 2 });
});

test("a selector narrows what runs again, and restartSuccessful widens it to what it names and all behind that", async () => {
  await failed();
  const selected = { retry: { nodeFieldSelector: "job=b" } };
  expect(await world.ask("ci", "Retry", selected)).toMatchObject({
    phase: "Failed",
    reason: "NothingToRetry",
    message:
      "the selector job=b matches no job of WorkflowRun ci that failed, was ended or never ran; restartSuccessful also means those that succeeded",
  });
  const restart = { retry: { nodeFieldSelector: "job=b", restartSuccessful: true } };
  expect(await world.ask("ci", "Retry", restart)).toMatchObject({
    message: "WorkflowRun ci goes on: 2 jobs run again",
  });
  expect(await phases()).toEqual(["a Succeeded 1", "b Running 2", "c Failed 1", "d Skipped 0"]);
});

test("a run that succeeded needs restartSuccessful and a selector", async () => {
  await world.run("ci", { a: job(["one"]), b: job(["one"], { needs: ["a"] }) });
  await world.finish("ci", "a", "one");
  await world.finish("ci", "b", "one");
  for (const retry of [{}, { nodeFieldSelector: "job=a" }]) {
    expect(await world.ask("ci", "Retry", { retry })).toMatchObject({ reason: "NothingToRetry" });
  }
  await expect(world.ask("ci", "Retry", { retry: { restartSuccessful: true } })).rejects.toThrow(
    "restartSuccessful needs nodeFieldSelector",
  );
  const absent = { restartSuccessful: true, nodeFieldSelector: "job=c" };
  expect(await world.ask("ci", "Retry", { retry: absent })).toMatchObject({
    reason: "NothingToRetry",
    message: "the selector job=c matches no job of WorkflowRun ci",
  });
  await world.ask("ci", "Retry", { retry: { restartSuccessful: true, nodeFieldSelector: "job=a" } });
  expect(await phases()).toEqual(["a Running 2", "b Waiting 2"]);
});

test("a Retry before the end, of what never began, and with a selector that cannot be read, is refused", async () => {
  await world.run("ci", diamond);
  expect(await world.ask("ci", "Retry")).toMatchObject({ phase: "Failed", reason: "WorkflowNotCompleted" });
  await world.run("bad", { a: job(["one"], { needs: ["a"] }) });
  expect(await world.ask("bad", "Retry")).toMatchObject({ reason: "NothingToRetry" });
  await world.ask("ci", "Terminate");
  await world.finish("ci", "a", "one", "Cancelled");
  expect(await world.ask("ci", "Retry", { retry: { nodeFieldSelector: "x=1" } })).toMatchObject({
    reason: "InvalidNodeFieldSelector",
  });
});

const consumer: Record<string, JobSpec> = {
  make: job(["one"]),
  take: {
    "runs-on": "bash",
    needs: ["make"],
    steps: [{ name: "one", run: "true", artifacts: [{ from: "jobs.make.artifacts.dist", path: "dist" }] }],
  },
};

test("an artifact of a kept job whose Run is gone refuses the Retry, and nothing changes", async () => {
  await world.run("ci", consumer);
  const child = await world.child("ci", "make", "one");
  const path = `runs/${child?.metadata.uid}/artifacts/dist`;
  const artifact = {
    name: "dist",
    driver: "Filesystem",
    type: "File",
    location: { filesystem: { path } },
    sizeBytes: 1,
  };
  const ref = { ...artifact, digest: `sha256:${"0".repeat(64)}` } as const;
  await world.finish("ci", "make", "one", "Succeeded", { artifactRefs: [ref as never] });
  const status = await world.status("ci");
  // Without a store the consumer cannot start: that is a failure like any other.
  expect(status).toMatchObject({ phase: "Failed" });
  await world.plane.client.of(runs).delete({ name: child?.metadata.name ?? "", namespace });
  await world.plane.settle();
  const before = JSON.stringify(await world.target("ci"));
  expect(await world.ask("ci", "Retry")).toMatchObject({ phase: "Failed", reason: "ArtifactMissing" });
  expect(JSON.stringify(await world.target("ci"))).toBe(before);
});

test("of a matrix the instances that succeeded are kept", async () => {
  const strategy = { matrix: { n: [1, 2, 3] }, "fail-fast": false };
  await world.run("ci", { m: job(["one"], { strategy }), z: job(["one"], { needs: ["m"] }) });
  await world.finish("ci", "m.0", "one");
  await world.finish("ci", "m.1", "one", "Failed");
  await world.finish("ci", "m.2", "one");
  const kept = JSON.stringify((await world.status("ci")).jobs?.["m.0"]);
  await world.ask("ci", "Retry");
  expect(JSON.stringify((await world.status("ci")).jobs?.["m.0"])).toBe(kept);
  expect((await world.status("ci")).jobs?.["m.1"]).toMatchObject({ phase: "Running", attempt: 2, matrix: { n: 2 } });
  await world.finish("ci", "m.1", "one");
  await world.finish("ci", "z", "one");
  expect(await world.status("ci")).toMatchObject({ phase: "Succeeded" });
});

test("Retry, Stop, Retry converges, and no attempt number is used twice", async () => {
  await failed();
  await world.ask("ci", "Retry");
  await world.ask("ci", "Stop");
  await world.finish("ci", "c", "one", "Cancelled");
  await world.ask("ci", "Retry");
  expect((await world.status("ci")).jobs?.c).toMatchObject({ attempt: 3, attempts: [{ number: 1 }, { number: 2 }] });
  await world.finish("ci", "c", "one");
  await world.finish("ci", "d", "one");
  expect(await world.status("ci")).toMatchObject({ phase: "Succeeded", attempt: 3 });
});

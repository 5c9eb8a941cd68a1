/** Actions on runs whose jobs wait: for a place, for each other, for a template, for rights that the controller lacks. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { persistentWorkspaces, runs, workflowRuns, workflows } from "#api/resources.ts";
import { timestamp } from "#api/time.ts";
import { ActionWorld, job, namespace } from "#test/support/action-world.ts";

let world: ActionWorld;
beforeEach(async () => {
  world = await new ActionWorld().start();
});
afterEach(() => world.stop());

const phases = async () =>
  Object.entries((await world.status("ci")).jobs ?? {}).map(([id, { phase }]) => `${id} ${phase}`);
const allRuns = async () => (await world.plane.client.of(runs).list({ namespace })).items;

test.each(["Stop", "Terminate"])("%s ends a run whose Run waits for a place, by asking that to end", async (action) => {
  await world.run("ci", { a: job(["one"]), b: job(["two"], { needs: ["a"] }) });
  expect((await world.child("ci", "a", "one"))?.status?.phase ?? "Pending").toBe("Pending");
  await world.ask("ci", action);
  const child = await world.child("ci", "a", "one");
  expect(child?.spec.termination).toMatchObject({ mode: "Immediate" });
  // The scheduler takes it from the queue: see its own tests.
  const status = { phase: "Cancelled" as const, completionTime: timestamp(world.plane.clock.now()) };
  if (child !== undefined) await world.plane.client.of(runs).update({ ...child, status }, "status");
  await world.plane.settle();
  expect(await world.status("ci")).toMatchObject({ phase: "Failed" });
});

test("jobs that wait for a place under parallelism: Suspend starts none when one is free, Terminate skips them at once", async () => {
  const jobs = { a: job(["one"]), b: job(["one"]), c: job(["one"]) };
  await world.run("ci", jobs, { parallelism: 1 });
  expect(await phases()).toEqual(["a Running", "b Queued", "c Queued"]);
  await world.ask("ci", "Suspend");
  await world.finish("ci", "a", "one");
  expect(await phases()).toEqual(["a Succeeded", "b Queued", "c Queued"]);
  await world.ask("ci", "Resume");
  expect(await phases()).toEqual(["a Succeeded", "b Running", "c Queued"]);
  await world.ask("ci", "Terminate");
  expect(await phases()).toEqual(["a Succeeded", "b Stopping", "c Skipped"]);
  await world.finish("ci", "b", "one", "Cancelled");
  expect(await world.status("ci")).toMatchObject({ phase: "Failed", reason: "Terminated" });
});

test("under parallelism a write that fails when a job ends loses no place: the next job begins, and nothing is left over", async () => {
  await world.run("ci", { a: job(["one"]), b: job(["one"]) }, { parallelism: 1 });
  let failures = 3;
  world.plane.api.faults.onRequest = ({ verb, resource, subresource }) =>
    verb === "update" && subresource === "status" && resource.startsWith("workflowruns.") && failures-- > 0
      ? { kind: "internal" }
      : undefined;
  await world.finish("ci", "a", "one");
  await world.plane.elapse(10_000);
  expect(failures).toBeLessThan(0);
  expect(await phases()).toEqual(["a Succeeded", "b Running"]);
  expect(await allRuns()).toHaveLength(2);
  await world.finish("ci", "b", "one");
  expect(await world.status("ci")).toMatchObject({ phase: "Succeeded" });
});

test("a clean-up of jobs that need each other runs to its end when the run is stopped", async () => {
  const always = { if: "always()" };
  await world.run("ci", {
    a: job(["one"]),
    x1: job(["first"], { needs: ["a"], ...always }),
    x2: job(["second"], { needs: ["x1"], ...always }),
  });
  await world.ask("ci", "Stop");
  await world.finish("ci", "a", "one", "Cancelled");
  await world.finish("ci", "x1", "first");
  await world.finish("ci", "x2", "second");
  expect(await phases()).toEqual(["a Cancelled", "x1 Succeeded", "x2 Succeeded"]);
  expect(await world.status("ci")).toMatchObject({ phase: "Failed", reason: "Stopped" });
});

test("a clean-up sees how the others ended", async () => {
  await world.run("ci", {
    a: job(["one"]),
    x: {
      ...job([]),
      needs: ["a"],
      if: "cancelled() && needs.a.result == 'cancelled'",
      steps: [{ name: "clean", run: "true" }],
    },
    y: {
      ...job([]),
      needs: ["a"],
      if: "always() && needs.a.result == 'failure'",
      steps: [{ name: "never", run: "true" }],
    },
  });
  await world.ask("ci", "Stop");
  await world.finish("ci", "a", "one", "Cancelled");
  expect(await phases()).toEqual(["a Cancelled", "x Running", "y Skipped"]);
});

const failsFast = { matrix: { n: [1, 2, 3] }, "max-parallel": 1, "fail-fast": true };

test("a matrix of width one that fails fast ends with its first failure", async () => {
  await world.run("ci", { m: job(["one"], { strategy: failsFast }), z: job(["one"], { needs: ["m"] }) });
  await world.finish("ci", "m.0", "one", "Failed");
  expect(await world.status("ci")).toMatchObject({ phase: "Failed", reason: "JobFailed" });
  expect(await phases()).toEqual(["m Failed", "z Skipped", "m.0 Failed", "m.1 Skipped", "m.2 Skipped"]);
});

test("a matrix of width one whose instances may try again ends when one has failed for good: nothing of it is left at work", async () => {
  const retry = { attempts: 2, backoff: "1s" };
  await world.run("ci", { m: job(["one"], { strategy: failsFast, retry }), z: job(["one"], { needs: ["m"] }) });
  await world.finish("ci", "m.0", "one", "Failed");
  // While it backs off, its place is the next one's.
  expect(await phases()).toEqual(["m Running", "z Waiting", "m.0 Queued", "m.1 Running", "m.2 Queued"]);
  await world.plane.elapse(60_000);
  await world.finish("ci", "m.1", "one", "Failed");
  await world.finish("ci", "m.2", "one");
  expect(await phases()).toEqual(["m Running", "z Waiting", "m.0 Running", "m.1 Queued", "m.2 Succeeded"]);
  await world.finish("ci", "m.0", "one", "Failed");
  expect(await world.status("ci")).toMatchObject({ phase: "Failed", reason: "JobFailed" });
  expect(await phases()).toEqual(["m Failed", "z Skipped", "m.0 Failed", "m.1 Skipped", "m.2 Succeeded"]);
});

test("an attempt whose time comes while the run is suspended begins with the Resume, and costs nothing until then", async () => {
  await world.run("ci", { a: job(["one"], { retry: { attempts: 2, backoff: "1s" } }) });
  await world.ask("ci", "Suspend");
  await world.finish("ci", "a", "one", "Failed");
  let requests = 0;
  world.plane.api.faults.onRequest = () => {
    requests++;
    return undefined;
  };
  await world.plane.elapse(60_000);
  expect(await phases()).toEqual(["a Queued"]);
  expect(requests).toBeLessThan(20);
  await world.ask("ci", "Resume");
  expect(await phases()).toEqual(["a Running"]);
});

test("instances at work are ended when one fails and there is no other attempt; the run ends with them", async () => {
  const strategy = { matrix: { n: [1, 2] }, "fail-fast": true };
  await world.run("ci", { m: job(["one"], { strategy }) });
  await world.finish("ci", "m.0", "one", "Failed");
  expect((await world.child("ci", "m.1", "one"))?.spec.termination).toMatchObject({ mode: "Immediate" });
  await world.finish("ci", "m.1", "one", "Cancelled");
  expect(await world.status("ci")).toMatchObject({ phase: "Failed", reason: "JobFailed" });
});

test("spec.suspend is honoured once: a Resume before the start stands, however long the start takes", async () => {
  world.plane.api.faults.onRequest = ({ resource }) =>
    resource.startsWith("controllerrevisions") ? { kind: "internal" } : undefined;
  await world.plane.create(workflows, { metadata: { name: "w", namespace }, spec: { jobs: { a: job(["one"]) } } });
  await world.plane.create(workflowRuns, {
    metadata: { name: "ci", namespace },
    spec: { workflowRef: { name: "w" }, suspend: true },
  });
  await world.plane.settle();
  expect(await world.status("ci")).toMatchObject({ phase: "Pending", suspended: true });
  expect(await world.ask("ci", "Resume")).toMatchObject({ phase: "Succeeded" });
  await world.plane.elapse(5000);
  world.plane.api.faults.onRequest = undefined;
  await world.plane.until(async () => (await world.status("ci")).phase === "Running", 120_000);
  expect((await world.status("ci")).suspended).toBeUndefined();
});

test("a run that is suspended before it began begins suspended", async () => {
  world.plane.api.faults.onRequest = ({ resource }) =>
    resource.startsWith("controllerrevisions") ? { kind: "internal" } : undefined;
  await world.plane.create(workflows, { metadata: { name: "w", namespace }, spec: { jobs: { a: job(["one"]) } } });
  await world.plane.create(workflowRuns, { metadata: { name: "ci", namespace }, spec: { workflowRef: { name: "w" } } });
  await world.plane.settle();
  expect(await world.ask("ci", "Suspend")).toMatchObject({ phase: "Succeeded" });
  world.plane.api.faults.onRequest = undefined;
  await world.plane.until(async () => (await world.status("ci")).phase === "Suspended", 120_000);
  expect(await phases()).toEqual(["a Waiting"]);
});

test("a controller that may not ask what runs to end says so; the run ends only when that is over", async () => {
  await world.run("ci", { a: job(["one"]) });
  world.plane.api.faults.onRequest = ({ verb, resource }) =>
    verb === "patch" && resource.startsWith("runs.") ? { kind: "forbidden" } : undefined;
  expect(await world.ask("ci", "Stop")).toMatchObject({ phase: "Succeeded" });
  await world.plane.elapse(600_000);
  expect(await world.status("ci")).toMatchObject({ phase: "Stopping", reason: "Stopped" });
  expect(world.said).toContainEqual({
    kind: "WorkflowRun",
    type: "Warning",
    reason: "ChildRefused",
    message: expect.stringMatching(/^Run ci-a-one-\w+ cannot be asked to end: .* is forbidden/),
  });
  world.plane.api.faults.onRequest = undefined;
  await world.plane.until(async () => (await world.child("ci", "a", "one"))?.spec.termination !== undefined, 120_000);
  await world.finish("ci", "a", "one", "Cancelled");
  expect(await world.status("ci")).toMatchObject({ phase: "Failed", reason: "Stopped" });
});

const ends: Record<string, () => Promise<unknown>> = {
  "after success": () => world.finish("ci", "a", "one"),
  "after a failure": () => world.finish("ci", "a", "one", "Failed"),
  "after Stop": async () => {
    await world.ask("ci", "Stop");
    await world.finish("ci", "a", "one", "Cancelled");
  },
  "after Terminate": async () => {
    await world.ask("ci", "Terminate");
    await world.finish("ci", "a", "one", "Cancelled");
  },
  "after its time": async () => {
    await world.plane.elapse(60_000);
    await world.finish("ci", "a", "one", "Cancelled");
  },
};

test.each(Object.entries(ends))("no workspace stays for ever: it has its TTL %s", async (_, end) => {
  await world.run("ci", { a: job(["one"]) }, { timeout: "60s" });
  const ttl = async () => {
    const { items } = await world.plane.client.of(persistentWorkspaces).list({ namespace });
    return items.map(({ spec }) => spec.ttlSecondsAfterUnused);
  };
  expect(await ttl()).toEqual([undefined]);
  await end();
  expect(await ttl()).toEqual([60]);
});

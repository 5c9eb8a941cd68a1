/** What the controller makes of actions when caches are late, requests fail, and objects come and go meanwhile. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { maxAppliedActions } from "#api/kinds/workflow-run.ts";
import { workflowActions, workflowRuns } from "#api/resources.ts";
import type { FaultRequest } from "#local/apiserver/index.ts";
import { ActionWorld, job, namespace } from "#test/support/action-world.ts";

let world: ActionWorld;
beforeEach(async () => {
  world = await new ActionWorld().start();
});
afterEach(() => world.stop());

const chain = { a: job(["one"]), b: job(["two"], { needs: ["a"] }) };
const isStatusWrite = ({ verb, resource, subresource }: FaultRequest, plural: string) =>
  (verb === "update" || verb === "patch") && resource.startsWith(`${plural}.`) && subresource === "status";
const statusOf = async (name: string) => (await world.action(name)).status;

test("the older of two actions comes first, whatever their names say", async () => {
  await world.run("ci", chain);
  // Both are there before the controller hears of either.
  world.plane.api.faults.onWatchEvent = ({ resource }) =>
    resource.startsWith("workflowactions.") ? { delayMs: 5000 } : undefined;
  await world.create("ci", "Suspend", {}, { name: "z-first" });
  await world.plane.elapse(1500);
  await world.create("ci", "Resume", {}, { name: "a-second" });
  await world.plane.elapse(10_000);
  expect(await statusOf("z-first")).toMatchObject({ phase: "Succeeded" });
  expect(await statusOf("a-second")).toMatchObject({ phase: "Succeeded" });
  expect(await world.status("ci")).toMatchObject({ phase: "Running" });
});

test("a run that the cache does not know yet is found, and its action waits for it", async () => {
  world.plane.api.faults.onWatchEvent = ({ resource }) =>
    resource.startsWith("workflowruns.") ? { delayMs: 3000 } : undefined;
  await world.run("ci", chain);
  expect(await world.ask("ci", "Stop", {}, { name: "end" })).toMatchObject({ phase: "Pending" });
  await world.plane.elapse(20_000);
  expect(await statusOf("end")).toMatchObject({ phase: "Succeeded" });
  expect(await world.status("ci")).toMatchObject({ shutdown: "Stop" });
});

test("a target that cannot be looked up at the moment is not missing: the action waits, and is answered then", async () => {
  world.plane.api.faults.onRequest = ({ verb, resource }) =>
    verb === "get" && resource.startsWith("workflowruns.") ? { kind: "internal" } : undefined;
  expect(await world.ask("absent", "Stop", {}, { name: "end" })).toMatchObject({ phase: "Pending" });
  await world.plane.elapse(30_000);
  expect(await statusOf("end")).toMatchObject({ phase: "Pending" });
  world.plane.api.faults.onRequest = undefined;
  await world.plane.until(async () => (await statusOf("end"))?.phase === "Failed", 61_000);
  expect(await statusOf("end")).toMatchObject({ reason: "WorkflowNotFound" });
});

test("a run that is deleted, and another of its name: a pinned action is not for it, the other one is", async () => {
  const old = await world.run("ci", chain);
  // Nothing is answered as long as this lasts.
  world.plane.api.faults.onRequest = (request) =>
    isStatusWrite(request, "workflowactions") ? { kind: "internal" } : undefined;
  world.plane.api.faults.onWatchEvent = ({ resource }) =>
    resource.startsWith("workflowactions.") ? { delayMs: 2000 } : undefined;
  await world.create("ci", "Stop", { workflowRef: { name: "ci", uid: old.metadata.uid ?? "" } }, { name: "pinned" });
  await world.create("ci", "Suspend", {}, { name: "by-name" });
  await world.plane.client.of(workflowRuns).delete({ name: "ci", namespace });
  await world.run("ci", chain);
  world.plane.api.faults.onRequest = undefined;
  await world.plane.elapse(70_000);
  expect(await statusOf("pinned")).toMatchObject({ phase: "Failed", reason: "WorkflowNotFound" });
  expect(await statusOf("by-name")).toMatchObject({ phase: "Succeeded" });
  const status = await world.status("ci");
  expect(status).toMatchObject({ phase: "Suspended" });
  expect(status.shutdown).toBeUndefined();
});

test("an action that still waits when its run is deleted is told that there is none", async () => {
  await world.run("ci", chain);
  world.plane.api.faults.onWatchEvent = ({ resource }) =>
    resource.startsWith("workflowactions.") ? { delayMs: 2000 } : undefined;
  await world.create("ci", "Stop", {}, { name: "late" });
  await world.plane.client.of(workflowRuns).delete({ name: "ci", namespace });
  await world.plane.elapse(10_000);
  expect(await statusOf("late")).toMatchObject({ phase: "Failed", reason: "WorkflowNotFound" });
});

test("a run that is being deleted takes no action any more", async () => {
  await world.run("ci", chain);
  const finalizers = { metadata: { finalizers: ["example.com/hold"] } };
  await world.plane.client.of(workflowRuns).patch({ name: "ci", namespace }, finalizers);
  await world.plane.client.of(workflowRuns).delete({ name: "ci", namespace });
  await world.plane.settle();
  expect(await world.ask("ci", "Stop")).toMatchObject({
    phase: "Failed",
    reason: "WorkflowNotFound",
    message: "the WorkflowRun ci is being deleted",
  });
});

test("a run that goes between the write of an effect and the answer leaves no action unanswered", async () => {
  await world.run("ci", chain);
  world.plane.api.faults.onRequest = (request) =>
    isStatusWrite(request, "workflowactions") ? { kind: "internal" } : undefined;
  await world.create("ci", "Suspend", {}, { name: "hold" });
  await world.plane.settle();
  expect(await world.status("ci")).toMatchObject({ phase: "Suspended" });
  await world.plane.client.of(workflowRuns).delete({ name: "ci", namespace });
  world.plane.api.faults.onRequest = undefined;
  await world.plane.until(async () => (await statusOf("hold"))?.phase !== "Pending", 120_000);
  expect((await statusOf("hold"))?.completionTime).toBeDefined();
});

test("an action that goes between the write of its effect and its answer is forgotten, and the run goes on", async () => {
  await world.run("ci", chain);
  world.plane.api.faults.onRequest = (request) =>
    isStatusWrite(request, "workflowactions") ? { kind: "internal" } : undefined;
  await world.create("ci", "Suspend", {}, { name: "hold" });
  await world.plane.settle();
  await world.plane.client.of(workflowActions).delete({ name: "hold", namespace });
  world.plane.api.faults.onRequest = undefined;
  await world.plane.until(async () => (await world.status("ci")).appliedActions === undefined, 120_000);
  expect(await world.status("ci")).toMatchObject({ phase: "Suspended" });
  expect(await world.ask("ci", "Resume")).toMatchObject({ phase: "Succeeded" });
});

test.each(["conflict", "timeoutAfterCommit", "internal"] as const)(
  "a write of the run that ends in %s costs no action and doubles none",
  async (kind) => {
    await world.run("ci", { a: job(["one", "two"]) });
    let left = 2;
    world.plane.api.faults.onRequest = (request) =>
      isStatusWrite(request, "workflowruns") && left-- > 0 ? { kind } : undefined;
    await world.create("ci", "Suspend", {}, { name: "a-hold" });
    await world.create("ci", "Resume", {}, { name: "b-on" });
    await world.create("ci", "Resume", {}, { name: "c-nothing" });
    await world.plane.elapse(20_000);
    expect(left).toBeLessThan(0);
    expect(await statusOf("a-hold")).toMatchObject({ phase: "Succeeded" });
    expect(await statusOf("b-on")).toMatchObject({ phase: "Succeeded" });
    expect(await statusOf("c-nothing")).toMatchObject({ phase: "Failed", reason: "NothingToResume" });
    const status = await world.status("ci");
    expect(status.phase).toBe("Running");
    expect(status.appliedActions).toBeUndefined();
    const applied = world.said.filter(({ reason }) => reason === "WorkflowActionApplied");
    expect(applied.length).toBeLessThanOrEqual(2);
  },
);

test("somebody else's write meanwhile is not undone: what was computed is thrown away and computed again", async () => {
  await world.run("ci", chain);
  let writes = 0;
  world.plane.api.faults.onRequest = (request) => {
    if (!isStatusWrite(request, "workflowruns") || writes++ > 0) return undefined;
    void world.plane.client.of(workflowRuns).patch({ name: "ci", namespace }, { metadata: { labels: { team: "x" } } });
    return { kind: "delay", ms: 10 };
  };
  await world.create("ci", "Suspend", {}, { name: "hold" });
  await world.plane.elapse(5000);
  const run = await world.target("ci");
  expect(writes).toBeGreaterThan(1);
  expect(run.metadata.labels).toMatchObject({ team: "x" });
  expect(run.status).toMatchObject({ phase: "Suspended" });
  expect(await statusOf("hold")).toMatchObject({ phase: "Succeeded" });
});

test("as long as answers cannot be written there are at most 32 records; the others wait, and none is lost", async () => {
  await world.run("ci", chain);
  let most = 0;
  world.plane.api.faults.onRequest = (request) => {
    if (isStatusWrite(request, "workflowruns")) {
      most = Math.max(most, (request.body as WorkflowRun).status?.appliedActions?.length ?? 0);
    }
    return isStatusWrite(request, "workflowactions") ? { kind: "internal" } : undefined;
  };
  const names = Array.from({ length: 40 }, (_, index) => `n${String(index).padStart(2, "0")}`);
  for (const [index, name] of names.entries()) {
    await world.create("ci", index % 2 === 0 ? "Suspend" : "Resume", {}, { name });
  }
  await world.plane.elapse(20_000);
  expect(most).toBe(maxAppliedActions);
  expect((await world.status("ci")).appliedActions).toHaveLength(maxAppliedActions);
  world.plane.api.faults.onRequest = undefined;
  const phases = async () => Promise.all(names.map(async (name) => (await statusOf(name))?.phase));
  await world.plane.until(async () => !(await phases()).includes("Pending"), 300_000);
  expect(new Set(await phases())).toEqual(new Set(["Succeeded"]));
  await world.plane.until(async () => (await world.status("ci")).appliedActions === undefined);
  expect(await world.status("ci")).toMatchObject({ phase: "Running" });
});

test("an action whose answer stands is never applied again, also when its record stayed behind", async () => {
  await world.run("ci", chain);
  let refuse = false;
  world.plane.api.faults.onRequest = (request) => {
    // The answers are written; that the records go is not.
    const { appliedActions } = (request.body as WorkflowRun | undefined)?.status ?? {};
    return refuse && isStatusWrite(request, "workflowruns") && appliedActions === undefined
      ? { kind: "internal" }
      : undefined;
  };
  refuse = true;
  expect(await world.ask("ci", "Suspend", {}, { name: "hold" })).toMatchObject({ phase: "Succeeded" });
  await world.plane.elapse(5000);
  expect((await world.status("ci")).appliedActions).toHaveLength(1);
  await world.create("ci", "Resume", {}, { name: "on" });
  await world.plane.elapse(60_000);
  refuse = false;
  await world.plane.until(async () => (await world.status("ci")).appliedActions === undefined, 120_000);
  expect(await world.status("ci")).toMatchObject({ phase: "Running" });
  expect(await statusOf("on")).toMatchObject({ phase: "Succeeded" });
});

test.each([
  ["Succeeded", "Succeeded"],
  ["Failed", "Failed"],
] as const)("an action that comes together with the end of a run that has %s is too late", async (end, phase) => {
  await world.run("ci", { a: job(["one"]) });
  world.plane.api.faults.onWatchEvent = ({ resource }) =>
    resource.startsWith("workflowactions.") ? { delayMs: 2000 } : undefined;
  await world.create("ci", "Suspend", {}, { name: "late" });
  await world.finish("ci", "a", "one", end);
  await world.plane.elapse(5000);
  expect(await world.status("ci")).toMatchObject({ phase });
  expect(await statusOf("late")).toMatchObject({ phase: "Failed", reason: "WorkflowCompleted" });
});

test("of actions that are drained together those behind the end are too late, and the one that ended it is not", async () => {
  await world.run("ci", { a: job(["one"]) }, { suspend: true });
  world.plane.api.faults.onWatchEvent = ({ resource }) =>
    resource.startsWith("workflowactions.") ? { delayMs: 2000 } : undefined;
  await world.create("ci", "Terminate", {}, { name: "a-end" });
  await world.create("ci", "Resume", {}, { name: "b-late" });
  await world.plane.elapse(5000);
  expect(await statusOf("a-end")).toMatchObject({ phase: "Succeeded" });
  expect(await statusOf("b-late")).toMatchObject({ phase: "Failed", reason: "WorkflowCompleted" });
  expect(await world.status("ci")).toMatchObject({ phase: "Failed", reason: "Terminated" });
});

test("an action without any label is seen and answered like every other", async () => {
  await world.run("ci", chain);
  await world.ask("ci", "Stop", {}, { name: "bare" });
  expect((await world.action("bare")).metadata.labels).toBeUndefined();
  expect(await statusOf("bare")).toMatchObject({ phase: "Succeeded" });
});

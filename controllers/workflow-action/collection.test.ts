/** WorkflowActions that were answered go after their TTL, not before; those that wait stay. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { workflowActions, workflowRuns } from "#api/resources.ts";
import { timestamp } from "#api/time.ts";
import type { FaultRequest } from "#local/apiserver/index.ts";
import { ActionWorld, job, namespace } from "#test/support/action-world.ts";

let world: ActionWorld;
const start = async (actionTtlSeconds: number) => {
  world = await new ActionWorld().start({ actionTtlSeconds });
};
beforeEach(() => start(60));
afterEach(() => world.stop());

const isThere = async (name: string) => (await world.plane.find(workflowActions, name)) !== undefined;
const isDeletion = ({ verb, resource }: FaultRequest) => verb === "delete" && resource.startsWith("workflowactions.");

test.each([
  ["applied", "Suspend"],
  ["refused", "Resume"],
  ["not known", "Skip"],
])("an action that was %s goes after its TTL, and not before", async (_, action) => {
  await world.run("ci", { a: job(["one"]) });
  await world.ask("ci", action, {}, { name: "asked" });
  await world.plane.elapse(59_000);
  expect(await isThere("asked")).toBe(true);
  await world.plane.elapse(1100);
  expect(await isThere("asked")).toBe(false);
});

test("with a TTL of 0 an action goes as soon as it is answered", async () => {
  world.stop();
  await start(0);
  await world.run("ci", { a: job(["one"]) });
  await world.create("ci", "Suspend", {}, { name: "asked" });
  await world.plane.elapse(100);
  expect(await isThere("asked")).toBe(false);
  expect(await world.status("ci")).toMatchObject({ phase: "Suspended" });
});

test("an action that ended by hand and does not say when counts from its creation", async () => {
  await world.run("ci", { a: job(["one"]) });
  world.plane.api.faults.onWatchEvent = ({ resource }) =>
    resource.startsWith("workflowactions.") ? { delayMs: 500 } : undefined;
  const made = await world.create("ci", "Suspend", {}, { name: "by-hand" });
  await world.plane.client.of(workflowActions).update({ ...made, status: { phase: "Succeeded" } }, "status");
  await world.plane.elapse(59_000);
  expect(await isThere("by-hand")).toBe(true);
  expect(await world.status("ci")).toMatchObject({ phase: "Running" });
  await world.plane.elapse(2000);
  expect(await isThere("by-hand")).toBe(false);
});

test("an action that waits stays, however old it is", async () => {
  world.plane.api.faults.onRequest = ({ verb, resource }) =>
    verb === "get" && resource.startsWith("workflowruns.") ? { kind: "internal" } : undefined;
  await world.create("absent", "Stop", {}, { name: "waits" });
  await world.plane.elapse(3_600_000);
  expect(await world.action("waits")).toMatchObject({ metadata: { name: "waits" } });
});

test("the TTL is looked at again when it is over: an end that is newer than the cache counts", async () => {
  await world.run("ci", { a: job(["one"]) });
  await world.ask("ci", "Suspend", {}, { name: "asked" });
  // The cache never hears of it.
  world.plane.api.faults.onWatchEvent = ({ resource }) =>
    resource.startsWith("workflowactions.") ? { drop: true } : undefined;
  await world.plane.elapse(30_000);
  const action = await world.action("asked");
  const later = { ...action.status, phase: "Succeeded" as const, completionTime: timestamp(world.plane.clock.now()) };
  await world.plane.client.of(workflowActions).update({ ...action, status: later }, "status");
  await world.plane.elapse(31_000);
  expect(await isThere("asked")).toBe(true);
  await world.plane.elapse(30_000);
  expect(await isThere("asked")).toBe(false);
});

test("only the very action that was looked at is deleted: a namesake that comes meanwhile stays", async () => {
  await world.run("ci", { a: job(["one"]) });
  await world.ask("ci", "Suspend", {}, { name: "asked" });
  let replaced = false;
  world.plane.api.faults.onRequest = (request) => {
    if (!isDeletion(request) || replaced) return undefined;
    replaced = true;
    const actions = world.plane.client.of(workflowActions);
    void actions.delete({ name: "asked", namespace }).then(() => world.create("ci", "Resume", {}, { name: "asked" }));
    return { kind: "delay", ms: 50 };
  };
  await world.plane.elapse(61_000);
  expect(replaced).toBe(true);
  expect(await world.action("asked")).toMatchObject({ spec: { action: "Resume" }, status: { phase: "Succeeded" } });
});

test("an action outlives its run for as long as its TTL", async () => {
  await world.run("ci", { a: job(["one"]) });
  await world.ask("ci", "Stop", {}, { name: "asked" });
  await world.plane.client.of(workflowRuns).delete({ name: "ci", namespace });
  await world.plane.elapse(59_000);
  expect(await world.action("asked")).toMatchObject({ status: { phase: "Succeeded" } });
  await world.plane.elapse(2000);
  expect(await isThere("asked")).toBe(false);
});

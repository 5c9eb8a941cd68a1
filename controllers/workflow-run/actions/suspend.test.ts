import { afterEach, beforeEach, expect, test } from "vitest";
import { ActionWorld, job } from "#test/support/action-world.ts";

let world: ActionWorld;
beforeEach(async () => {
  world = await new ActionWorld().start();
});
afterEach(() => world.stop());

const chain = { a: job(["one", "two"]), b: job(["three"], { needs: ["a"] }) };
const phases = async () =>
  Object.entries((await world.status("ci")).jobs ?? {}).map(([id, { phase, steps = [] }]) =>
    [id, phase, ...steps.map((step) => step.phase)].join(" "),
  );

test("suspended, what runs goes on, and nothing new is started until it is resumed", async () => {
  await world.run("ci", chain);
  expect(await world.ask("ci", "Suspend")).toMatchObject({
    phase: "Succeeded",
    message: "WorkflowRun ci is suspended",
  });
  const suspended = await world.status("ci");
  expect(suspended).toMatchObject({ phase: "Suspended", suspended: true });
  expect(suspended.conditions).toContainEqual(expect.objectContaining({ type: "Suspended", status: "True" }));
  expect((await world.child("ci", "a", "one"))?.spec.termination).toBeUndefined();
  await world.finish("ci", "a", "one");
  expect(await phases()).toEqual(["a Running Succeeded Waiting", "b Waiting"]);
  expect(await world.ask("ci", "Resume")).toMatchObject({ phase: "Succeeded", message: "WorkflowRun ci goes on" });
  expect(await phases()).toEqual(["a Running Succeeded Running", "b Waiting"]);
  const resumed = await world.status("ci");
  expect(resumed).toMatchObject({ phase: "Running" });
  expect(resumed.suspended).toBeUndefined();
  expect(resumed.conditions).toContainEqual(expect.objectContaining({ type: "Suspended", status: "False" }));
});

test("no job is started while it is suspended, also when everything that it needs is there", async () => {
  await world.run("ci", { a: job(["one"]), b: job(["two"], { needs: ["a"] }) });
  await world.ask("ci", "Suspend");
  await world.finish("ci", "a", "one");
  expect(await phases()).toEqual(["a Succeeded Succeeded", "b Waiting"]);
  await world.ask("ci", "Resume");
  expect(await phases()).toEqual(["a Succeeded Succeeded", "b Running Running"]);
});

test("a repeat of Suspend succeeds and writes nothing", async () => {
  await world.run("ci", chain);
  await world.ask("ci", "Suspend");
  await world.ask("ci", "Skip", {}, { name: "settles-labels" });
  const { resourceVersion } = (await world.target("ci")).metadata;
  expect(await world.ask("ci", "Suspend")).toMatchObject({ message: "WorkflowRun ci was suspended before" });
  expect((await world.target("ci")).metadata.resourceVersion).toBe(resourceVersion);
});

test("a bare Resume with nothing to resume fails, and so does one with a selector that matches no gate", async () => {
  await world.run("ci", chain);
  expect(await world.ask("ci", "Resume")).toMatchObject({ phase: "Failed", reason: "NothingToResume" });
  const selected = { resume: { nodeFieldSelector: "name=a/one" } };
  expect(await world.ask("ci", "Resume", selected)).toMatchObject({ phase: "Failed", reason: "NothingToResume" });
  const broken = { resume: { nodeFieldSelector: "name~a" } };
  expect(await world.ask("ci", "Resume", broken)).toMatchObject({ reason: "InvalidNodeFieldSelector" });
});

test("what ends while it is suspended completes after Resume; until then it is shown as suspended", async () => {
  await world.run("ci", { a: job(["one"]) });
  await world.ask("ci", "Suspend");
  await world.finish("ci", "a", "one");
  expect(await world.status("ci")).toMatchObject({ phase: "Suspended", progress: "1/1" });
  await world.ask("ci", "Resume");
  expect(await world.status("ci")).toMatchObject({ phase: "Succeeded" });
});

test("deadlines keep counting while it is suspended and fire on time", async () => {
  await world.run("ci", chain, { timeout: "30s" });
  await world.ask("ci", "Suspend");
  await world.plane.elapse(29_000);
  expect(await world.status("ci")).toMatchObject({ phase: "Suspended" });
  await world.plane.elapse(1000);
  expect(await world.status("ci")).toMatchObject({ phase: "Stopping", reason: "TimedOut", suspended: true });
  await world.finish("ci", "a", "one", "Cancelled");
  expect(await world.status("ci")).toMatchObject({ phase: "Failed", reason: "TimedOut" });
  expect(await world.ask("ci", "Resume")).toMatchObject({ reason: "WorkflowCompleted" });
});

test("shutdown beats suspension, and the mark stays as it was", async () => {
  await world.run("ci", chain);
  await world.ask("ci", "Suspend");
  await world.ask("ci", "Stop");
  expect(await world.status("ci")).toMatchObject({ phase: "Stopping", suspended: true, reason: "Stopped" });
  expect(await world.ask("ci", "Resume")).toMatchObject({ phase: "Succeeded" });
  expect(await world.ask("ci", "Resume")).toMatchObject({ phase: "Failed", reason: "NothingToResume" });
  expect(await world.ask("ci", "Suspend")).toMatchObject({ phase: "Succeeded" });
  await world.finish("ci", "a", "one", "Cancelled");
  expect(await world.status("ci")).toMatchObject({ phase: "Failed", reason: "Stopped", suspended: true });
});

test("spec.suspend starts a run suspended, once: after a Resume it means nothing", async () => {
  await world.run("ci", chain, { suspend: true });
  expect(await world.status("ci")).toMatchObject({ phase: "Suspended", suspended: true, observedSpecSuspend: true });
  expect(await phases()).toEqual(["a Waiting", "b Waiting"]);
  await world.ask("ci", "Resume");
  expect(await world.status("ci")).toMatchObject({ phase: "Running" });
  await world.plane.elapse(60_000);
  expect(await world.status("ci")).toMatchObject({ phase: "Running" });
  // To start suspended is not deprecated.
  expect(world.said.filter(({ reason }) => reason === "DeprecatedField")).toEqual([]);
});

test("an action that comes before the first pass finds the run as spec.suspend wants it", async () => {
  world.plane.api.faults.onWatchEvent = () => ({ delayMs: 100 });
  await world.run("ci", chain, { suspend: true });
  await world.create("ci", "Resume", {}, { name: "go" });
  await world.plane.elapse(1000);
  expect((await world.action("go")).status).toMatchObject({ phase: "Succeeded" });
  expect(await world.status("ci")).toMatchObject({ phase: "Running", observedSpecSuspend: true });
});

test("changes of spec.suspend are obeyed as the deprecated way, with a warning and a count", async () => {
  await world.run("ci", chain);
  await world.change("ci", { suspend: true });
  expect(await world.status("ci")).toMatchObject({ phase: "Suspended", observedSpecSuspend: true });
  await world.change("ci", { suspend: false });
  expect(await world.status("ci")).toMatchObject({ phase: "Running", observedSpecSuspend: false });
  const warned = world.said.filter(({ reason }) => reason === "DeprecatedField");
  expect(warned).toHaveLength(2);
  expect(warned[0]).toMatchObject({
    kind: "WorkflowRun",
    type: "Warning",
    message: /WorkflowAction with Suspend or Resume/,
  });
  expect(world.tally.metrics("k_").at(-1)?.samples).toEqual([{ labels: { field: "spec.suspend" }, value: 2 }]);
});

test("it is the change of spec.suspend that counts: an action after it is not undone", async () => {
  await world.run("ci", chain);
  await world.change("ci", { suspend: true });
  await world.ask("ci", "Resume");
  await world.finish("ci", "a", "one");
  expect(await world.status("ci")).toMatchObject({ phase: "Running", observedSpecSuspend: true });
  await world.change("ci", { suspend: false });
  expect(await world.status("ci")).toMatchObject({ phase: "Running", observedSpecSuspend: false });
});

test.each([
  ["Stop", "Stopped"],
  ["Terminate", "Terminated"],
] as const)("spec.shutdown: %s does what the action does, and never makes it milder", async (shutdown, reason) => {
  await world.run("ci", chain);
  await world.change("ci", { shutdown });
  expect(await world.status("ci")).toMatchObject({
    phase: "Stopping",
    shutdown,
    observedSpecShutdown: shutdown,
    reason,
  });
  expect(world.said.filter((said) => said.reason === "DeprecatedField")).toHaveLength(1);
  await world.run("other", chain);
  await world.ask("other", "Terminate");
  await world.change("other", { shutdown });
  expect(await world.status("other")).toMatchObject({ shutdown: "Terminate", reason: "Terminated" });
});

test("a setting makes the deprecated fields mean nothing; to start suspended still works", async () => {
  world.stop();
  world = await new ActionWorld().start({ deprecatedFields: "ignore" });
  await world.run("ci", chain);
  await world.change("ci", { suspend: true });
  await world.change("ci", { shutdown: "Terminate" });
  expect(await world.status("ci")).toMatchObject({ phase: "Running" });
  await world.run("other", chain, { suspend: true });
  expect(await world.status("other")).toMatchObject({ phase: "Suspended" });
  await world.change("other", { suspend: false });
  expect(await world.status("other")).toMatchObject({ phase: "Suspended" });
  expect(world.said.filter(({ reason }) => reason === "DeprecatedField")).toEqual([]);
});

test("actions of one moment are applied in the order of their age, then of their names", async () => {
  await world.run("ci", chain);
  world.plane.api.faults.onWatchEvent = () => ({ delayMs: 100 });
  for (const [name, action] of [
    ["b-resume", "Resume"],
    ["a-suspend", "Suspend"],
  ] as const) {
    await world.create("ci", action, {}, { name });
  }
  await world.plane.elapse(1000);
  // Of one second: by name, so Suspend comes first.
  expect((await world.action("b-resume")).status).toMatchObject({ phase: "Succeeded" });
  expect(await world.status("ci")).toMatchObject({ phase: "Running" });
});

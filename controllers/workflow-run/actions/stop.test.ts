import { afterEach, beforeEach, expect, test } from "vitest";
import { workflowRuns } from "#api/resources.ts";
import { ActionWorld, job, namespace } from "#test/support/action-world.ts";

let world: ActionWorld;
beforeEach(async () => {
  world = await new ActionWorld().start();
});
afterEach(() => world.stop());

const chain = { a: job(["one"]), b: job(["two"], { needs: ["a"] }) };

test.each([
  ["Stop", "Stopped", "stopped"],
  ["Terminate", "Terminated", "terminated"],
])("%s asks what runs to end, and the run has ended when that has", async (action, reason, word) => {
  await world.run("ci", chain);
  const answer = await world.ask("ci", action, action === "Stop" ? { stop: { message: "wrong branch" } } : {});
  expect(answer).toMatchObject({
    phase: "Succeeded",
    reason: "ActionApplied",
    message: `WorkflowRun ci is ${word}`,
    completionTime: expect.any(String),
  });
  const stopping = await world.status("ci");
  expect(stopping).toMatchObject({ phase: "Stopping", shutdown: action, reason });
  expect(stopping.message).toMatch(
    action === "Stop" ? /^stopped by WorkflowAction stop-.*: wrong branch$/ : /^terminated/,
  );
  expect(stopping.jobs?.a?.phase).toBe("Stopping");
  const child = await world.child("ci", "a", "one");
  expect(child?.spec.termination).toMatchObject({ mode: "Immediate", message: stopping.message });
  await world.finish("ci", "a", "one", "Cancelled");
  const ended = await world.status("ci");
  expect(ended).toMatchObject({ phase: "Failed", reason, shutdown: action, completionTime: expect.any(String) });
  // Never started is not the same as failed.
  expect(ended.jobs?.a).toMatchObject({ phase: "Cancelled", reason });
  expect(ended.jobs?.b).toMatchObject({ phase: "Skipped", reason });
  expect(ended.appliedActions).toBeUndefined();
});

test("what ends well before it could be ended counts, and the run is stopped all the same", async () => {
  await world.run("ci", { a: job(["one"]) });
  await world.ask("ci", "Stop");
  await world.finish("ci", "a", "one", "Succeeded");
  const ended = await world.status("ci");
  expect(ended).toMatchObject({ phase: "Failed", reason: "Stopped" });
  expect(ended.jobs?.a?.steps?.[0]?.phase).toBe("Succeeded");
});

test("severity never falls: Stop after Terminate changes nothing, Terminate after Stop does", async () => {
  await world.run("ci", chain);
  await world.ask("ci", "Terminate");
  const before = await world.target("ci");
  expect(await world.ask("ci", "Stop")).toMatchObject({
    phase: "Succeeded",
    message: "WorkflowRun ci had been terminated before",
  });
  expect((await world.target("ci")).status).toEqual(before.status);
  await world.run("other", chain);
  await world.ask("other", "Stop");
  expect(await world.ask("other", "Terminate")).toMatchObject({ phase: "Succeeded" });
  expect(await world.status("other")).toMatchObject({ shutdown: "Terminate", reason: "Terminated" });
});

test("a repeat succeeds and writes nothing to the run", async () => {
  await world.run("ci", chain);
  await world.ask("ci", "Stop", {}, { name: "first" });
  const { resourceVersion } = (await world.target("ci")).metadata;
  expect(await world.ask("ci", "Stop", {}, { name: "second" })).toMatchObject({ phase: "Succeeded" });
  expect((await world.target("ci")).metadata.resourceVersion).toBe(resourceVersion);
});

test("no WorkflowRun of that name, and one of another uid, are not found", async () => {
  const missing = await world.ask("ci", "Stop");
  expect(missing).toMatchObject({ phase: "Failed", reason: "WorkflowNotFound" });
  expect(missing.message).toBe("there is no WorkflowRun ci in this namespace");
  const { metadata } = await world.run("ci", chain);
  const other = await world.ask("ci", "Stop", { workflowRef: { name: "ci", uid: "other" } });
  expect(other).toMatchObject({ phase: "Failed", reason: "WorkflowNotFound" });
  expect(other.message).toMatch(/has the uid .*, not other/);
  expect(await world.status("ci")).toMatchObject({ phase: "Running" });
  expect(await world.ask("ci", "Stop", { workflowRef: { name: "ci", uid: metadata.uid ?? "" } })).toMatchObject({
    phase: "Succeeded",
  });
});

test.each(["Stop", "Terminate"])(
  "%s of a run that has ended fails, and leaves the run byte for byte as it was",
  async (action) => {
    await world.run("good", { a: job(["one"]) });
    await world.finish("good", "a", "one");
    await world.run("bad", { a: job(["one"], { needs: ["a"] }) });
    for (const name of ["good", "bad"]) {
      const before = JSON.stringify(await world.target(name));
      const answer = await world.ask(name, action);
      expect(answer).toMatchObject({ phase: "Failed", reason: "WorkflowCompleted" });
      expect(answer.message).toContain(`WorkflowRun ${name} has ended as ${name === "good" ? "Succeeded" : "Failed"}`);
      expect(JSON.stringify(await world.target(name))).toBe(before);
    }
  },
);

test("an action that nobody knows is refused, whatever the run does", async () => {
  await world.run("ci", chain);
  expect(await world.ask("ci", "Skip")).toMatchObject({
    phase: "Failed",
    reason: "UnsupportedAction",
    message: "this controller does not know the action Skip",
  });
  const { message } = await world.ask("ci", "RESUME");
  expect(message).toBe("this controller does not know the action RESUME; did you mean Resume?");
});

test("a selector that cannot be read, or matches no gate, changes nothing", async () => {
  await world.run("ci", chain);
  const before = JSON.stringify(await world.target("ci"));
  expect(await world.ask("ci", "Stop", { stop: { nodeFieldSelector: "nmae=a" } })).toMatchObject({
    phase: "Failed",
    reason: "InvalidNodeFieldSelector",
  });
  expect(await world.ask("ci", "Stop", { stop: { nodeFieldSelector: "name=a/one" } })).toMatchObject({
    phase: "Failed",
    reason: "NothingToStop",
  });
  expect(JSON.stringify(await world.target("ci"))).toBe(before);
});

test("a run whose templates cannot be read at the moment can be stopped", async () => {
  world.plane.api.faults.onRequest = ({ resource }) =>
    resource.startsWith("controllerrevisions") ? { kind: "internal" } : undefined;
  await world.plane.create(workflowRuns, { metadata: { name: "ci", namespace }, spec: { workflowRef: { name: "w" } } });
  await world.plane.settle();
  expect(await world.status("ci")).toMatchObject({ phase: "Pending" });
  expect(await world.ask("ci", "Stop")).toMatchObject({ phase: "Succeeded" });
  expect(await world.status("ci")).toMatchObject({ phase: "Failed", reason: "Stopped" });
});

test("the run says who acted last, and an action of nobody takes the name away", async () => {
  await world.run("ci", chain);
  const creator = "alice@example.com/with a very long name that no label of Kubernetes can hold as it is";
  await world.ask("ci", "Stop", {}, { annotations: { "workflows.kruntimes.io/creator": creator } });
  const { labels, annotations } = (await world.target("ci")).metadata;
  expect(labels).toMatchObject({ "workflows.kruntimes.io/action": "Stop" });
  expect(labels?.["workflows.kruntimes.io/actor"]).toMatch(/^alice_?.example.com/);
  expect(annotations?.["workflows.kruntimes.io/actor"]).toBe(creator);
  await world.ask("ci", "Terminate");
  const { metadata } = await world.target("ci");
  expect(metadata.labels).toEqual({ "workflows.kruntimes.io/action": "Terminate" });
  expect(metadata.annotations ?? {}).toEqual({});
});

test("both objects have Events, and every action is counted by its outcome", async () => {
  await world.run("ci", chain);
  await world.ask("ci", "Stop");
  await world.ask("ci", "Skip");
  expect(world.said.map(({ kind, type, reason }) => `${kind} ${type} ${reason}`)).toEqual([
    "WorkflowRun Normal WorkflowActionApplied",
    "WorkflowAction Normal WorkflowActionSucceeded",
    "WorkflowAction Warning WorkflowActionFailed",
  ]);
  await world.finish("ci", "a", "one", "Cancelled");
  expect(world.said.at(-1)).toMatchObject({ kind: "WorkflowRun", type: "Normal", reason: "Stopped" });
  const [counted] = world.tally.metrics("k_");
  expect(counted?.samples).toEqual([
    { labels: { action: "Stop", outcome: "Succeeded" }, value: 1 },
    { labels: { action: "Other", outcome: "UnsupportedAction" }, value: 1 },
  ]);
});

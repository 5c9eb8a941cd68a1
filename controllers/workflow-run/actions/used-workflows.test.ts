/** Actions on runs that are jobs of one another: a job with `uses` is a WorkflowRun of its own. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { JobSpec } from "#api/kinds/job.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { workflowRuns, workflows } from "#api/resources.ts";
import { ActionWorld, job, namespace } from "#test/support/action-world.ts";

let world: ActionWorld;
beforeEach(async () => {
  world = await new ActionWorld().start();
});
afterEach(() => world.stop());

const gate: JobSpec = { "runs-on": "bash", steps: [{ name: "approve", suspend: {} }] };

/** A run `outer` whose job `call` uses `middle`, whose job `call` uses `inner`, whose jobs are these. */
async function nested(inner: Record<string, JobSpec>): Promise<{ middle: string; inner: string }> {
  await template("inner", inner);
  await template("middle", { call: { uses: "inner" } });
  await world.run("outer", { call: { uses: "middle" }, own: job(["one"]) });
  const middle = await calledBy("outer");
  return { middle, inner: await calledBy(middle) };
}

const template = (name: string, jobs: Record<string, JobSpec>) =>
  world.plane.create(workflows, { metadata: { name, namespace }, spec: { jobs } });

/** The run of the job `call`, once it has begun. */
async function calledBy(name: string): Promise<string> {
  let found: WorkflowRun | undefined;
  await world.plane.until(async () => {
    const called = (await world.status(name)).jobs?.call?.workflowRunName;
    found = called === undefined ? undefined : await world.plane.find(workflowRuns, called);
    return found?.status?.jobs !== undefined;
  });
  return found?.metadata.name ?? "";
}

const steps = async (name: string, id = "a") => (await world.status(name)).jobs?.[id]?.steps?.map(({ phase }) => phase);

test("nothing begins anywhere below a run that is suspended, and all of it goes on when that is resumed", async () => {
  const { inner } = await nested({ a: job(["one", "two"]), b: job(["three"]), c: job(["four"], { needs: ["b"] }) });
  await world.ask("outer", "Suspend");
  await world.finish(inner, "a", "one");
  await world.finish(inner, "b", "three");
  await world.plane.elapse(60_000);
  expect(await steps(inner)).toEqual(["Succeeded", "Waiting"]);
  expect((await world.status(inner)).jobs?.c?.phase).toBe("Waiting");
  expect(await world.ask("outer", "Resume")).toMatchObject({ phase: "Succeeded" });
  expect(await steps(inner)).toEqual(["Succeeded", "Running"]);
  expect((await world.status(inner)).jobs?.c?.phase).toBe("Running");
});

test("a gate below does not begin to wait while a run above is suspended", async () => {
  const { inner } = await nested({ a: job(["one"]), deploy: { ...gate, needs: ["a"] } });
  await world.ask("outer", "Suspend");
  await world.finish(inner, "a", "one");
  expect((await world.status(inner)).jobs?.deploy?.phase).toBe("Waiting");
  await world.ask("outer", "Resume");
  expect((await world.status(inner)).jobs?.deploy?.phase).toBe("Suspended");
});

test("what was suspended by itself is not resumed by a Resume above", async () => {
  const { middle, inner } = await nested({ a: job(["one", "two"]) });
  await world.ask(middle, "Suspend");
  await world.ask("outer", "Suspend");
  await world.finish(inner, "a", "one");
  await world.ask("outer", "Resume");
  expect(await world.status(middle)).toMatchObject({ phase: "Suspended", suspended: true });
  expect(await steps(inner)).toEqual(["Succeeded", "Waiting"]);
  await world.ask(middle, "Resume");
  expect(await steps(inner)).toEqual(["Succeeded", "Running"]);
});

test("a Resume where a run above is suspended says what it waits for", async () => {
  const { middle, inner } = await nested({ a: job(["one", "two"]) });
  await world.ask(inner, "Suspend");
  await world.ask("outer", "Suspend");
  expect(await world.ask(inner, "Resume")).toMatchObject({
    phase: "Succeeded",
    message: `WorkflowRun ${inner} goes on when WorkflowRun outer is resumed, too`,
  });
  await world.finish(inner, "a", "one");
  expect(await steps(inner)).toEqual(["Succeeded", "Waiting"]);
  for (const name of [inner, middle]) {
    const answer = await world.ask(name, "Resume");
    expect(answer).toMatchObject({ phase: "Failed", reason: "NothingToResume" });
    expect(answer.message).toContain("it waits because WorkflowRun outer is suspended: resume that");
  }
});

test("a bare Resume opens gates of its own run only, and names the runs below that have some", async () => {
  const { middle, inner } = await nested({ deploy: gate });
  const answer = await world.ask("outer", "Resume");
  expect(answer).toMatchObject({ phase: "Failed", reason: "NothingToResume" });
  expect(answer.message).toContain(`WorkflowRun ${inner}, which is part of it, waits: resume that`);
  expect(answer.message).not.toContain(`${middle},`);
  const selected = await world.ask("outer", "Resume", { resume: { nodeFieldSelector: "step=approve" } });
  expect(selected.message).toContain(`WorkflowRun ${inner}, which is part of it, waits: resume that`);
  await world.ask("outer", "Suspend");
  expect(await world.ask("outer", "Resume")).toMatchObject({ phase: "Succeeded" });
  expect((await world.status(inner)).jobs?.deploy?.phase).toBe("Suspended");
  expect(await world.ask(inner, "Resume")).toMatchObject({ phase: "Succeeded", message: "resumed deploy/approve" });
  await world.plane.settle();
  expect((await world.status("outer")).jobs?.call?.phase).toBe("Succeeded");
});

test("of many runs below that wait a few are named", async () => {
  await template("gated", { deploy: gate });
  await world.run("wide", { call: { uses: "gated", strategy: { matrix: { n: [1, 2, 3, 4, 5, 6, 7] } } } });
  await world.plane.elapse(5000);
  const { message = "" } = await world.ask("wide", "Resume");
  expect(message).toMatch(/; WorkflowRuns (wide-call-\S+ ){5}and 2 more, which are parts of it, wait: resume those$/);
});

test("a run that ends is not said to wait for one above", async () => {
  const { inner } = await nested({ a: job(["one"]) });
  await world.ask("outer", "Suspend");
  await world.ask(inner, "Suspend");
  await world.ask(inner, "Stop");
  expect(await world.ask(inner, "Resume")).toMatchObject({
    phase: "Succeeded",
    message: `WorkflowRun ${inner} is not suspended any more, and ends all the same`,
  });
  const { message } = await world.ask(inner, "Resume");
  expect(message).toBe(`WorkflowRun ${inner} is not suspended and has no gate that waits; it is Stopping`);
});

test("a gate below can be opened while a run above is suspended, and what is behind it waits", async () => {
  const behind: JobSpec = { ...gate, steps: [...(gate.steps ?? []), { name: "go", run: "true" }] };
  const { inner } = await nested({ a: behind });
  await world.ask("outer", "Suspend");
  expect(await world.ask(inner, "Resume")).toMatchObject({ phase: "Succeeded", message: "resumed a/approve" });
  expect(await steps(inner)).toEqual(["Succeeded", "Waiting"]);
  await world.ask("outer", "Resume");
  expect(await steps(inner)).toEqual(["Succeeded", "Running"]);
});

test("a clean-up that uses a Workflow runs although the run was suspended when it was stopped", async () => {
  await template("clean", { x: job(["sweep"]) });
  await world.run("outer", { a: job(["one"]), call: { uses: "clean", needs: ["a"], if: "always()" } });
  await world.ask("outer", "Suspend");
  await world.ask("outer", "Stop");
  await world.finish("outer", "a", "one", "Cancelled");
  const clean = await calledBy("outer");
  await world.finish(clean, "x", "sweep");
  await world.plane.settle();
  expect(await world.status("outer")).toMatchObject({ phase: "Failed", reason: "Stopped", suspended: true });
  expect((await world.status("outer")).jobs?.call?.phase).toBe("Succeeded");
});

test("a run that is stopped cleans up and ends although a run above is suspended", async () => {
  const { inner } = await nested({ a: job(["one"]), x: job(["sweep"], { needs: ["a"], if: "always()" }) });
  await world.ask("outer", "Suspend");
  await world.ask(inner, "Stop");
  await world.finish(inner, "a", "one", "Cancelled");
  await world.finish(inner, "x", "sweep");
  expect(await world.status(inner)).toMatchObject({ phase: "Failed", reason: "Stopped" });
});

test.each(["Stop", "Terminate"])("%s of a run that is suspended ends all that is below it", async (action) => {
  const { middle, inner } = await nested({ a: job(["one"]), b: job(["two"], { needs: ["a"] }) });
  await world.ask("outer", "Suspend");
  await world.ask("outer", action);
  expect((await world.child(inner, "a", "one"))?.spec.termination).toMatchObject({ mode: "Immediate" });
  await world.finish("outer", "own", "one", "Cancelled");
  expect(await world.status("outer")).toMatchObject({ phase: "Stopping" });
  await world.finish(inner, "a", "one", "Cancelled");
  const reason = action === "Stop" ? "Stopped" : "Terminated";
  for (const name of [inner, middle, "outer"]) {
    expect(await world.status(name)).toMatchObject({ phase: "Failed", reason, shutdown: action });
  }
});

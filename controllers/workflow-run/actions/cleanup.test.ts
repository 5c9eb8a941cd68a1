import { afterEach, beforeEach, expect, test } from "vitest";
import type { JobSpec } from "#api/kinds/job.ts";
import { persistentWorkspaces } from "#api/resources.ts";
import { ActionWorld, job, namespace, step } from "#test/support/action-world.ts";

let world: ActionWorld;
beforeEach(async () => {
  world = await new ActionWorld().start();
});
afterEach(() => world.stop());

/** A job at work, one behind it, and one that cleans up. */
const withExit = (condition: string): Record<string, JobSpec> => ({
  a: job(["one"]),
  b: job(["two"], { needs: ["a"] }),
  x: job(["clean"], { needs: ["a"], if: condition }),
});
const phases = async () =>
  Object.entries((await world.status("ci")).jobs ?? {}).map(([id, { phase }]) => `${id} ${phase}`);

test.each(["always()", "cancelled()"])(
  "Stop lets a job with `if: %s` run, and the run ends when that has",
  async (condition) => {
    await world.run("ci", withExit(condition));
    await world.ask("ci", "Stop");
    expect(await phases()).toEqual(["a Stopping", "b Skipped", "x Waiting"]);
    await world.finish("ci", "a", "one", "Cancelled");
    expect(await phases()).toEqual(["a Cancelled", "b Skipped", "x Running"]);
    expect(await world.status("ci")).toMatchObject({ phase: "Stopping", reason: "Stopped" });
    await world.finish("ci", "x", "clean");
    expect(await phases()).toEqual(["a Cancelled", "b Skipped", "x Succeeded"]);
    expect(await world.status("ci")).toMatchObject({ phase: "Failed", reason: "Stopped" });
  },
);

test("Terminate does not, and a Terminate while it runs ends it", async () => {
  await world.run("ci", withExit("always()"));
  await world.ask("ci", "Terminate");
  await world.finish("ci", "a", "one", "Cancelled");
  expect(await phases()).toEqual(["a Cancelled", "b Skipped", "x Skipped"]);
  expect(await world.status("ci")).toMatchObject({ phase: "Failed", reason: "Terminated" });
  world.stop();
  world = await new ActionWorld().start();
  await world.run("ci", withExit("always()"));
  await world.ask("ci", "Stop");
  await world.finish("ci", "a", "one", "Cancelled");
  await world.ask("ci", "Terminate");
  expect((await world.child("ci", "x", "clean"))?.spec.termination).toMatchObject({ mode: "Immediate" });
  await world.finish("ci", "x", "clean", "Cancelled");
  expect(await world.status("ci")).toMatchObject({ phase: "Failed", reason: "Terminated", shutdown: "Terminate" });
});

test("a clean-up of several steps runs all of them, also of a suspended run", async () => {
  await world.run("ci", { a: job(["one"]), x: job(["first", "second"], { needs: ["a"], if: "always()" }) });
  await world.ask("ci", "Suspend");
  await world.ask("ci", "Stop");
  await world.finish("ci", "a", "one", "Cancelled");
  await world.finish("ci", "x", "first");
  await world.finish("ci", "x", "second");
  expect(await world.status("ci")).toMatchObject({ phase: "Failed", reason: "Stopped" });
  expect((await world.status("ci")).jobs?.x?.phase).toBe("Succeeded");
});

test("a run that is stopped before anything is at work still cleans up; one without clean-up ends at once", async () => {
  await world.run("ci", { a: job(["one"]), x: job(["clean"], { needs: ["a"], if: "always()" }) }, { suspend: true });
  await world.ask("ci", "Stop");
  expect(await phases()).toEqual(["a Skipped", "x Running"]);
  await world.run("other", { a: job(["one"]) }, { suspend: true });
  expect(await world.ask("other", "Stop")).toMatchObject({ phase: "Succeeded" });
  expect(await world.status("other")).toMatchObject({ phase: "Failed", reason: "Stopped" });
});

test("after a clean-up that failed, Retry runs it again and keeps what succeeded", async () => {
  await world.run("ci", { a: job(["one"]), x: job(["clean"], { needs: ["a"], if: "always()" }) });
  await world.finish("ci", "a", "one");
  await world.finish("ci", "x", "clean", "Failed");
  await world.ask("ci", "Retry");
  expect(await phases()).toEqual(["a Succeeded", "x Running"]);
  await world.finish("ci", "x", "clean");
  expect(await world.status("ci")).toMatchObject({ phase: "Succeeded", attempt: 2 });
});

test("the timeout of the run goes on while it cleans up, and ends that, too", async () => {
  await world.run("ci", withExit("always()"), { timeout: "1m" });
  await world.ask("ci", "Stop");
  await world.finish("ci", "a", "one", "Cancelled");
  expect(await phases()).toEqual(["a Cancelled", "b Skipped", "x Running"]);
  await world.plane.elapse(59_000);
  expect(await world.status("ci")).toMatchObject({ phase: "Stopping", reason: "Stopped" });
  await world.plane.elapse(1000);
  expect(await world.status("ci")).toMatchObject({ phase: "Stopping", reason: "TimedOut", shutdown: "Stop" });
  expect((await world.child("ci", "x", "clean"))?.spec.termination).toMatchObject({ mode: "Immediate" });
  await world.finish("ci", "x", "clean", "Cancelled");
  const { phase, reason, message } = await world.status("ci");
  expect([phase, reason, message]).toEqual(["Failed", "TimedOut", "the run took longer than 1m"]);
});

test("what cleans up and waits for a place for its files says so", async () => {
  await world.run("ci", { x: job(["clean"], { if: "always()", "runs-on": "absent" }) }, { suspend: true });
  await world.ask("ci", "Stop");
  const workspaces = await world.plane.client.of(persistentWorkspaces).list({ namespace });
  const [workspace] = workspaces.items;
  if (workspace === undefined) throw new Error("the job has no workspace");
  const waiting = { phase: "Pending", reason: "RuntimeNotFound", message: "there is no Runtime absent" } as const;
  await world.plane.client.of(persistentWorkspaces).update({ ...workspace, status: waiting }, "status");
  await world.plane.settle();
  const { phase, conditions } = await world.status("ci");
  expect(phase).toBe("Stopping");
  expect(conditions).toContainEqual(
    expect.objectContaining({
      type: "WorkspaceReady",
      status: "False",
      message: "job x waits for a place for its files: there is no Runtime absent",
    }),
  );
});

test("what a step wrote before it was ended reaches what cleans up, and no attempt after it", async () => {
  const vm = { outputs: { vm: "${{ steps.one.outputs.vm }}" } };
  const clean = { ...step("clean"), env: { VM: "${{ needs.a.outputs.vm }}" } };
  const remove = { "runs-on": "bash", needs: ["a"], if: "always()", steps: [clean] };
  await world.run("ci", { a: job(["one"], vm), x: remove });
  await world.ask("ci", "Stop");
  await world.finish("ci", "a", "one", "Cancelled", { outputs: { vm: "vm-7" } });
  expect((await world.status("ci")).jobs?.a).toMatchObject({ phase: "Cancelled", outputs: { vm: "vm-7" } });
  expect((await world.child("ci", "x", "clean"))?.spec.env).toContainEqual({ name: "VM", value: "vm-7" });
  await world.finish("ci", "x", "clean");
  await world.ask("ci", "Retry");
  expect(await phases()).toEqual(["a Running", "x Waiting"]);
  expect(JSON.stringify((await world.status("ci")).jobs)).not.toContain("vm-7");
});

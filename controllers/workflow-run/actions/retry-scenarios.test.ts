/** What other engines have got wrong in retries, one after the other. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { JobSpec } from "#api/kinds/job.ts";
import type { WorkflowRunStatus } from "#api/kinds/workflow-run.ts";
import { runs, workflowRuns, workflows } from "#api/resources.ts";
import { controllerRevisions } from "#kube/builtin.ts";
import type { FaultRequest } from "#local/apiserver/index.ts";
import { ActionWorld, job, namespace } from "#test/support/action-world.ts";

let world: ActionWorld;
beforeEach(async () => {
  world = await new ActionWorld().start();
});
afterEach(() => world.stop());

const jobs = async (name = "ci") => (await world.status(name)).jobs ?? {};
const phases = async (name = "ci") =>
  Object.entries(await jobs(name)).map(([id, { phase, attempt }]) => `${id} ${phase} ${attempt ?? 0}`);
const fan = (n: readonly unknown[], more: object = {}) => ({ strategy: { matrix: { n }, ...more } });

const diamond: Record<string, JobSpec> = {
  a: job(["one"]),
  b: job(["one"], { needs: ["a"] }),
  c: job(["one"], { needs: ["a"] }),
  d: job(["one"], { needs: ["b", "c"] }),
};

test("stopped while one branch runs: the other is kept, and what comes behind both runs", async () => {
  await world.run("ci", diamond);
  await world.finish("ci", "a", "one");
  await world.finish("ci", "b", "one");
  await world.ask("ci", "Stop");
  await world.finish("ci", "c", "one", "Cancelled");
  const before = await jobs();
  expect(await world.ask("ci", "Retry")).toMatchObject({ message: "WorkflowRun ci goes on: 2 jobs run again" });
  const after = await jobs();
  expect(JSON.stringify([after.a, after.b])).toBe(JSON.stringify([before.a, before.b]));
  expect(await phases()).toEqual(["a Succeeded 1", "b Succeeded 1", "c Running 2", "d Waiting 0"]);
  await world.finish("ci", "c", "one");
  await world.finish("ci", "d", "one");
  expect(await world.status("ci")).toMatchObject({ phase: "Succeeded" });
});

test("stopped, retried and stopped again and again: the graph stays whole, and the run ends well when its jobs do", async () => {
  await world.run("ci", diamond);
  await world.finish("ci", "a", "one");
  for (let round = 1; round < 4; round++) {
    await world.ask("ci", "Stop");
    await world.finish("ci", "b", "one", "Cancelled");
    await world.finish("ci", "c", "one", "Cancelled");
    expect(await world.status("ci")).toMatchObject({ phase: "Failed", reason: "Stopped", attempt: round });
    await world.ask("ci", "Retry");
    expect(Object.keys(await jobs())).toEqual(["a", "b", "c", "d"]);
  }
  for (const id of ["b", "c", "d"]) await world.finish("ci", id, "one");
  expect(await phases()).toEqual(["a Succeeded 1", "b Succeeded 4", "c Succeeded 4", "d Succeeded 1"]);
  expect(await world.status("ci")).toMatchObject({ phase: "Succeeded", attempt: 4 });
});

test("a job behind a matrix fails: twenty copies reset the same jobs, and each ends well", async () => {
  const spec: Record<string, JobSpec> = {
    a: job(["one"]),
    b: job(["one"], { needs: ["a"] }),
    m: job(["one"], { needs: ["a"], ...fan([1, 2]) }),
    d: job(["one"], { needs: ["b", "m"] }),
  };
  const sets = new Set<string>();
  for (let n = 0; n < 20; n++) {
    // The order in which a map is written must not matter.
    const entries = Object.entries(spec);
    const turned = Object.fromEntries([...entries.slice(n % 4), ...entries.slice(0, n % 4)]);
    const name = `ci-${n}`;
    await world.run(name, turned);
    await world.finish(name, "a", "one");
    for (const id of ["b", "m.0", "m.1"]) await world.finish(name, id, "one");
    await world.finish(name, "d", "one", "Failed");
    await world.ask(name, "Retry");
    sets.add((await phases(name)).sort().join());
    await world.finish(name, "d", "one");
    expect(await world.status(name)).toMatchObject({ phase: "Succeeded" });
  }
  expect([...sets]).toEqual(["a Succeeded 1,b Succeeded 1,d Running 2,m Succeeded 0,m.0 Succeeded 1,m.1 Succeeded 1"]);
});

test("a matrix of jobs with retries of their own: a second Retry finds no group that nothing will end, and they count anew", async () => {
  await world.run("ci", { m: job(["one"], { ...fan([1, 2], { "fail-fast": false }), retry: { attempts: 2 } }) });
  const failTwice = async () => {
    await world.finish("ci", "m.1", "one", "Failed");
    await world.plane.elapse(60_000);
    await world.finish("ci", "m.1", "one", "Failed");
  };
  await world.finish("ci", "m.0", "one");
  await failTwice();
  expect(await world.status("ci")).toMatchObject({ phase: "Failed" });
  await world.ask("ci", "Retry");
  await failTwice();
  expect(await phases()).toEqual(["m Failed 3", "m.0 Succeeded 1", "m.1 Failed 4"]);
  await world.ask("ci", "Retry");
  await world.finish("ci", "m.1", "one");
  expect(await phases()).toEqual(["m Succeeded 5", "m.0 Succeeded 1", "m.1 Succeeded 5"]);
  expect(await world.status("ci")).toMatchObject({ phase: "Succeeded", progress: "2/2" });
});

const exit: Record<string, JobSpec> = {
  a: job(["one"]),
  x: job(["one"], { needs: ["a"], if: "always()" }),
};

test("only the job that cleans up failed: it runs again, and what it cleans up after is not touched", async () => {
  await world.run("ci", exit);
  await world.finish("ci", "a", "one");
  await world.finish("ci", "x", "one", "Failed");
  const kept = JSON.stringify((await jobs()).a);
  await world.ask("ci", "Retry");
  expect(JSON.stringify((await jobs()).a)).toBe(kept);
  await world.finish("ci", "x", "one");
  expect(await world.status("ci")).toMatchObject({ phase: "Succeeded" });
});

test("a job that cleans up runs with every attempt of the run, also if it had succeeded; a selector may name it", async () => {
  await world.run("ci", exit);
  await world.finish("ci", "a", "one", "Failed");
  await world.finish("ci", "x", "one");
  await world.ask("ci", "Retry");
  await world.finish("ci", "a", "one");
  expect(await phases()).toEqual(["a Succeeded 2", "x Running 2"]);
  await world.finish("ci", "x", "one", "Failed");
  await world.ask("ci", "Retry", { retry: { nodeFieldSelector: "name=x/one" } });
  expect(await phases()).toEqual(["a Succeeded 2", "x Running 3"]);
  await world.finish("ci", "x", "one");
  const again = { nodeFieldSelector: "job=x", restartSuccessful: true };
  await world.ask("ci", "Retry", { retry: again });
  expect(await phases()).toEqual(["a Succeeded 2", "x Running 4"]);
});

test("a run that was out of time gets all of it again, and the TTL counts from its new end", async () => {
  await world.run("ci", { a: job(["one"]) }, { timeout: "5s", ttlSecondsAfterFinished: 60 });
  await world.plane.elapse(5000);
  await world.finish("ci", "a", "one", "Cancelled");
  expect(await world.status("ci")).toMatchObject({ phase: "Failed", reason: "TimedOut" });
  await world.plane.elapse(50_000);
  await world.ask("ci", "Retry");
  await world.plane.elapse(4000);
  expect(await world.status("ci")).toMatchObject({ phase: "Running" });
  await world.finish("ci", "a", "one", "Failed");
  await world.plane.elapse(59_000);
  // The time of the first end is over for long.
  expect(await world.status("ci")).toMatchObject({ phase: "Failed", reason: "JobFailed", attempt: 2 });
  await world.plane.elapse(2000);
  expect(await world.plane.find(workflowRuns, "ci")).toBeUndefined();
});

test("a run that goes on is not deleted when the TTL of its first end is over", async () => {
  await world.run("ci", { a: job(["one"]) }, { ttlSecondsAfterFinished: 60 });
  await world.finish("ci", "a", "one", "Failed");
  await world.plane.elapse(59_000);
  await world.ask("ci", "Retry");
  await world.plane.elapse(600_000);
  expect(await world.status("ci")).toMatchObject({ phase: "Running" });
});

test("nothing of the end before reaches the new attempt", async () => {
  await world.run("ci", { a: job(["one"], { timeout: "20s" }), b: job(["one"], { needs: ["a"] }) }, { suspend: true });
  await world.ask("ci", "Resume");
  await world.plane.elapse(15_000);
  await world.ask("ci", "Suspend");
  await world.ask("ci", "Terminate");
  await world.finish("ci", "a", "one", "Cancelled");
  expect(await world.status("ci")).toMatchObject({ phase: "Failed", reason: "Terminated", suspended: true });
  await world.ask("ci", "Retry");
  await world.plane.elapse(15_000);
  const status = await world.status("ci");
  for (const field of ["shutdown", "suspended", "reason", "message", "completionTime", "outputs"])
    expect(status).not.toHaveProperty(field);
  expect((await world.child("ci", "a", "one"))?.spec.termination).toBeUndefined();
  expect(await phases()).toEqual(["a Running 2", "b Waiting 0"]);
  // Its own time counts from the new start, too.
  await world.plane.elapse(4000);
  expect(await phases()).toEqual(["a Running 2", "b Waiting 0"]);
  await world.plane.elapse(2000);
  expect((await jobs()).a).toMatchObject({ phase: "Stopping", reason: "Timeout" });
});

test("the write that opens the attempts takes the end away and records the action", async () => {
  await world.run("ci", diamond);
  await world.ask("ci", "Terminate");
  await world.finish("ci", "a", "one", "Cancelled");
  const story: WorkflowRunStatus[] = [];
  const limit = new AbortController();
  const events = await world.plane.client.of(workflowRuns).watch({ namespace, signal: limit.signal });
  const watching = (async () => {
    for await (const event of events)
      if (event.type === "MODIFIED" && event.object.status !== undefined) story.push(event.object.status);
  })().catch(() => {});
  await world.ask("ci", "Retry");
  limit.abort();
  await watching;
  const first = story.find(({ attempt }) => attempt === 2);
  expect(first).toMatchObject({
    phase: "Running",
    appliedActions: [{ action: "Retry", outcome: "Succeeded" }],
    jobs: { a: { phase: "Waiting", attempt: 2 } },
  });
  expect(first).not.toHaveProperty("completionTime");
  expect(first).not.toHaveProperty("shutdown");
});

test("the unit is the job: all of its steps run again, and what the steps before have left is history", async () => {
  await world.run("ci", { a: job(["one", "two"]) });
  await world.finish("ci", "a", "one", "Succeeded", { outputs: { x: "old" } });
  await world.finish("ci", "a", "two", "Failed");
  const old = (await jobs()).a?.steps?.map(({ runName }) => runName) ?? [];
  await world.ask("ci", "Retry");
  expect((await jobs()).a?.steps).toMatchObject([{ phase: "Running" }, { phase: "Waiting" }]);
  expect((await jobs()).a?.steps?.[0]).not.toHaveProperty("outputs");
  for (const name of old)
    expect((await world.plane.find(runs, name ?? ""))?.metadata.labels).toMatchObject({
      "workflows.kruntimes.io/job": "a",
      "workflows.kruntimes.io/attempt": "1",
    });
});

test("a run that was stopped although all of its jobs ended well has nothing to run again", async () => {
  await world.run("ci", exit);
  await world.finish("ci", "a", "one");
  await world.ask("ci", "Stop");
  await world.finish("ci", "x", "one");
  expect(await world.status("ci")).toMatchObject({ phase: "Failed", reason: "Stopped" });
  // What cleans up is no reason for a Retry by itself.
  expect(await world.ask("ci", "Retry")).toMatchObject({
    reason: "NothingToRetry",
    message: expect.stringContaining("to run some of them again set restartSuccessful and nodeFieldSelector"),
  });
});

test("a job that was kept by one Retry is kept by the next", async () => {
  await world.run("ci", diamond);
  await world.finish("ci", "a", "one");
  await world.finish("ci", "b", "one");
  await world.finish("ci", "c", "one", "Failed");
  const first = JSON.stringify((await jobs()).a);
  await world.ask("ci", "Retry");
  await world.finish("ci", "c", "one");
  await world.finish("ci", "d", "one", "Failed");
  const second = JSON.stringify((await jobs()).c);
  await world.ask("ci", "Retry");
  await world.finish("ci", "d", "one");
  expect(JSON.stringify((await jobs()).a)).toBe(first);
  expect(JSON.stringify((await jobs()).c)).toBe(second);
  expect(await world.status("ci")).toMatchObject({ phase: "Succeeded", attempt: 3 });
});

test("one of several failed instances that a selector names runs, although fail-fast would end it for the others", async () => {
  await world.run("ci", { m: job(["one"], fan([1, 2, 3], { "max-parallel": 1 })), z: job(["one"], { needs: ["m"] }) });
  await world.finish("ci", "m.0", "one", "Failed");
  expect(await phases()).toEqual(["m Failed 0", "z Skipped 0", "m.0 Failed 1", "m.1 Skipped 1", "m.2 Skipped 1"]);
  await world.ask("ci", "Retry", { retry: { nodeFieldSelector: "name=m.1" } });
  expect((await jobs())["m.1"]).toMatchObject({ phase: "Running" });
  await world.finish("ci", "m.1", "one");
  expect(await world.status("ci")).toMatchObject({ phase: "Failed", reason: "JobFailed" });
  await world.ask("ci", "Retry");
  // What fails in this attempt ends the others as ever.
  await world.finish("ci", "m.0", "one", "Failed");
  expect(await phases()).toMatchObject(expect.arrayContaining(["m.1 Succeeded 2", "m.2 Skipped 3"]));
});

test("whoever retries at once does not wait until everything is tidied up after the end", async () => {
  const { api, clock } = world.plane;
  const isTidying = ({ verb, resource }: FaultRequest) =>
    verb === "patch" && resource.startsWith("persistentworkspaces.");
  let tidied = 0;
  api.faults.onRequest = (request) => {
    if (!isTidying(request)) return undefined;
    tidied++;
    return { kind: "delay", ms: 1000 };
  };
  const n = Array.from({ length: 64 }, (_, index) => index);
  await world.run("ci", { m: job(["one"], fan(n, { "fail-fast": false })) });
  await world.ask("ci", "Terminate");
  for (const index of n) await world.finish("ci", `m.${index}`, "one", "Cancelled");
  await world.plane.until(async () => (await world.status("ci")).phase === "Failed");
  const begun = clock.now();
  const { name } = (await world.create("ci", "Retry")).metadata;
  await world.plane.until(async () => (await world.action(name)).status?.phase === "Succeeded");
  expect(clock.now() - begun).toBeLessThan(2000);
  // It is made up for.
  await world.plane.until(() => tidied >= n.length);
});

test("a run as an earlier version has left it goes on", async () => {
  const time = "2026-01-01T00:00:01.000000Z";
  const ended = { startTime: time, completionTime: time };
  const steps = (phase: "Succeeded" | "Failed", runName: string) => [{ name: "one", phase, runName, ...ended }];
  const failed: WorkflowRunStatus = {
    phase: "Failed",
    reason: "JobFailed",
    message: "job m did not succeed",
    attempt: 2,
    ...ended,
    progress: "3/3",
    jobs: {
      a: { phase: "Succeeded", attempt: 1, steps: steps("Succeeded", "ci-a"), ...ended },
      m: {
        phase: "Failed",
        attempt: 2,
        instances: 2,
        reason: "JobFailed",
        message: "job m.1 did not succeed",
        ...ended,
      },
      "m.0": { phase: "Succeeded", attempt: 1, matrix: { n: 1 }, steps: steps("Succeeded", "ci-m0"), ...ended },
      "m.1": {
        phase: "Failed",
        attempt: 2,
        attempts: [{ number: 1, phase: "Failed", reason: "StepFailed" }],
        matrix: { n: 2 },
        reason: "StepFailed",
        steps: steps("Failed", "ci-m1"),
        ...ended,
      },
    },
  };
  const spec = { jobs: { a: job(["one"]), m: job(["one"], { needs: ["a"], ...fan([1, 2]) }) } };
  const { phase: _phase, reason: _reason, message: _message, completionTime: _time, ...begun } = failed;
  world.stop();
  world = new ActionWorld();
  await world.plane.create(
    workflowRuns,
    { metadata: { name: "ci", namespace }, spec },
    { ...begun, phase: "Running" },
    failed,
  );
  await world.start();
  expect(await world.ask("ci", "Retry")).toMatchObject({ message: "WorkflowRun ci goes on: 1 job runs again" });
  expect(await phases()).toEqual(["a Succeeded 1", "m Running 3", "m.0 Succeeded 1", "m.1 Running 3"]);
  await world.finish("ci", "m.1", "one");
  expect(await world.status("ci")).toMatchObject({ phase: "Succeeded", attempt: 3 });
});

test("a run that is gone is not found, also when another one has its name and the action the uid of the first", async () => {
  const first = await world.run("ci", { a: job(["one"]) });
  const workflowRef = { name: "ci", uid: first.metadata.uid ?? "" };
  await world.plane.client.of(workflowRuns).delete({ name: "ci", namespace });
  await world.plane.settle();
  expect(await world.ask("ci", "Retry", { workflowRef })).toMatchObject({
    phase: "Failed",
    reason: "WorkflowNotFound",
    message: "there is no WorkflowRun ci in this namespace",
  });
  await world.run("ci", { a: job(["one"]) });
  const answer = await world.ask("ci", "Retry", { workflowRef });
  expect(answer).toMatchObject({ phase: "Failed", reason: "WorkflowNotFound" });
  expect(answer.message).toContain(workflowRef.uid);
  expect(await phases()).toEqual(["a Running 1"]);
});

test("what a run has frozen is asked of its copy: without it there is nothing to run again", async () => {
  const metadata = { name: "wf", namespace };
  await world.plane.create(workflows, { metadata, spec: { jobs: { a: job(["one"]) } } });
  await world.plane.create(workflowRuns, {
    metadata: { name: "ci", namespace },
    spec: { workflowRef: { name: "wf" } },
  });
  await world.plane.settle();
  await world.finish("ci", "a", "one", "Failed");
  await world.plane.client.of(workflows).delete(metadata);
  expect(await world.ask("ci", "Retry")).toMatchObject({ phase: "Succeeded" });
  await world.finish("ci", "a", "one", "Failed");
  const [copy] = (await world.plane.client.of(controllerRevisions).list({ namespace })).items;
  await world.plane.client.of(controllerRevisions).delete(copy?.metadata ?? { name: "", namespace });
  expect(await world.ask("ci", "Retry")).toMatchObject({
    reason: "NothingToRetry",
    message: "the templates that WorkflowRun ci has frozen are gone: create a new one",
  });
});

test("a job that is a Workflow runs again in a new WorkflowRun, whole; the one before stays and cannot be retried by itself", async () => {
  await world.plane.create(workflows, {
    metadata: { name: "inner", namespace },
    spec: { jobs: { good: job(["one"]), bad: job(["one"], { needs: ["good"] }) } },
  });
  await world.run("ci", { kept: { uses: "inner" }, call: { uses: "inner" }, z: job(["one"], { needs: ["call"] }) });
  const inner = async (id: string) => (await jobs())[id]?.workflowRunName ?? "";
  for (const step of ["good", "bad"]) await world.finish(await inner("kept"), step, "one");
  const [kept, first] = [await inner("kept"), await inner("call")];
  await world.finish(first, "good", "one");
  await world.finish(first, "bad", "one", "Failed");
  await world.plane.settle();
  expect(await phases()).toEqual(["kept Succeeded 1", "call Failed 1", "z Skipped 0"]);
  expect(await world.ask(first, "Retry")).toMatchObject({
    reason: "NothingToRetry",
    message: `WorkflowRun ${first} is a job of WorkflowRun ci: retry that one`,
  });
  expect(await world.ask("ci", "Retry")).toMatchObject({ message: "WorkflowRun ci goes on: 2 jobs run again" });
  const second = await inner("call");
  expect(second).not.toBe(first);
  expect(await inner("kept")).toBe(kept);
  expect(await world.status(first)).toMatchObject({ phase: "Failed" });
  // Nothing of the child before is kept: its jobs are not those of this run.
  expect(await phases(second)).toEqual(["good Running 1", "bad Waiting 0"]);
  for (const step of ["good", "bad"]) await world.finish(second, step, "one");
  await world.plane.settle();
  await world.finish("ci", "z", "one");
  expect(await world.status("ci")).toMatchObject({ phase: "Succeeded" });
});

import { afterEach, beforeEach, expect, test } from "vitest";
import type { JobSpec, StepSpec } from "#api/kinds/job.ts";
import type { WorkflowRunSpec } from "#api/kinds/workflow-run.ts";
import { actions, persistentWorkspaces, workflows } from "#api/resources.ts";
import { ActionWorld, namespace, step } from "#test/support/action-world.ts";

let world: ActionWorld;
beforeEach(async () => {
  world = await new ActionWorld().start();
});
afterEach(() => world.stop());

const when = (name: string, condition: string): StepSpec => ({ ...step(name), if: condition });
const all: StepSpec[] = [
  step("work"),
  step("more"),
  when("always", "always()"),
  when("cancelled", "cancelled()"),
  when("failure", "failure()"),
  when("success", "success()"),
  when("not", "!cancelled()"),
];
const jobOf = (steps: StepSpec[], more: Partial<JobSpec> = {}): JobSpec => ({ "runs-on": "bash", steps, ...more });

const jobStatus = async (id = "a", run = "ci") => (await world.status(run)).jobs?.[id];
const phases = async (id = "a", run = "ci") =>
  (await jobStatus(id, run))?.steps?.map(({ name, phase }) => `${name} ${phase}`);

/** Lets the step that was asked to end do so, and every other one succeed; the names of those others, in their order. */
async function finishAll(id = "a", run = "ci"): Promise<string[]> {
  const cleaned: string[] = [];
  for (let turn = 0; ; turn++) {
    if (turn > 20) throw new Error(`${run}/${id} does not end`);
    const active = (await jobStatus(id, run))?.steps?.find(({ phase }) => phase === "Running" || phase === "Stopping");
    if (active === undefined) return cleaned;
    if (active.phase === "Running") cleaned.push(active.name);
    await world.finish(run, id, active.name, active.phase === "Running" ? "Succeeded" : "Cancelled");
  }
}

interface Ending {
  readonly spec?: Partial<WorkflowRunSpec>;
  readonly job?: Partial<JobSpec>;
  readonly id?: string;
  end(): Promise<unknown>;
  readonly cleans: readonly string[];
  readonly is: object;
}

const endings: Record<string, Ending> = {
  "the run is stopped": {
    end: () => world.ask("ci", "Stop"),
    cleans: ["always", "cancelled"],
    is: { phase: "Cancelled", reason: "Stopped" },
  },
  "the run is out of time": {
    spec: { timeout: "1m" },
    end: () => world.plane.elapse(61_000),
    cleans: ["always", "cancelled"],
    is: { phase: "Cancelled", reason: "TimedOut" },
  },
  "the job is out of time, which is a failure": {
    job: { timeout: "1m" },
    end: () => world.plane.elapse(61_000),
    cleans: ["always", "cancelled", "failure"],
    is: { phase: "Failed", reason: "Timeout" },
  },
  "another instance of its matrix failed": {
    job: { strategy: { matrix: { n: [1, 2] } } },
    id: "a.1",
    async end() {
      await world.finish("ci", "a.0", "work", "Failed");
      await finishAll("a.0");
    },
    cleans: ["always", "cancelled"],
    is: { phase: "Cancelled", reason: "InstanceFailed" },
  },
  "the run is terminated": {
    end: () => world.ask("ci", "Terminate"),
    cleans: [],
    is: { phase: "Cancelled", reason: "Terminated" },
  },
};

test.each(Object.entries(endings))("of a job that must end because %s these steps clean up", async (_, ending) => {
  const { spec, job, id = "a", end, cleans, is } = ending;
  await world.run("ci", { a: jobOf(all, job) }, spec);
  await end();
  expect(await jobStatus(id)).toMatchObject({ phase: "Stopping" });
  expect(await finishAll(id)).toEqual(cleans);
  const status = await jobStatus(id);
  expect(status).toMatchObject(is);
  expect(status).not.toHaveProperty("stopTime");
  expect(status?.steps?.[1]).toMatchObject({ phase: "Skipped", reason: status?.reason });
});

test("a step that cleans up and is at work goes on when its job is stopped, and ends with a Terminate", async () => {
  await world.run("ci", { a: jobOf([step("work"), when("clean", "always()"), when("last", "always()")]) });
  await world.finish("ci", "a", "work");
  await world.ask("ci", "Stop");
  expect(await phases()).toEqual(["work Succeeded", "clean Running", "last Waiting"]);
  expect((await world.child("ci", "a", "clean"))?.spec.termination).toBeUndefined();
  await world.ask("ci", "Terminate");
  expect((await world.child("ci", "a", "clean"))?.spec.termination).toMatchObject({ mode: "Immediate" });
  await world.finish("ci", "a", "clean", "Cancelled");
  expect(await phases()).toEqual(["work Succeeded", "clean Cancelled", "last Skipped"]);
  expect(await world.status("ci")).toMatchObject({ phase: "Failed", reason: "Terminated" });
});

test("five minutes after it was asked to end a job cleans up no longer", async () => {
  await world.run("ci", { a: jobOf([step("work"), when("clean", "always()"), when("last", "always()")]) });
  await world.ask("ci", "Stop");
  await world.finish("ci", "a", "work", "Cancelled");
  await world.plane.elapse(299_000);
  expect(await phases()).toEqual(["work Cancelled", "clean Running", "last Waiting"]);
  await world.plane.elapse(1_000);
  expect(await phases()).toEqual(["work Cancelled", "clean Stopping", "last Waiting"]);
  await world.finish("ci", "a", "clean", "Cancelled");
  expect(await phases()).toEqual(["work Cancelled", "clean Cancelled", "last Skipped"]);
  expect(await world.status("ci")).toMatchObject({ phase: "Failed", reason: "Stopped" });
});

test("what has not begun has nothing to clean up, and a gate is not asked", async () => {
  const gate: StepSpec = { name: "gate", if: "always()", suspend: {} };
  await world.run("ci", { a: jobOf([{ ...gate, if: "success()" }, gate, when("clean", "always()")].slice(1)) });
  await world.ask("ci", "Stop");
  expect(await finishAll()).toEqual(["clean"]);
  expect(await phases()).toEqual(["gate Cancelled", "clean Succeeded"]);
  await world.run("idle", { a: jobOf([step("work"), when("clean", "always()")], { "runs-on": "none" }) });
  await world.ask("idle", "Stop");
  expect(await phases("a", "idle")).toEqual(["work Skipped", "clean Skipped"]);
  await world.run("later", { a: jobOf([step("work"), gate]) });
  await world.ask("later", "Stop");
  await finishAll("a", "later");
  expect(await phases("a", "later")).toEqual(["work Cancelled", "gate Skipped"]);
});

test("nothing cleans up where the files are gone", async () => {
  await world.run("ci", { a: jobOf([step("work"), when("clean", "always()")]) });
  await world.ask("ci", "Stop");
  const [workspace] = (await world.plane.client.of(persistentWorkspaces).list({ namespace })).items;
  if (workspace === undefined) throw new Error("the job has no workspace");
  const bound = { runtime: "bash", boundPod: "p", boundPodUID: "u", path: "/workspace/persistent/w" };
  let object = workspace;
  for (const phase of ["Bound", "Lost"] as const) {
    const status = { ...bound, phase };
    object = await world.plane.client.of(persistentWorkspaces).update({ ...object, status }, "status");
  }
  await world.finish("ci", "a", "work", "Cancelled");
  expect(await phases()).toEqual(["work Cancelled", "clean Skipped"]);
});

test("a job that is out of time cleans up before its next attempt begins", async () => {
  const steps = [step("work"), when("clean", "failure()")];
  await world.run("ci", { a: jobOf(steps, { timeout: "1m", retry: { attempts: 2, backoff: "1m" } }) });
  await world.plane.elapse(61_000);
  expect(await jobStatus()).toMatchObject({ phase: "Stopping", attempt: 1, stopTime: expect.any(String) });
  await world.finish("ci", "a", "work", "Cancelled");
  expect(await phases()).toEqual(["work Cancelled", "clean Running"]);
  await world.finish("ci", "a", "clean");
  await world.plane.elapse(60_000);
  const next = await jobStatus();
  expect(next).toMatchObject({ phase: "Running", attempt: 2 });
  expect(next).not.toHaveProperty("stopTime");
});

test("a clean-up sees how the job ends", async () => {
  const env = { STATUS: "${{ job.status }}", OUTCOME: "${{ steps.work.outcome }}" };
  await world.run("ci", { a: jobOf([step("work"), { ...when("clean", "always()"), env }]) });
  await world.ask("ci", "Stop");
  await world.finish("ci", "a", "work", "Cancelled");
  expect((await world.child("ci", "a", "clean"))?.spec.env).toEqual(
    expect.arrayContaining([
      { name: "STATUS", value: "cancelled" },
      { name: "OUTCOME", value: "cancelled" },
    ]),
  );
});

test("steps of an Action clean up, too, and an Action that cleans up runs as a whole", async () => {
  await world.plane.create(actions, {
    metadata: { name: "locked", namespace },
    spec: { steps: [step("lock"), step("work"), when("unlock", "always()")] },
  });
  const steps: StepSpec[] = [
    { name: "first", uses: "locked" },
    { name: "last", uses: "locked", if: "always()" },
  ];
  await world.run("ci", { a: jobOf(steps) });
  const inner = async (index: number) =>
    (await jobStatus())?.steps?.[index]?.steps?.map(({ name, phase }) => `${name} ${phase}`);
  await world.finishInner("ci", "a", "first", "lock");
  await world.ask("ci", "Stop");
  await world.finishInner("ci", "a", "first", "work", "Cancelled");
  expect(await inner(0)).toEqual(["lock Succeeded", "work Cancelled", "unlock Running"]);
  await world.finishInner("ci", "a", "first", "unlock");
  expect(await phases()).toEqual(["first Cancelled", "last Running"]);
  for (const name of ["lock", "work", "unlock"]) await world.finishInner("ci", "a", "last", name);
  expect(await phases()).toEqual(["first Cancelled", "last Succeeded"]);
  expect(await world.status("ci")).toMatchObject({ phase: "Failed", reason: "Stopped" });
});

test("a job that only asks whether all went well is stopped like any other", async () => {
  await world.run("ci", { a: jobOf([step("work")], { if: "success() && run.name != 'y'" }) });
  await world.ask("ci", "Stop");
  expect(await jobStatus()).toMatchObject({ phase: "Stopping", reason: "Stopped" });
});

const children: Record<
  string,
  { readonly end: readonly string[]; readonly cleans: string[]; readonly reason: string }
> = {
  "cleans up when that is stopped": { end: ["Stop"], cleans: ["clean", "tidy"], reason: "Stopped" },
  "does not when that is terminated": { end: ["Terminate"], cleans: [], reason: "Terminated" },
  "does not any longer when that is terminated after a Stop": {
    end: ["Stop", "Terminate"],
    cleans: [],
    reason: "Terminated",
  },
};

test.each(Object.entries(children))("a run that is a job of another one %s", async (_, { end, cleans, reason }) => {
  await world.plane.create(workflows, {
    metadata: { name: "inner", namespace },
    spec: {
      jobs: {
        b: jobOf([step("work"), when("clean", "always()")]),
        c: jobOf([step("tidy")], { needs: ["b"], if: "always()" }),
      },
    },
  });
  await world.run("ci", { a: { uses: "inner" } });
  const child = (await jobStatus())?.workflowRunName ?? "";
  for (const verb of end) await world.ask("ci", verb);
  const cleaned = [...(await finishAll("b", child)), ...(await finishAll("c", child))];
  expect(cleaned).toEqual(cleans);
  expect(await world.status(child)).toMatchObject({ phase: "Failed", reason });
  expect(await jobStatus()).toMatchObject({ phase: "Cancelled" });
  expect(await world.status("ci")).toMatchObject({ phase: "Failed", reason });
});

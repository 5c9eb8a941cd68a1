import { afterEach, beforeEach, expect, test } from "vitest";
import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import type { Run } from "#api/kinds/run.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { persistentWorkspaces, runs, runtimes, workflowRuns, workflows } from "#api/resources.ts";
import { failure, StatusError } from "#kube/transport.ts";
import type { FaultRequest } from "#local/apiserver/index.ts";
import { ControlPlane } from "#test/integration/support/control-plane.ts";
import { childWorkspaceName } from "#workflows/child-workspace.ts";
import { createWorkflowRunController } from "./index.ts";

const namespace = "default";
let plane: ControlPlane;
/** Messages of Events. */
let said: string[] = [];
beforeEach(async () => {
  plane = new ControlPlane();
  await plane.create(runtimes, {
    metadata: { name: "bash", namespace },
    spec: { template: { spec: { containers: [{ name: "runtime", image: "x" }] } } },
  });
  said = [];
  const recorder = { event: (_: unknown, __: unknown, ___: unknown, message: string) => void said.push(message) };
  await plane.start((deps, informers) => [
    createWorkflowRunController({ ...deps, recorder }, informers, { workspaceTtlSeconds: 60 }),
  ]);
});
afterEach(() => plane.stop());

async function start(name = "ci"): Promise<void> {
  const steps = [{ name: "test", run: "true" }];
  await plane.create(workflowRuns, {
    metadata: { name, namespace },
    spec: { jobs: { build: { "runs-on": "bash", steps } } },
  });
}

const job = async () => (await plane.find(workflowRuns, "ci"))?.status?.jobs?.build;
const step = async () => (await job())?.steps?.[0];

async function child(): Promise<Run | undefined> {
  const name = (await step())?.runName;
  const found = name === undefined ? undefined : await plane.find(runs, name);
  return found?.metadata.ownerReferences === undefined ? undefined : found;
}

const isCreation = ({ verb, resource }: FaultRequest, of: { plural: string }) =>
  verb === "create" && resource.startsWith(`${of.plural}.`);

test("a Run whose name somebody else takes while it is created again gets the next name", async () => {
  await start();
  await plane.until(async () => (await child()) !== undefined);
  const name = (await step())?.runName ?? "";
  await plane.client.of(runs).delete({ name, namespace });
  await plane.client.of(runs).create({
    metadata: { name, namespace },
    spec: { runtime: "bash", source: { inline: "true" } },
  });
  await plane.until(async () => (await child()) !== undefined, 10_000);
  expect(await step()).toMatchObject({ phase: "Running", collision: 1 });
  expect((await plane.find(runs, name))?.metadata.ownerReferences).toBeUndefined();
});

test("no Run is created in a workspace that belongs to somebody else, however late it is found out", async () => {
  const named: unknown[] = [];
  plane.api.faults.onRequest = (request) => {
    if (isCreation(request, runs)) named.push((request.body as Run).spec.workspace?.name);
    return isCreation(request, persistentWorkspaces) && delays-- > 0 ? { kind: "delay", ms: 100 } : undefined;
  };
  let delays = 1;
  await start();
  await plane.until(() => delays === 0);
  const owner = await plane.find(workflowRuns, "ci");
  if (owner === undefined) throw new Error("no WorkflowRun");
  const taken = childWorkspaceName({ owner, job: { id: "build" }, jobAttempt: 1 });
  const theirs: PersistentWorkspace = { metadata: { name: taken, namespace }, spec: { runtime: "bash" } };
  await plane.client.of(persistentWorkspaces).create(theirs);
  await plane.until(async () => (await child()) !== undefined, 60_000);
  expect(await job()).toMatchObject({ phase: "Running", collision: 1 });
  expect(named).toHaveLength(1);
  expect(named).not.toContain(taken);
});

test("a Run of a job is created only after its workspace is there, however long that takes", async () => {
  const made: string[] = [];
  let trouble = true;
  plane.api.faults.onRequest = (request) => {
    const isWorkspace = isCreation(request, persistentWorkspaces);
    if (!isWorkspace && !isCreation(request, runs)) return undefined;
    if (isWorkspace && trouble) return { kind: "internal" };
    made.push(request.resource);
    return undefined;
  };
  await start();
  await plane.elapse(600_000);
  expect(made).toEqual([]);
  trouble = false;
  await plane.until(async () => (await child()) !== undefined);
  expect(made).toEqual(["persistentworkspaces.kruntimes.io", "runs.kruntimes.io"]);
});

test.each([
  ["a Run", runs],
  ["a workspace", persistentWorkspaces],
])(
  "%s for which a quota has no room waits for it, and people are told; one that is forbidden fails",
  async (_, kind) => {
    const answer = plane.api.handle.bind(plane.api);
    let why = "forbidden: exceeded quota: small, requested: count/runs.kruntimes.io=1, used: 2, limited: 2";
    plane.api.handle = (request) => {
      const isRefused = why !== "" && request.method === "POST" && request.path.endsWith(`/${kind.plural}`);
      return isRefused ? Promise.reject(new StatusError(failure(403, "Forbidden", why))) : answer(request);
    };
    await start();
    await plane.elapse(600_000);
    expect(await job()).toMatchObject({ phase: "Running", steps: [{ phase: "Running" }] });
    expect(said.some((message) => message.includes("waits to be created: forbidden: exceeded quota"))).toBe(true);
    expect(said.length).toBeLessThan(50);
    why = "";
    await plane.until(async () => (await child()) !== undefined, 120_000);

    why = "forbidden: you may not";
    await start("refused");
    const refused = async () => JSON.stringify((await plane.find(workflowRuns, "refused"))?.status);
    await plane.until(
      async () => (await refused()).includes('"reason":"ChildRefused","message":"forbidden: you may not"'),
      10_000,
    );
  },
);

test("a Run that is deleted before a blind watch has shown it is no hang: it is made again", async () => {
  plane.api.faults.onWatchEvent = ({ resource }) => (resource.startsWith("runs.") ? { drop: true } : undefined);
  let losses = 1;
  // Created, but the answer is lost: only a live read tells of it.
  plane.api.faults.onRequest = (request) =>
    isCreation(request, runs) && losses-- > 0 ? { kind: "timeoutAfterCommit" } : undefined;
  await start();
  await plane.until(async () => (await child()) !== undefined);
  const first = await child();
  await plane.elapse(1000);
  await plane.client.of(runs).delete({ name: first?.metadata.name ?? "", namespace });
  await plane.elapse(10_000);
  expect((await child())?.metadata.uid).toBeDefined();
  expect((await child())?.metadata.uid).not.toBe(first?.metadata.uid);
});

test("a child that the API server cannot create holds up neither the jobs beside it nor a deadline", async () => {
  const steps = [{ name: "test", run: "true" }];
  const ids = Array.from({ length: 8 }, (_, index) => `job${index}`);
  plane.api.faults.onRequest = (request) =>
    isCreation(request, runs) && (request.body as Run).metadata.name.startsWith("wide-job0-")
      ? { kind: "internal" }
      : undefined;
  await plane.create(workflowRuns, {
    metadata: { name: "wide", namespace },
    spec: { timeout: "90s", jobs: Object.fromEntries(ids.map((id) => [id, { "runs-on": "bash", steps }])) },
  });
  const begun = plane.clock.now();
  await plane.until(async () => (await plane.client.of(runs).list({ namespace })).items.length === ids.length - 1, 500);
  await plane.until(async () => (await plane.find(workflowRuns, "wide"))?.status?.phase === "Stopping");
  expect(plane.clock.now() - begun).toBeLessThan(91_000);
});

/** A run whose job `call` is a Workflow of one job with two steps; resolves once the first of them has its Run. */
async function callsWorkflow(): Promise<{
  innerSteps: () => Promise<(string | undefined)[]>;
  child: () => Promise<WorkflowRun>;
}> {
  const twoSteps = ["one", "two"].map((name) => ({ name, run: "true" }));
  const inner = { jobs: { inner: { "runs-on": "bash", steps: twoSteps } } };
  await plane.create(workflows, { metadata: { name: "inner", namespace }, spec: inner });
  await plane.create(workflowRuns, {
    metadata: { name: "outer", namespace },
    spec: { jobs: { call: { uses: "inner" } } },
  });
  const name = async () => (await plane.find(workflowRuns, "outer"))?.status?.jobs?.call?.workflowRunName ?? "none";
  await plane.until(async () => (await plane.find(workflowRuns, await name())) !== undefined);
  const calledRun = async () => {
    const found = await plane.find(workflowRuns, await name());
    if (found === undefined) throw new Error("there is no child");
    return found;
  };
  const innerSteps = async () => (await calledRun()).status?.jobs?.inner?.steps?.map(({ phase }) => phase) ?? [];
  await plane.until(async () => (await innerSteps())[0] === "Running");
  return { innerSteps, child: calledRun };
}

test("in a used Workflow nothing begins while the run above is suspended", async () => {
  const { innerSteps, child: called } = await callsWorkflow();
  const hold = (suspend: boolean) =>
    plane.client.of(workflowRuns).patch({ name: "outer", namespace }, { spec: { suspend } });
  await hold(true);
  await plane.until(async () => (await plane.find(workflowRuns, "outer"))?.status?.suspended === true);
  const runName = (await called()).status?.jobs?.inner?.steps?.[0]?.runName ?? "";
  await plane.until(async () => (await plane.find(runs, runName)) !== undefined);
  const run = await plane.client.of(runs).get({ name: runName, namespace });
  const completionTime = new Date(plane.clock.now()).toISOString();
  await plane.client.of(runs).update({ ...run, status: { phase: "Succeeded", attempt: 1, completionTime } }, "status");
  await plane.elapse(5000);
  expect(await innerSteps()).toEqual(["Succeeded", "Waiting"]);
  await hold(false);
  await plane.until(async () => (await innerSteps())[1] === "Running");
});

test("a used Workflow ends when the run above does, and is asked for nothing before", async () => {
  const { child: called } = await callsWorkflow();
  await plane.client.of(workflowRuns).patch({ name: "outer", namespace }, { spec: { shutdown: "Terminate" } });
  await plane.until(async () => (await called()).status?.phase === "Stopping");
  expect((await called()).status).toMatchObject({ reason: "Terminated", message: expect.stringContaining("outer") });
});

test("owners that go round in a circle are no endless walk", async () => {
  const create = (name: string) =>
    plane.create(workflowRuns, {
      metadata: { name, namespace },
      spec: { jobs: { a: { "runs-on": "bash", steps: [{ name: "one", run: "true" }] } } },
    });
  const [one, two] = [await create("one"), await create("two")];
  const owned = (child: string, owner: WorkflowRun) => {
    const { name, uid = "" } = owner.metadata;
    const reference = { apiVersion: "kruntimes.io/v1alpha1", kind: "WorkflowRun", name, uid, controller: true };
    return plane.client
      .of(workflowRuns)
      .patch({ name: child, namespace }, { metadata: { ownerReferences: [reference] } });
  };
  await owned("one", two);
  await owned("two", one);
  await plane.elapse(1000);
  await start();
  await plane.until(async () => (await child()) !== undefined);
});

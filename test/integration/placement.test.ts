/** What the data-sharing specification says of placement, one test for each sentence: workspaces, affinity, priority, messages. */
import { afterEach, expect, test } from "vitest";
import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import type { RunSpec } from "#api/kinds/run.ts";
import { annotations } from "#api/labels.ts";
import { persistentWorkspaces, runs } from "#api/resources.ts";
import { namespaces, type Pod, pods } from "#kube/builtin.ts";
import { namespace, World } from "./support/scheduler-world.ts";

let world = new World();
afterEach(async () => {
  await world.stop();
  world.server.close();
  expect(world.errors).toEqual([]);
  world = new World();
});

const inWorkspace = { workspace: { name: "ws" } };
const bare = (name = "ws", runtime = "bash") =>
  world.client.of(persistentWorkspaces).create({ metadata: { name, namespace }, spec: { runtime } });

/** Another workspace of that name, as after a delete and a create: with its own UID. */
async function replaceWorkspace(pod: Pod): Promise<PersistentWorkspace> {
  const client = world.client.of(persistentWorkspaces);
  await client.patch({ namespace, name: "ws" }, { metadata: { finalizers: null } });
  const left = await client.list({ namespace });
  if (left.items.some(({ metadata }) => metadata.name === "ws")) await client.delete({ namespace, name: "ws" });
  return world.boundWorkspace("ws", pod);
}

interface State {
  /** Brings the workspace into the state. */
  arrange(pod: Pod): Promise<unknown>;
  readonly reason: string;
  readonly message: RegExp;
  /** What lets the Run go on; default: another workspace of that name on the ready Pod. */
  mend?(pod: Pod): Promise<unknown>;
}

const bound = (pod: Pod) => ({
  phase: "Bound" as const,
  runtime: "bash",
  boundPod: pod.metadata.name,
  boundPodUID: pod.metadata.uid ?? "",
});

const states: Record<string, State> = {
  "a workspace that does not exist": {
    arrange: async () => {},
    reason: "WorkspaceNotFound",
    message: /^there is no PersistentWorkspace ws in namespace default$/,
    mend: (pod) => world.boundWorkspace("ws", pod),
  },
  "a workspace that is not bound yet": {
    arrange: () => bare(),
    reason: "WorkspaceNotBound",
    message: /^workspace ws is not bound to a Pod yet$/,
    mend: async (pod) =>
      world.setWorkspace(await world.client.of(persistentWorkspaces).get({ namespace, name: "ws" }), bound(pod)),
  },
  "a workspace that is Lost": {
    arrange: async (pod) => world.setWorkspace(await world.boundWorkspace("ws", pod), { ...bound(pod), phase: "Lost" }),
    reason: "WorkspaceLost",
    message: /^Pod p1 that held workspace ws is gone, and its files with it$/,
  },
  "a workspace that is Released": {
    arrange: async (pod) =>
      world.setWorkspace(await world.boundWorkspace("ws", pod), { ...bound(pod), phase: "Released" }),
    reason: "WorkspaceReleased",
    message: /^workspace ws is being deleted$/,
  },
  "a workspace whose deletion was asked for": {
    arrange: async (pod) => {
      await world.boundWorkspace("ws", pod);
      const client = world.client.of(persistentWorkspaces);
      await client.patch({ namespace, name: "ws" }, { metadata: { finalizers: ["example.com/held"] } });
      await client.delete({ namespace, name: "ws" });
    },
    reason: "WorkspaceReleased",
    message: /^workspace ws is being deleted$/,
  },
  "a workspace of another Runtime": {
    arrange: () => bare("ws", "python"),
    reason: "WorkspaceRuntimeMismatch",
    message: /^workspace ws belongs to Runtime python, but the Run names Runtime bash$/,
  },
  "a workspace on a Pod of that name with another UID": {
    arrange: async (pod) => {
      const elsewhere = { ...pod, metadata: { ...pod.metadata, uid: "00000000-0000-4000-8000-000000000000" } };
      return world.boundWorkspace("ws", elsewhere);
    },
    reason: "WorkspacePodMismatch",
    message: /ws/,
  },
  "a workspace on a Pod that is not ready": {
    arrange: async (pod) => {
      await world.boundWorkspace("ws", pod);
      await world.setReady(pod, false);
    },
    reason: "WorkspacePodNotReady",
    message: /^Pod p1 of workspace ws is not ready$/,
    mend: (pod) => world.setReady(pod, true),
  },
};

test.each(Object.entries(states))(
  "a Run that refers to %s stays Pending with a clear message, and goes on with its change",
  async (_, { arrange, reason, message, mend = replaceWorkspace }) => {
    const [pod] = (await world.pool(2)) as [Pod];
    await arrange(pod);
    await world.start();
    await world.run("a", inWorkspace);
    await world.elapse(250);
    expect(await world.status("a")).toMatchObject({
      phase: "Pending",
      reason,
      message: expect.stringMatching(message),
      conditions: [{ type: "Scheduled", status: "False", reason }],
    });
    // None of these is an end, however long it lasts, and it is told once.
    const writes = world.statusWrites();
    await world.elapse(3_600_000);
    expect(await world.status("a")).toMatchObject({ phase: "Pending", reason });
    expect(world.statusWrites()).toBe(writes);
    await mend(pod);
    await world.settle();
    expect(await world.status("a")).toMatchObject({ phase: "Scheduled", assignedPod: "p1" });
    expect((await world.status("a")).reason).toBeUndefined();
  },
);

test("a workspace is a reference within the namespace: one of that name elsewhere is none", async () => {
  const [pod] = (await world.pool(1)) as [Pod];
  await world.client.of(namespaces).create({ metadata: { name: "other" } });
  const made = await world.client
    .of(persistentWorkspaces)
    .create({ metadata: { name: "ws", namespace: "other" }, spec: { runtime: "bash" } });
  await world.setWorkspace(made, bound(pod));
  await world.start();
  await world.run("a", inWorkspace);
  await world.elapse(250);
  expect(await world.status("a")).toMatchObject({ phase: "Pending", reason: "WorkspaceNotFound" });
});

test("another workspace of that name, with a new UID and on another Pod, is the one from then on", async () => {
  const [p1, p2] = (await world.pool(2)) as [Pod, Pod];
  await world.boundWorkspace("ws", p1);
  await world.start();
  await world.run("before", inWorkspace);
  await world.settle();
  expect(await world.status("before")).toMatchObject({ assignedPod: "p1" });
  await world.client.of(persistentWorkspaces).delete({ namespace, name: "ws" });
  await world.boundWorkspace("ws", p2);
  await world.run("after", inWorkspace);
  await world.settle();
  expect(await world.status("after")).toMatchObject({ assignedPod: "p2" });
});

test("a change of the workspace wakes the Runs that name it, and no others", async () => {
  const [pod] = (await world.pool(1, 8)) as [Pod];
  await world.start();
  for (let n = 0; n < 3; n++) await world.run(`in-${n}`, inWorkspace);
  for (let n = 0; n < 3; n++) await world.run(`elsewhere-${n}`, { workspace: { name: "absent" } });
  const made = await bare();
  await world.elapse(250);
  const before = world.scheduler?.metrics();
  await world.setWorkspace(made, bound(pod));
  await world.settle();
  for (let n = 0; n < 3; n++) expect(await world.status(`in-${n}`)).toMatchObject({ phase: "Scheduled" });
  const after = world.scheduler?.metrics();
  // Nobody was asked again that waits for the other one.
  expect((after?.waited ?? 0) - (before?.waited ?? 0)).toBe(0);
  expect(await world.status("elsewhere-0")).toMatchObject({ phase: "Pending", reason: "WorkspaceNotFound" });
});

const term = (team: string) => ({
  labelSelector: { matchLabels: { team } },
  topologyKey: "kruntimes.io/runtime-pod" as const,
});
const required = (team: string) => ({ requiredDuringSchedulingIgnoredDuringExecution: [term(team)] });
const preferred = (team: string) => ({
  preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 10, runAffinityTerm: term(team) }],
});
const podOf = async (name: string) => (await world.status(name)).assignedPod;

type Affinity = NonNullable<RunSpec["affinity"]>;

/** `first` with that label on one Pod, then `second` with that affinity. */
async function pair(affinity: Affinity, own: Record<string, string> = {}, first: Affinity = {}) {
  await world.pool(3, 4);
  await world.start();
  await world.run("first", { affinity: first }, { team: "x" });
  await world.settle();
  await world.run("second", { affinity }, own);
  await world.elapse(250);
  return Promise.all([podOf("first"), podOf("second")]);
}

test("required affinity: the Run goes where the named one is", async () => {
  const [first, second] = await pair({ runAffinity: required("x") });
  expect(second).toBe(first);
});

test("required affinity that nobody satisfies: the Run waits, and goes on when such a Run is there", async () => {
  await pair({ runAffinity: required("y") });
  expect(await world.status("second")).toMatchObject({
    phase: "Pending",
    reason: "AffinityNotSatisfied",
    message: expect.stringContaining("(3 Pods: 3 without a Run that the required affinity names)"),
  });
  await world.run("y", {}, { team: "y" });
  await world.settle();
  expect(await podOf("second")).toBe(await podOf("y"));
});

test("required anti-affinity: the Run keeps off the Pod of the named one", async () => {
  const [first, second] = await pair({ runAntiAffinity: required("x") });
  expect(second).toBeDefined();
  expect(second).not.toBe(first);
});

test("anti-affinity is symmetric: one that is there keeps off those that it names, and no others", async () => {
  const [first, second] = await pair(
    { runAffinity: preferred("x") },
    { team: "y" },
    { runAntiAffinity: required("y") },
  );
  // It wishes to be there and may not.
  expect(second).toBeDefined();
  expect(second).not.toBe(first);
  await world.run("third", { affinity: { runAffinity: required("x") } }, { team: "z" });
  await world.settle();
  expect(await podOf("third")).toBe(first);
});

test("preferred affinity: the Run goes there if it can, and elsewhere if not", async () => {
  const [first, second] = await pair({ runAffinity: preferred("x") });
  expect(second).toBe(first);
  await world.run("no-such", { affinity: { runAffinity: preferred("nobody") } });
  await world.settle();
  expect(await podOf("no-such")).toBeDefined();
});

test("preferred anti-affinity: the Run keeps off if it can, and shares if not", async () => {
  await world.pool(2, 4);
  await world.start();
  const apart = { affinity: { runAntiAffinity: preferred("x") } };
  for (const name of ["a", "b", "c"]) {
    await world.run(name, apart, { team: "x" });
    await world.settle();
  }
  expect(await podOf("a")).not.toBe(await podOf("b"));
  expect(await podOf("c")).toBeDefined();
});

test("affinity is for scheduling: what runs stays where it is when its company goes or changes", async () => {
  await pair({ runAffinity: required("x") });
  await world.claim("first");
  await world.claim("second");
  await world.agent("first", { phase: "Succeeded" });
  await world.elapse(60_000);
  expect(await world.status("second")).toMatchObject({ phase: "Running" });
});

test("affinity and a workspace hold together: a Run goes to the Pod of its workspace or waits", async () => {
  const [p1] = (await world.pool(2, 4)) as [Pod];
  await world.boundWorkspace("ws", p1);
  await world.start();
  await world.run("noisy", inWorkspace, { team: "x" });
  await world.settle();
  await world.run("quiet", { ...inWorkspace, affinity: { runAntiAffinity: required("x") } });
  await world.elapse(250);
  expect(await world.status("quiet")).toMatchObject({ phase: "Pending", reason: "AffinityNotSatisfied" });
  await world.claim("noisy");
  await world.agent("noisy", { phase: "Succeeded" });
  expect(await world.status("quiet")).toMatchObject({ phase: "Scheduled", assignedPod: "p1" });
});

test("the higher priority is placed first, whatever the order in which Runs came; nobody is driven out", async () => {
  await world.pool(1, 1);
  await world.start();
  await world.run("running");
  await world.settle();
  for (const [name, priority] of [
    ["low", -5],
    ["plain", undefined],
    ["high", 100],
  ] as const) {
    await world.run(name, priority === undefined ? {} : { priority });
  }
  const order: string[] = [];
  let active = "running";
  for (let n = 0; n < 3; n++) {
    await world.claim(active);
    await world.agent(active, { phase: "Succeeded" });
    for (const name of ["low", "plain", "high"]) {
      if ((await world.status(name)).phase === "Scheduled") active = name;
    }
    order.push(active);
  }
  expect(order).toEqual(["high", "plain", "low"]);
});

test("a message counts how many Pods each filter rejected, and why: full, draining, not ready, without the workspace", async () => {
  const [p1, p2, p3] = (await world.pool(4, 1)) as [Pod, Pod, Pod];
  const draining = { metadata: { annotations: { [annotations.draining]: "2026-01-01T00:00:00Z" } } };
  await world.client.of(pods).patch(p2.metadata, draining);
  await world.setReady(p3, false);
  await world.start();
  await world.run("x");
  await world.run("y");
  await world.settle();
  await world.claim("x");
  await world.claim("y");
  await world.run("anywhere");
  await world.boundWorkspace("ws", p1);
  await world.run("there", inWorkspace);
  await world.elapse(31_000);
  expect((await world.status("anywhere")).message).toBe(
    "runs 1 does not fit on any Pod of Runtime bash (4 Pods: 1 draining, 2 full, 1 not ready)",
  );
  expect((await world.status("there")).message).toBe(
    "runs 1 does not fit on Pod p1 of workspace ws (4 Pods: 1 full, 3 without the workspace)",
  );
});

test("many waiting Runs cost one status write each, and changed counts at most one in a minute", async () => {
  await world.pool(1, 1);
  await world.start();
  await world.run("first");
  await world.settle();
  await world.claim("first");
  for (let n = 0; n < 20; n++) await world.run(`r-${n}`);
  await world.settle();
  const writes = world.statusWrites();
  await world.elapse(31_000);
  expect(world.statusWrites() - writes).toBe(20);
  for (let minute = 0; minute < 10; minute++) {
    const [one] = (await world.client.of(pods).list({ namespace })).items;
    const { name: _, uid: __, resourceVersion: ___, ...metadata } = (one as Pod).metadata;
    await world.client.of(pods).create({ ...(one as Pod), metadata: { ...metadata, name: `more-${minute}` } });
    await world.elapse(60_000);
  }
  // The first in line is told how many Pods there are now; the others wait for the same.
  expect(world.statusWrites() - writes).toBeLessThanOrEqual(20 + 11);
});

test("watch events that come twice, late and in bursts change nothing but latency", async () => {
  const all = (await world.pool(3, 4)) as Pod[];
  await world.start();
  let turn = 0;
  world.server.faults.onWatchEvent = ({ user }) => {
    turn++;
    if (user !== undefined) return undefined;
    return { duplicate: turn % 2 === 0, delayMs: (turn * 137) % 900 };
  };
  for (let n = 0; n < 30; n++) {
    await world.run(`r-${n}`, n % 3 === 0 ? { workspace: { name: `ws-${n % 2}` } } : {});
    if (n === 6) await world.boundWorkspace("ws-0", all[0] as Pod);
    if (n === 12) await world.boundWorkspace("ws-1", all[1] as Pod);
    await world.elapse(100);
    const active = (await world.client.of(runs).list({ namespace })).items;
    for (const { metadata, status } of active) {
      if (status?.phase === "Scheduled") await world.claim(metadata.name);
      else if (status?.phase === "Running") await world.agent(metadata.name, { phase: "Succeeded" });
    }
  }
  for (let n = 0; n < 100; n++) {
    await world.elapse(1000);
    for (const { metadata, status } of (await world.client.of(runs).list({ namespace })).items) {
      if (status?.phase === "Scheduled") await world.claim(metadata.name);
      else if (status?.phase === "Running") await world.agent(metadata.name, { phase: "Succeeded" });
    }
  }
  const ended = (await world.client.of(runs).list({ namespace })).items;
  expect(ended.filter(({ status }) => status?.phase !== "Succeeded").map(({ metadata }) => metadata.name)).toEqual([]);
  // Each was assigned once: no event that came again made a second assignment.
  expect(ended.filter(({ status }) => status?.assignmentEpoch !== 1)).toEqual([]);
  for (const { spec, status } of ended) {
    if (spec.workspace !== undefined) expect(status?.assignedPod).toBe(spec.workspace.name === "ws-0" ? "p1" : "p2");
  }
});

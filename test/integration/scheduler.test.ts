import { afterEach, expect, test } from "vitest";
import { annotations, labels } from "#api/labels.ts";
import { persistentWorkspaces, runs } from "#api/resources.ts";
import { type Pod, pods } from "#kube/builtin.ts";
import type { FaultRequest } from "#local/apiserver/index.ts";
import { namespace, World } from "./support/scheduler-world.ts";

let world = new World();
afterEach(async () => {
  await world.stop();
  world.server.close();
  expect(world.errors).toEqual([]);
  world = new World();
});

test("a Run is placed by one status write that names the Pod, its UID and the first epoch, and has no condition", async () => {
  const [pod] = await world.pool(1);
  await world.start();
  await world.run("a");
  await world.settle();
  expect(await world.status("a")).toEqual({
    phase: "Scheduled",
    observedGeneration: 1,
    assignedPod: "p1",
    assignedPodUID: pod?.metadata.uid,
    assignmentEpoch: 1,
  });
  expect(world.statusWrites()).toBe(1);
  expect(world.server.counters.writes("runs.kruntimes.io")).toBe(2); // with its creation
});

test("many Runs fill the Pods evenly, none beyond its capacity, and the next ones follow as places become free", async () => {
  await world.pool(2, 4);
  await world.start();
  for (let i = 0; i < 20; i++) await world.run(`r${String(i).padStart(2, "0")}`);
  await world.settle();
  const placed = async () => {
    const list = await world.client.of(runs).list({ namespace, fieldSelector: "status.phase=Scheduled" });
    return list.items.map((run) => ({ name: run.metadata.name, pod: run.status?.assignedPod }));
  };
  const first = await placed();
  expect(first.map(({ name }) => name)).toEqual(["r00", "r01", "r02", "r03", "r04", "r05", "r06", "r07"]);
  expect(first.filter(({ pod }) => pod === "p1")).toHaveLength(4);

  await world.agent("r00", { phase: "Succeeded" });
  await world.agent("r03", { phase: "Succeeded" });
  expect((await placed()).map(({ name }) => name)).toEqual(["r01", "r02", "r04", "r05", "r06", "r07", "r08", "r09"]);
  expect(world.statusWrites()).toBe(10);
});

test("a higher priority goes first", async () => {
  await world.pool(1, 1);
  await world.run("low");
  await world.run("high", { priority: 5 });
  await world.start();
  expect(await world.status("high")).toMatchObject({ phase: "Scheduled" });
  expect(await world.status("low")).toMatchObject({ phase: "Pending" });
});

test("a Run without a Runtime says so at once, waits, and is placed when the Runtime and its Pods come", async () => {
  await world.start();
  await world.run("a");
  await world.elapse(200);
  expect(await world.status("a")).toMatchObject({
    phase: "Pending",
    reason: "RuntimeNotFound",
    message: "there is no Runtime bash in namespace default",
    conditions: [{ type: "Scheduled", status: "False", reason: "RuntimeNotFound" }],
  });
  await world.pool(1);
  await world.settle();
  expect(await world.status("a")).toEqual({
    phase: "Scheduled",
    observedGeneration: 1,
    assignedPod: "p1",
    assignedPodUID: expect.any(String),
    assignmentEpoch: 1,
  });
  expect(world.statusWrites()).toBe(2);
});

test("no ready Pod is worth a word after 5 s, a full pool after 30 s, and neither twice", async () => {
  const set = await world.replicaSet(await world.runtime("bash", 1));
  const pod = await world.pod(set, "p1", 1, false);
  await world.start();
  await world.run("a");
  await world.run("b");
  await world.elapse(4900);
  expect(world.statusWrites()).toBe(0);
  await world.elapse(200);
  expect(await world.status("a")).toMatchObject({
    reason: "NoReadyPods",
    message: "Runtime bash has no ready Pod (1 Pod: 1 not ready)",
  });
  await world.elapse(300_000);
  expect(world.statusWrites()).toBe(2);

  await world.setReady(pod, true);
  await world.settle();
  expect(await world.status("a")).toMatchObject({ phase: "Scheduled" });
  await world.claim("a");
  await world.elapse(29_000);
  expect(await world.status("b")).toMatchObject({ reason: "NoReadyPods" });
  await world.elapse(1500);
  expect(await world.status("b")).toMatchObject({
    phase: "Pending",
    reason: "InsufficientCapacity",
    message: "runs 1 does not fit on any Pod of Runtime bash (1 Pod: 1 full)",
  });
  await world.elapse(300_000);
  expect(world.statusWrites()).toBe(4);
});

test("a Run with a workspace goes to the very Pod that holds it, also while that one drains", async () => {
  const [p1, p2] = await world.pool(2);
  await world.boundWorkspace("ws", p2 as Pod);
  await world.client.of(pods).patch(
    { namespace, name: "p2" },
    {
      metadata: { annotations: { [annotations.draining]: "2026-01-01T00:00:00Z" } },
    },
  );
  await world.start();
  await world.run("a", { workspace: { name: "ws" } });
  await world.run("b");
  await world.settle();
  expect(await world.status("a")).toMatchObject({ assignedPod: "p2", assignedPodUID: p2?.metadata.uid });
  expect(await world.status("b")).toMatchObject({ assignedPod: "p1", assignedPodUID: p1?.metadata.uid });
});

test("a Run whose workspace is not there yet waits with the reason and follows each of its changes", async () => {
  const [pod] = await world.pool(1);
  await world.start();
  await world.run("a", { workspace: { name: "ws" } });
  await world.elapse(250);
  expect(await world.status("a")).toMatchObject({ phase: "Pending", reason: "WorkspaceNotFound" });

  const made = await world.client
    .of(persistentWorkspaces)
    .create({ metadata: { name: "ws", namespace }, spec: { runtime: "bash" } });
  await world.elapse(250);
  expect(await world.status("a")).toMatchObject({ phase: "Pending", reason: "WorkspaceNotBound" });

  await world.setWorkspace(made, { phase: "Lost", runtime: "bash", boundPod: "p0", boundPodUID: "gone" });
  await world.elapse(250);
  expect(await world.status("a")).toMatchObject({ phase: "Pending", reason: "WorkspaceLost" });

  await world.client.of(persistentWorkspaces).delete({ namespace, name: "ws" });
  await world.elapse(250);
  expect(await world.status("a")).toMatchObject({ phase: "Pending", reason: "WorkspaceNotFound" });

  await world.boundWorkspace("ws", pod as Pod);
  await world.settle();
  expect(await world.status("a")).toMatchObject({ phase: "Scheduled", assignedPod: "p1" });
});

test("required affinity keeps a cohort on one Pod, anti-affinity keeps Runs apart", async () => {
  await world.pool(3, 4);
  await world.start();
  const term = (value: string) => ({
    requiredDuringSchedulingIgnoredDuringExecution: [
      { labelSelector: { matchLabels: { team: value } }, topologyKey: "kruntimes.io/runtime-pod" as const },
    ],
  });
  for (const name of ["c1", "c2", "c3"]) await world.run(name, { affinity: { runAffinity: term("c") } }, { team: "c" });
  for (const name of ["a1", "a2", "a3"])
    await world.run(name, { affinity: { runAntiAffinity: term("a") } }, { team: "a" });
  await world.run("a4", { affinity: { runAntiAffinity: term("a") } }, { team: "a" });
  await world.elapse(300);
  const podOf = async (name: string) => (await world.status(name)).assignedPod;
  expect(new Set(await Promise.all(["c1", "c2", "c3"].map(podOf))).size).toBe(1);
  expect(new Set(await Promise.all(["a1", "a2", "a3"].map(podOf))).size).toBe(3);
  expect(await world.status("a4")).toMatchObject({ phase: "Pending", reason: "AffinityNotSatisfied" });
  await world.agent("a2", { phase: "Succeeded" });
  expect(await world.status("a4")).toMatchObject({ phase: "Scheduled" });
});

test("a Run that nobody claims for 15 s is taken back and goes to another Pod", async () => {
  await world.pool(2);
  await world.start();
  await world.run("a");
  await world.settle();
  const first = await world.status("a");
  await world.elapse(14_900);
  expect(await world.status("a")).toEqual(first);
  await world.elapse(200);
  const second = await world.status("a");
  expect(second).toMatchObject({ phase: "Scheduled", assignmentEpoch: 2 });
  expect(second.assignedPod).not.toBe(first.assignedPod);
  expect(second.attempt).toBeUndefined();
  await world.claim("a");
  await world.elapse(60_000);
  expect(await world.status("a")).toMatchObject({ phase: "Running", assignmentEpoch: 2 });
});

test("a Pod that carries the label of a Runtime without being owned by it gets nothing", async () => {
  const runtime = await world.runtime();
  const set = await world.replicaSet(runtime);
  await world.client.of(pods).create({
    metadata: { name: "forged", namespace, labels: { [labels.runtime]: "bash" } },
    spec: { containers: [{ name: "runtime", image: "evil:1" }] },
  });
  await world.setReady(await world.client.of(pods).get({ namespace, name: "forged" }), true);
  await world.start();
  await world.run("a");
  await world.elapse(5500);
  expect(await world.status("a")).toMatchObject({
    reason: "NoReadyPods",
    message: "Runtime bash has no ready Pod (1 Pod: 1 not owned by the Runtime)",
  });
  await world.pod(set, "p1");
  await world.settle();
  expect(await world.status("a")).toMatchObject({ assignedPod: "p1" });
});

test("what can never be given fails with the field, and termination before placement cancels", async () => {
  await world.pool(1);
  await world.start();
  await world.run("half", { resources: { requests: { runs: "500m" } } });
  await world.run("stopped", {
    termination: { mode: "Immediate", message: "not needed" },
    workspace: { name: "none" },
  });
  await world.settle();
  expect(await world.status("half")).toMatchObject({
    phase: "Failed",
    reason: "InvalidResources",
    message: 'spec.resources.requests.runs is "500m"; write whole numbers of 0 or more',
  });
  expect(await world.status("stopped")).toMatchObject({
    phase: "Cancelled",
    reason: "Cancelled",
    message: "not needed",
  });
  expect(world.scheduler?.metrics()).toMatchObject({ pending: 0, active: 0 });
});

test("a request larger than any Pod waits and says at once that it is hopeless; others pass it", async () => {
  await world.pool(1, 2);
  await world.start();
  await world.run("huge", { resources: { requests: { runs: 3 } } });
  await world.run("small");
  await world.elapse(300);
  expect(await world.status("huge")).toMatchObject({
    phase: "Pending",
    reason: "InsufficientCapacity",
    message: "runs 3 can never fit on any Pod of Runtime bash, which holds runs 2 (1 Pod: 1 too small)",
  });
  expect(await world.status("small")).toMatchObject({ phase: "Scheduled" });
});

test("a large request does not starve behind small ones that keep coming", async () => {
  await world.pool(2, 2);
  await world.start();
  let made = 0;
  const small = () => world.run(`s${String(made++).padStart(3, "0")}`);
  for (let i = 0; i < 4; i++) await small();
  await world.settle();
  await world.run("large", { resources: { requests: { runs: 2 } } });
  for (let i = 0; i < 4; i++) await small();
  await world.settle();
  let ended = 0;
  // One small Run ends at a time, so two places on one Pod are never free together by themselves.
  while ((await world.status("large")).phase === "Pending" && ended < 60) {
    await world.agent(`s${String(ended++).padStart(3, "0")}`, { phase: "Succeeded" });
    await small();
    await world.settle();
  }
  expect(await world.status("large")).toMatchObject({ phase: "Scheduled" });
  expect(ended).toBeGreaterThan(10);
  expect(ended).toBeLessThan(30);
});

/** Answers the next status writes of Runs with faults, in order. */
function failNext(...kinds: ("conflict" | "internal" | "lost" | "timeoutAfterCommit")[]): void {
  world.server.faults.onRequest = (request: FaultRequest) => {
    if (request.verb !== "patch" || request.subresource !== "status") return undefined;
    const kind = kinds.shift();
    return kind === undefined ? undefined : { kind };
  };
}

test.each(["conflict", "internal", "lost", "timeoutAfterCommit"] as const)(
  "an assignment that ends with %s is settled: one Pod, one epoch, no place leaked",
  async (kind) => {
    await world.pool(1, 1);
    await world.start();
    failNext(kind);
    await world.run("a");
    await world.elapse(3000);
    expect(await world.status("a")).toMatchObject({ phase: "Scheduled", assignmentEpoch: 1 });
    await world.claim("a");
    await world.agent("a", { phase: "Succeeded" });
    await world.run("b");
    await world.elapse(1000);
    expect(await world.status("b")).toMatchObject({ phase: "Scheduled" });
    expect(world.scheduler?.metrics()).toMatchObject({ active: 1, pending: 0, inFlight: 0 });
  },
);

test("an assignment that reaches the API server long after it was given up gives nobody a place twice", async () => {
  await world.pool(1, 1);
  await world.start();
  const late = [{ kind: "delay", ms: 31_000 }] as const;
  let sent = 0;
  world.server.faults.onRequest = ({ verb, subresource }: FaultRequest) =>
    verb === "patch" && subresource === "status" ? late[sent++] : undefined;
  await world.run("a");
  await world.run("b", { priority: 1 });
  await world.elapse(33_000);
  const phases = [(await world.status("a")).phase, (await world.status("b")).phase].sort();
  expect(phases).toEqual(["Pending", "Scheduled"]);
  expect(world.scheduler?.metrics()).toMatchObject({ active: 1, inFlight: 0 });
});

test("nothing is decided before all caches are filled", async () => {
  await world.pool(1);
  await world.run("a");
  world.server.faults.onRequest = ({ verb, resource }: FaultRequest) =>
    verb === "list" && resource === "pods" ? { kind: "delay", ms: 10_000 } : undefined;
  const started = world.start();
  await world.elapse(9900);
  expect(world.statusWrites()).toBe(0);
  expect(world.scheduler?.metrics()).toMatchObject({ placed: 0, waited: 0 });
  await world.elapse(200);
  await started;
  expect(await world.status("a")).toMatchObject({ phase: "Scheduled" });
  expect(world.statusWrites()).toBe(1);
});

test("assignments are written side by side, but no more than 25 at a time", async () => {
  await world.pool(10, 10);
  await world.start();
  let most = 0;
  world.server.faults.onRequest = ({ verb, subresource }: FaultRequest) => {
    if (verb !== "patch" || subresource !== "status") return undefined;
    most = Math.max(most, world.scheduler?.metrics().inFlight ?? 0);
    return { kind: "delay", ms: 10 };
  };
  for (let i = 0; i < 100; i++) await world.run(`r${i}`);
  await world.elapse(9);
  expect(world.statusWrites()).toBe(0);
  await world.elapse(32);
  expect(world.statusWrites()).toBe(100);
  expect(most).toBe(25);
});

test("stop waits for the writes that are under way and begins no other", async () => {
  await world.pool(1, 1);
  await world.start();
  world.server.faults.onRequest = ({ verb, subresource }: FaultRequest) =>
    verb === "patch" && subresource === "status" ? { kind: "delay", ms: 1000 } : undefined;
  await world.run("a");
  await world.settle();
  let stopped = false;
  const stopping = world.scheduler?.stop().then(() => {
    stopped = true;
  });
  await world.elapse(500);
  expect(stopped).toBe(false);
  await world.elapse(600);
  await stopping;
  expect(await world.status("a")).toMatchObject({ phase: "Scheduled" });
  await world.agent("a", { phase: "Succeeded" });
  await world.run("b");
  await world.elapse(60_000);
  expect(await world.status("b")).toMatchObject({ phase: "Pending" });
  world.scheduler = undefined;
});

test("an API server that is away is not stormed", async () => {
  await world.pool(10, 10);
  await world.start();
  let tries = 0;
  world.server.faults.onRequest = (request: FaultRequest) => {
    if (request.verb !== "patch" || request.subresource !== "status") return undefined;
    tries++;
    return { kind: "lost" };
  };
  for (let i = 0; i < 50; i++) await world.run(`r${i}`);
  await world.elapse(60_000);
  expect(tries).toBeGreaterThan(25);
  expect(tries).toBeLessThan(500);
  world.server.faults.onRequest = undefined;
  await world.elapse(60_000);
  const list = await world.client.of(runs).list({ namespace, fieldSelector: "status.phase=Scheduled" });
  expect(list.items).toHaveLength(50);
});

test("a new scheduler knows from the objects alone what is taken", async () => {
  await world.pool(2, 2);
  await world.start();
  for (const name of ["a", "b", "c"]) await world.run(name);
  await world.settle();
  await world.claim("a");
  await world.stop();
  for (const name of ["d", "e", "f"]) await world.run(name);
  await world.start();
  const list = await world.client.of(runs).list({ namespace });
  const byPod = Map.groupBy(list.items, (run) => run.status?.assignedPod);
  expect(byPod.get("p1")).toHaveLength(2);
  expect(byPod.get("p2")).toHaveLength(2);
  expect(byPod.get(undefined)?.map((run) => run.metadata.name)).toEqual(["e", "f"]);
});

test("a Run that backs off is placed when its time has come, not before", async () => {
  await world.pool(1);
  await world.start();
  await world.run("a");
  await world.settle();
  await world.claim("a");
  const live = await world.client.of(runs).get({ namespace, name: "a" });
  const nextAttemptTime = new Date(world.clock.now() + 10_000).toISOString();
  await world.client
    .of(runs)
    .update(
      { ...live, status: { phase: "Pending", assignmentEpoch: 1, attempt: 1, reason: "BackingOff", nextAttemptTime } },
      "status",
    );
  await world.elapse(9900);
  expect(await world.status("a")).toMatchObject({ phase: "Pending", reason: "BackingOff" });
  await world.elapse(200);
  expect(await world.status("a")).toEqual({
    phase: "Scheduled",
    observedGeneration: 1,
    assignedPod: "p1",
    assignedPodUID: expect.any(String),
    assignmentEpoch: 2,
    attempt: 1,
  });
});

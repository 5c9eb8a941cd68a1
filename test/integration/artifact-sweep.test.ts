import { afterEach, expect, test } from "vitest";
import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { runs, runtimes, workflowRuns } from "#api/resources.ts";
import { timestamp } from "#api/time.ts";
import { leases } from "#kube/builtin.ts";
import { createClient } from "#kube/client.ts";
import { memoryTransport } from "#kube/memory.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import type { ApiRequest } from "#kube/transport.ts";
import { sweepArtifacts } from "#runtime/agent/artifact-sweep.ts";
import { sweepLease } from "#runtime/agent/sweeper.ts";
import { createFilesystemStore } from "#runtime/artifacts/filesystem-store.ts";
import { AgentWorld } from "./support/agent-world.ts";

const hour = 3_600_000;
const namespace = "default";
let world: AgentWorld;
afterEach(() => world.crash());

async function newWorld(): Promise<AgentWorld> {
  const made = new AgentWorld();
  const { metadata } = await made.client.of(runtimes).create({
    metadata: { name: "bash", namespace },
    spec: { template: { spec: { containers: [{ name: "runtime", image: "x" }] } } },
  });
  made.runtimeUid = metadata.uid ?? "";
  return made;
}

const refOf = (runUid: string, name = "a"): ArtifactRef => ({
  name,
  driver: "Filesystem",
  type: "File",
  location: { filesystem: { path: `runs/${runUid}/artifacts/${name}`, volumeClaimName: "store" } },
  sizeBytes: 1,
  digest: `sha256:${"0".repeat(64)}`,
});

async function* bytes(text: string) {
  yield Buffer.from(text);
}

/** Something in the store that the Run of that UID has left. */
async function stored(runUid: string): Promise<void> {
  await world.store.put({ runUid, name: "a" }, bytes("x"), { maxBytes: 10 });
}

async function left(): Promise<string[]> {
  const found: string[] = [];
  for await (const { runUid } of world.store.list()) found.push(runUid);
  return found.sort();
}

async function workflowRun(name: string, refs: readonly ArtifactRef[]): Promise<WorkflowRun> {
  const made = await world.client.of(workflowRuns).create({
    metadata: { name, namespace },
    spec: { jobs: { build: { "runs-on": "bash", steps: [{ name: "s", run: "true" }] } } },
  });
  const artifacts = Object.fromEntries(refs.map((ref) => [ref.name, ref]));
  const running = await world.client
    .of(workflowRuns)
    .update({ ...made, status: { phase: "Running", jobs: { build: { phase: "Running", artifacts } } } }, "status");
  return running;
}

const lease = () => world.client.of(leases).get({ namespace, name: sweepLease("bash") });

/** Lets the agent's next turn come and go: until the Lease is as new as the time of the call. */
async function nextSweep(): Promise<void> {
  const before = world.clock.now();
  await world.until(async () => {
    const renewed = (await lease().catch(() => undefined))?.spec?.renewTime;
    return renewed !== undefined && renewed !== null && Date.parse(renewed) > before;
  }, 3 * hour);
  const begun = world.clock.now();
  await world.until(() => world.clock.now() > begun + 60_000, hour);
}

test("what nobody refers to any more is removed; everything that somebody may still read stays", async () => {
  world = await newWorld();
  const living = await world.createRun("living");
  const consumer = await world.createRun("consumer", { artifactInputs: [{ ref: refOf("input"), path: "in" }] });
  for (const uid of ["orphan", "kept", "input", living.metadata.uid ?? ""]) await stored(uid);
  const flow = await workflowRun("flow", [refOf("kept")]);
  world.clock.advance(2 * hour);
  await stored("young");
  world.start();
  await nextSweep();
  expect(await left()).toEqual(["input", "kept", "young", living.metadata.uid].sort());

  await world.client.of(workflowRuns).delete({ namespace, name: flow.metadata.name });
  await world.client.of(runs).delete({ namespace, name: living.metadata.name });
  await world.assign(consumer.metadata.name);
  await world.untilOver(consumer.metadata.name);
  await nextSweep();
  await world.until(async () => (await left()).length === 0, 2 * hour);
});

test("one agent of a Runtime sweeps in an hour, and the Lease goes with the Runtime", async () => {
  world = await newWorld();
  let writes = 0;
  world.watcher = (point, when) => {
    if (when === "after" && /api.request (POST|PUT)/.test(point)) writes++;
  };
  world.start();
  await nextSweep();
  expect(writes).toBe(1);
  expect((await lease()).metadata.ownerReferences).toMatchObject([
    { kind: "Runtime", name: "bash", uid: world.runtimeUid },
  ]);
  world.crash();
  await stored("orphan");
  world.clock.advance(50 * 60_000);
  // Another Pod of the pool sees that it is not due yet.
  world.identity = { name: "runtime-bash-2", uid: "pod-2" };
  world.start();
  const begun = world.clock.now();
  await world.until(() => world.clock.now() > begun + 5 * 60_000);
  expect((await lease()).spec?.holderIdentity).toBe("runtime-bash-1");
  await nextSweep();
  expect((await lease()).spec?.holderIdentity).toBe("runtime-bash-2");
});

test.each([
  ["of an earlier Runtime of the name", false, 0],
  ["of a clock that was far ahead", true, 100 * hour],
] as const)("a Lease %s holds nobody up", async (_, isOwned, aheadMs) => {
  world = await newWorld();
  const owner = { apiVersion: "kruntimes.io/v1alpha1", kind: "Runtime", name: "bash", uid: world.runtimeUid };
  await world.client.of(leases).create({
    metadata: { name: sweepLease("bash"), namespace, ...(isOwned && { ownerReferences: [owner] }) },
    spec: { holderIdentity: "old", renewTime: timestamp(world.clock.now() + aheadMs) },
  });
  world.start();
  await world.until(async () => (await lease()).spec?.holderIdentity === "runtime-bash-1", hour / 2);
});

test("what belongs to another namespace or cluster in the same volume is never touched", async () => {
  world = await newWorld();
  const { clock, random, volume } = world;
  const others = [
    { clusterUid: "cluster", namespace: "other" },
    { clusterUid: "another", namespace },
  ].map((owner) => createFilesystemStore({ owner, random, files: volume, volumeClaimName: "store" }));
  for (const [index, store] of others.entries()) {
    await store.put({ runUid: `theirs-${index}`, name: "a" }, bytes("x"), { maxBytes: 10 });
  }
  await stored("orphan");
  clock.advance(2 * hour);
  world.start();
  await nextSweep();
  expect(await left()).toEqual([]);
  for (const [index, store] of others.entries()) {
    expect(await store.stat(refOf(`theirs-${index}`))).toEqual({ sizeBytes: 1 });
  }
});

test.each(["runs", "workflowruns"])(
  "when %s cannot be listed nothing is removed, and the next turn tries again",
  async (what) => {
    world = await newWorld();
    await stored("orphan");
    world.clock.advance(2 * hour);
    let refused = 0;
    world.start();
    await world.until(() => world.agent?.ready === true);
    world.hold = (point, [request]) => {
      const isIt = point === "api.request GET" && (request as ApiRequest).path.endsWith(`/${what}`) && refused < 1;
      if (!isIt) return undefined;
      refused++;
      return Promise.reject(new Error("the line is cut"));
    };
    await nextSweep();
    expect({ refused, left: await left() }).toEqual({ refused: 1, left: ["orphan"] });
    await nextSweep();
    expect(await left()).toEqual([]);
  },
);

const moves: Record<string, { readonly when: "before" | "after"; readonly move: () => Promise<unknown> }> = {
  "from a Run to the WorkflowRun that records it": {
    when: "before",
    async move() {
      await workflowRun("flow", [refOf("moved")]);
    },
  },
  "from a WorkflowRun to the Run that takes it": {
    when: "after",
    async move() {
      await world.createRun("taker", { artifactInputs: [{ ref: refOf("moved"), path: "in" }] });
      await world.client.of(workflowRuns).delete({ namespace, name: "flow" });
    },
  },
};

test.each(Object.entries(moves))(
  "a reference that moves while a sweep looks is kept: %s",
  async (_, { when, move }) => {
    world = await newWorld();
    await stored("moved");
    await stored("orphan");
    if (when === "after") await workflowRun("flow", [refOf("moved")]);
    world.clock.advance(2 * hour);
    // The sweep lists WorkflowRuns, Runs, and WorkflowRuns again; the reference moves around its list of Runs.
    const transport = memoryTransport(world.api, world.clock);
    const client = createClient({
      ...transport,
      async request<T>(request: ApiRequest): Promise<T> {
        const isList = request.method === "GET" && request.path.endsWith("/runs");
        if (isList && when === "before") await move();
        const answer = await transport.request<T>(request);
        if (isList && when === "after") await move();
        return answer;
      },
    });
    const { clock, store } = world;
    await sweepArtifacts({ client, clock, store, namespace, logger: silentLogger }, hour, new AbortController().signal);
    expect(await left()).toEqual(["moved"]);
  },
);

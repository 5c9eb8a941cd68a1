import { afterEach, beforeEach, expect, test } from "vitest";
import type { PersistentWorkspaceSpec } from "#api/kinds/persistent-workspace.ts";
import { annotations, labels, workspaceFinalizer } from "#api/labels.ts";
import { persistentWorkspaces, runs, runtimes } from "#api/resources.ts";
import { timestamp } from "#api/time.ts";
import { controllerReference, type Pod, pods, replicaSets } from "#kube/builtin.ts";
import { ControlPlane } from "#test/integration/support/control-plane.ts";
import { createPersistentWorkspace } from "./index.ts";

const namespace = "default";
let plane: ControlPlane;
beforeEach(async () => {
  plane = new ControlPlane();
  await plane.start((deps, informers) => [createPersistentWorkspace(deps, informers)]);
});
afterEach(() => plane.stop());

/** A Runtime with its ReplicaSet, as the pool makes them. */
async function pool() {
  const runtime = await plane.create(runtimes, {
    metadata: { name: "bash", namespace },
    spec: { template: { spec: { containers: [{ name: "runtime", image: "x" }] } } },
  });
  const labelled = { [labels.runtime]: "bash" };
  return plane.create(replicaSets, {
    metadata: {
      name: "runtime-bash-1",
      namespace,
      labels: labelled,
      ownerReferences: [controllerReference(runtimes, runtime)],
    },
    spec: {
      selector: { matchLabels: labelled },
      template: { metadata: { labels: labelled }, spec: { containers: [{ name: "runtime", image: "x" }] } },
    },
  });
}

async function pod(name: string, set?: Awaited<ReturnType<typeof pool>>, ready = true): Promise<Pod> {
  return plane.create(
    pods,
    {
      metadata: {
        name,
        namespace,
        labels: { [labels.runtime]: "bash" },
        ...(set === undefined ? {} : { ownerReferences: [controllerReference(replicaSets, set)] }),
      },
      spec: { containers: [{ name: "runtime", image: "x" }], nodeName: "n" },
    },
    { phase: "Running", conditions: [{ type: "Ready", status: ready ? "True" : "False" }] },
  );
}

async function workspace(spec: Partial<PersistentWorkspaceSpec> = {}) {
  await plane.create(persistentWorkspaces, { metadata: { name: "ws", namespace }, spec: { runtime: "bash", ...spec } });
  await plane.settle();
}

const read = () => plane.find(persistentWorkspaces, "ws");
const phase = async () => (await read())?.status?.phase;

async function run(name: string) {
  await plane.create(runs, {
    metadata: { name, namespace },
    spec: { runtime: "bash", source: { inline: "exit" }, workspace: { name: "ws" } },
  });
  await plane.settle();
}

async function endRun(name: string) {
  const one = await plane.client.of(runs).get({ name, namespace });
  const status = { phase: "Cancelled" as const, completionTime: timestamp(plane.clock.now()) };
  await plane.client.of(runs).update({ ...one, status }, "status");
  await plane.settle();
}

/** What the agent does: removes the bytes, then the finalizer. */
async function agentCleansUp() {
  await plane.client.of(persistentWorkspaces).patch({ name: "ws", namespace }, { metadata: { finalizers: [] } });
  await plane.settle();
}

test("a workspace waits for a ready Pod, gets its finalizer, and is bound with Pod, UID and path", async () => {
  const set = await pool();
  await workspace();
  expect((await read())?.status).toMatchObject({ phase: "Pending", reason: "NoReadyRuntimePods" });
  const made = await pod("p", set);
  await plane.settle();
  const bound = await read();
  expect(bound?.metadata.finalizers).toEqual([workspaceFinalizer]);
  expect(bound?.status).toMatchObject({
    phase: "Bound",
    runtime: "bash",
    boundPod: "p",
    boundPodUID: made.metadata.uid,
    path: "/workspace/persistent/ws",
  });
});

test("the finalizer is there before the binding is written, and Released before the deletion is asked for", async () => {
  const done: string[] = [];
  plane.api.faults.onRequest = ({ verb, resource, subresource, body }) => {
    if (!resource.startsWith("persistentworkspaces.") || !["patch", "update", "delete"].includes(verb))
      return undefined;
    const { metadata, status } = (body ?? {}) as { metadata?: { finalizers?: string[] }; status?: { phase?: string } };
    const what = subresource === "status" ? status?.phase : verb === "patch" ? metadata?.finalizers?.join() : "";
    done.push(`${verb} ${what}`.trim());
    return undefined;
  };
  await pod("p", await pool());
  await workspace({ ttlSecondsAfterUnused: 10 });
  await plane.elapse(10_000);
  expect(done.filter((one) => !one.endsWith("Pending"))).toEqual([
    `patch ${workspaceFinalizer}`,
    "update Bound",
    "update Released",
    "delete",
  ]);
});

test("Pods that are not ready, drain, are going or have ended are no candidates", async () => {
  const set = await pool();
  await pod("not-ready", set, false);
  const draining = await pod("draining", set);
  const drain = { metadata: { annotations: { [annotations.draining]: timestamp(plane.clock.now()) } } };
  await plane.client.of(pods).patch(draining.metadata, drain);
  const going = await pod("going", set);
  await plane.client.of(pods).patch(going.metadata, { metadata: { finalizers: ["example.com/held"] } });
  await plane.client.of(pods).delete(going.metadata, { gracePeriodSeconds: 0 });
  const ended = await pod("ended", set);
  const status = { ...ended.status, phase: "Failed" as const };
  await plane.client.of(pods).update({ ...(await plane.client.of(pods).get(ended.metadata)), status }, "status");
  await plane.settle();
  await workspace();
  expect((await read())?.status).toMatchObject({ phase: "Pending", reason: "NoReadyRuntimePods" });
  await pod("good", set);
  await plane.settle();
  expect((await read())?.status).toMatchObject({ phase: "Bound", boundPod: "good" });
});

test("a Pod that only carries the label belongs to no pool and binds nothing", async () => {
  await pool();
  await workspace();
  await pod("forged");
  await plane.settle();
  expect(await phase()).toBe("Pending");
});

test("a bound workspace whose Pod is deleted is Lost and gives up its finalizer; a new Pod changes nothing", async () => {
  const set = await pool();
  await pod("p", set);
  await workspace();
  await plane.client.of(pods).delete({ name: "p", namespace }, { gracePeriodSeconds: 0 });
  await plane.settle();
  expect((await read())?.status).toMatchObject({ phase: "Lost", reason: "BoundPodDeleted", boundPod: "p" });
  expect((await read())?.metadata.finalizers ?? []).toEqual([]);
  await pod("p", set);
  await plane.elapse(60_000);
  expect(await phase()).toBe("Lost");
});

test("unused for its TTL it is Released, its deletion is requested, and the finalizer holds it until the agent is done", async () => {
  await pod("p", await pool());
  await workspace({ ttlSecondsAfterUnused: 100 });
  await plane.elapse(99_000);
  expect(await phase()).toBe("Bound");
  await plane.elapse(1000);
  const released = await read();
  expect(released?.status).toMatchObject({ phase: "Released", reason: "TTLExpired" });
  expect(released?.metadata.deletionTimestamp).toBeDefined();
  expect(released?.metadata.finalizers).toEqual([workspaceFinalizer]);
  await agentCleansUp();
  expect(await read()).toBeUndefined();
});

test("unused from the beginning it has its whole TTL after it was bound, however long it waited for that", async () => {
  const set = await pool();
  await workspace({ ttlSecondsAfterUnused: 100 });
  await plane.elapse(1_000_000);
  expect(await phase()).toBe("Pending");
  await pod("p", set);
  await plane.settle();
  expect((await read())?.status?.boundTime).toBe(timestamp(plane.clock.now()));
  await plane.elapse(99_000);
  expect(await phase()).toBe("Bound");
  await plane.elapse(1000);
  expect(await phase()).toBe("Released");
});

test("without a TTL it stays for ever", async () => {
  await pod("p", await pool());
  await workspace();
  await run("r");
  await endRun("r");
  await plane.elapse(10_000_000);
  expect(await phase()).toBe("Bound");
});

test("a Pod that is not ready keeps the binding; the conditions show it, and that it is ready again", async () => {
  const made = await pod("p", await pool());
  await workspace();
  const shown = async () => {
    const { status } = (await read()) ?? {};
    const ready = status?.conditions?.find(({ type }) => type === "PodReady");
    return [status?.phase, status?.boundPod, status?.boundPodUID, ready?.status];
  };
  const become = async (status: "True" | "False") => {
    const live = await plane.client.of(pods).get(made.metadata);
    const conditions = [{ type: "Ready", status }];
    await plane.client.of(pods).update({ ...live, status: { ...live.status, conditions } } as Pod, "status");
  };
  expect(await shown()).toEqual(["Bound", "p", made.metadata.uid, "True"]);
  await become("False");
  await plane.elapse(3_600_000);
  expect(await shown()).toEqual(["Bound", "p", made.metadata.uid, "False"]);
  await become("True");
  await plane.settle();
  expect(await shown()).toEqual(["Bound", "p", made.metadata.uid, "True"]);
});

test("lastUsedTime is written once for each change to unused, and is the latest end of all its Runs", async () => {
  await pod("p", await pool());
  await workspace();
  const written: (string | undefined)[] = [];
  const lastUsed = async () => {
    const time = (await read())?.status?.lastUsedTime;
    if (time !== written.at(-1)) written.push(time);
  };
  const ends: string[] = [];
  for (const round of ["one", "two"]) {
    for (const name of ["a", "b", "c"]) await run(`${round}-${name}`);
    await plane.elapse(10_000);
    for (const name of ["b", "a", "c"]) {
      await lastUsed();
      await endRun(`${round}-${name}`);
      if (name === "c") ends.push(timestamp(plane.clock.now()));
      await plane.elapse(name === "c" ? 1000 : 20_000);
    }
    await lastUsed();
    // Runs that go afterwards change nothing.
    for (const name of ["a", "b", "c"]) await plane.client.of(runs).delete({ name: `${round}-${name}`, namespace });
    await plane.elapse(100_000);
    await lastUsed();
  }
  expect(written.filter((time) => time !== undefined)).toEqual(ends);
});

test("the TTL counts from the end of the last Run, which becomes lastUsedTime once", async () => {
  await pod("p", await pool());
  await workspace({ ttlSecondsAfterUnused: 100 });
  await plane.elapse(50_000);
  await run("r");
  await plane.elapse(1000);
  expect((await read())?.status).toMatchObject({ activeRuns: 1 });
  await plane.elapse(199_000);
  expect(await phase()).toBe("Bound");
  await endRun("r");
  const ended = timestamp(plane.clock.now());
  await plane.elapse(1000);
  expect((await read())?.status).toMatchObject({ activeRuns: 0, lastUsedTime: ended });
  const { resourceVersion } = (await read())?.metadata ?? {};
  await plane.elapse(98_000);
  expect((await read())?.metadata.resourceVersion).toBe(resourceVersion);
  await plane.elapse(1000);
  expect(await phase()).toBe("Released");
});

test("steps that follow one another within a second cost the workspace no write", async () => {
  await pod("p", await pool());
  await workspace();
  await run("one");
  await plane.elapse(10_000);
  plane.api.counters.reset();
  for (const [ending, coming] of [
    ["one", "two"],
    ["two", "three"],
    ["three", "four"],
  ] as const) {
    await endRun(ending);
    await plane.elapse(500);
    await run(coming);
    await plane.elapse(200);
  }
  expect(plane.api.counters.writes("persistentworkspaces.kruntimes.io")).toBe(0);
});

test("Runs of an earlier workspace of that name are no use of this one", async () => {
  await run("before");
  await endRun("before");
  await pod("p", await pool());
  await plane.elapse(1000);
  await workspace();
  await plane.elapse(10_000);
  expect((await read())?.status).toMatchObject({ phase: "Bound" });
  expect((await read())?.status?.lastUsedTime).toBeUndefined();
});

test("the end of the last Run is the last use, although the Run was deleted before that was written down", async () => {
  await pod("p", await pool());
  await workspace();
  await run("r");
  await plane.elapse(10_000);
  await endRun("r");
  const ended = timestamp(plane.clock.now());
  await plane.elapse(500);
  await plane.client.of(runs).delete({ name: "r", namespace });
  await plane.elapse(10_000);
  expect((await read())?.status).toMatchObject({ activeRuns: 0, lastUsedTime: ended });
});

test("a Pod whose ReplicaSet becomes known last is bound then", async () => {
  plane.api.faults.onWatchEvent = ({ resource }) => (resource === "replicasets.apps" ? { delayMs: 5000 } : undefined);
  await pod("p", await pool());
  await workspace();
  expect(await phase()).toBe("Pending");
  await plane.elapse(10_000);
  expect(await phase()).toBe("Bound");
});

test("a Run that is over within a second costs the workspace one write, the last use", async () => {
  await pod("p", await pool());
  await workspace();
  plane.api.counters.reset();
  await run("short");
  await plane.elapse(300);
  await endRun("short");
  const ended = timestamp(plane.clock.now());
  await plane.elapse(10_000);
  expect((await read())?.status).toMatchObject({ activeRuns: 0, lastUsedTime: ended });
  expect(plane.api.counters.writes("persistentworkspaces.kruntimes.io")).toBe(1);
});

test("a Run that was deleted while it was active has used the workspace until then", async () => {
  await pod("p", await pool());
  await workspace();
  await run("short");
  await plane.elapse(300);
  await plane.client.of(runs).delete({ name: "short", namespace });
  const ended = timestamp(plane.clock.now());
  await plane.elapse(10_000);
  expect((await read())?.status?.lastUsedTime).toBe(ended);
});

test("a use that goes on in short steps is noticed after a second", async () => {
  await pod("p", await pool());
  await workspace();
  for (let n = 0; n < 4; n++) {
    await run(`step-${n}`);
    await plane.elapse(400);
    await endRun(`step-${n}`);
  }
  expect((await read())?.status).toMatchObject({ activeRuns: 1 });
});

test("Retain keeps it for ever, and an explicit deletion still removes its data", async () => {
  await pod("p", await pool());
  await workspace({ ttlSecondsAfterUnused: 1, cleanupPolicy: "Retain" });
  await plane.elapse(1_000_000);
  expect(await phase()).toBe("Bound");
  await plane.client.of(persistentWorkspaces).delete({ name: "ws", namespace });
  await plane.settle();
  expect((await read())?.status).toMatchObject({ phase: "Released", reason: "DeletionRequested" });
  expect((await read())?.metadata.finalizers).toEqual([workspaceFinalizer]);
});

test("deletion while its Pod is not ready waits, and goes on when the Pod is gone", async () => {
  const set = await pool();
  const made = await pod("p", set);
  await workspace();
  const status = { ...made.status, conditions: [{ type: "Ready", status: "False" as const }] };
  await plane.client.of(pods).update({ ...(await plane.client.of(pods).get(made.metadata)), status }, "status");
  await plane.client.of(persistentWorkspaces).delete({ name: "ws", namespace });
  await plane.elapse(600_000);
  expect(await phase()).toBe("Released");
  await plane.client.of(pods).delete({ name: "p", namespace }, { gracePeriodSeconds: 0 });
  await plane.settle();
  expect(await read()).toBeUndefined();
});

test("deleted before it was ever bound it goes at once", async () => {
  await pool();
  await workspace();
  await plane.client.of(persistentWorkspaces).delete({ name: "ws", namespace });
  await plane.settle();
  expect(await read()).toBeUndefined();
});

test("a workspace whose Pod came and went while its watch was blind becomes Lost all the same", async () => {
  const set = await pool();
  await plane.settle();
  plane.api.faults.onWatchEvent = ({ resource }) => (resource === "pods" ? { drop: true } : undefined);
  const { uid = "" } = (await pod("p", set)).metadata;
  await workspace();
  // Bound by a controller that saw the Pod, before this one came.
  const waiting = await plane.client.of(persistentWorkspaces).get({ name: "ws", namespace });
  const status = { phase: "Bound" as const, boundPod: "p", boundPodUID: uid, boundTime: timestamp(plane.clock.now()) };
  await plane.client.of(persistentWorkspaces).update({ ...waiting, status }, "status");
  await plane.settle();
  expect(await phase()).toBe("Bound");
  await plane.client.of(pods).delete({ name: "p", namespace }, { gracePeriodSeconds: 0 });
  await plane.elapse(10_000);
  expect(await phase()).toBe("Lost");
});

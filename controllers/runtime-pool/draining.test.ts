import { afterEach, beforeEach, expect, test } from "vitest";
import { findCondition } from "#api/conditions.ts";
import { labels } from "#api/labels.ts";
import type { Condition } from "#api/meta.ts";
import { persistentWorkspaces, runs, runtimes } from "#api/resources.ts";
import { timestamp } from "#api/time.ts";
import { controllerReference, type Pod, pods, type ReplicaSet, replicaSets } from "#kube/builtin.ts";
import { ControlPlane } from "#test/integration/support/control-plane.ts";
import { createRuntimePool } from "./index.ts";

const namespace = "default";
let plane: ControlPlane;
beforeEach(async () => {
  plane = new ControlPlane();
  await plane.start((deps, informers) => [createRuntimePool(deps, informers, { image: "x", clusterUid: "c" })]);
  await plane.create(runtimes, {
    metadata: { name: "bash", namespace },
    spec: { replicas: 2, template: { spec: { containers: [{ name: "runtime", image: "x" }] } } },
  });
  await plane.settle();
});
afterEach(() => plane.stop());

async function onlySet(): Promise<ReplicaSet> {
  const [set] = (await plane.client.of(replicaSets).list({ namespace })).items;
  if (set === undefined) throw new Error("there is no ReplicaSet");
  return set;
}

/** A ready Pod, as the ReplicaSet controller and the kubelet would make it. */
async function pod(name: string): Promise<Pod> {
  return plane.create(
    pods,
    {
      metadata: {
        name,
        namespace,
        labels: { [labels.runtime]: "bash" },
        ownerReferences: [controllerReference(replicaSets, await onlySet())],
      },
      spec: { containers: [{ name: "runtime", image: "x" }], nodeName: "n" },
    },
    { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
  );
}

const scale = (replicas: number) =>
  plane.client.of(runtimes).patch({ name: "bash", namespace }, { spec: { replicas } });

const letGo = async () =>
  (await plane.client.of(pods).list({ namespace })).items
    .filter(({ metadata }) => metadata.annotations?.["controller.kubernetes.io/pod-deletion-cost"] !== undefined)
    .map(({ metadata }) => metadata.name);

test("a draining Pod stays for a Run that waits for the files of a workspace there", async () => {
  const home = await pod("home");
  await pod("other");
  const bound = { boundPod: "home", boundPodUID: home.metadata.uid ?? "" };
  await plane.create(
    persistentWorkspaces,
    { metadata: { name: "ws", namespace }, spec: { runtime: "bash" } },
    { phase: "Bound", ...bound },
  );
  const run = await plane.create(runs, {
    metadata: { name: "r", namespace },
    spec: { runtime: "bash", source: { inline: "true" }, workspace: { name: "ws" } },
  });
  await scale(0);
  await plane.elapse(10_000);
  expect(await letGo()).toEqual(["other"]);
  const ended = { phase: "Cancelled" as const, completionTime: timestamp(plane.clock.now()) };
  await plane.client.of(runs).update({ ...run, status: ended }, "status");
  await plane.elapse(10_000);
  expect(await letGo()).toEqual(["home", "other"]);
  expect((await onlySet()).spec.replicas).toBe(0);
});

test("a ReplicaSet of that name that is somebody else's is told, and replaced when it is gone", async () => {
  const set = await onlySet();
  await plane.client.of(replicaSets).patch(set.metadata, { metadata: { ownerReferences: null } });
  await plane.elapse(20_000);
  const conditions = (await plane.find(runtimes, "bash"))?.status?.conditions as readonly Condition[] | undefined;
  expect(findCondition(conditions, "Degraded")).toMatchObject({
    status: "True",
    message: expect.stringContaining(set.metadata.name),
  });
  await plane.client.of(replicaSets).delete(set.metadata);
  await plane.elapse(20_000);
  const next = await onlySet();
  expect(next.metadata.uid).not.toBe(set.metadata.uid);
  expect(next.metadata.ownerReferences?.[0]?.kind).toBe("Runtime");
});

test("the number of Runs that come and go is looked at now and then, not for each of them", async () => {
  const home = await pod("home");
  await pod("other");
  await plane.elapse(10_000);
  plane.api.counters.reset();
  for (let n = 0; n < 20; n++) {
    const placed = { assignedPod: "home", assignedPodUID: home.metadata.uid ?? "", assignmentEpoch: 1 };
    await plane.create(
      runs,
      { metadata: { name: `r${n}`, namespace }, spec: { runtime: "bash", source: { inline: "true" } } },
      { phase: "Scheduled", ...placed },
    );
    await plane.elapse(100);
  }
  expect(plane.api.counters.writes("runtimes.kruntimes.io")).toBe(1);
  await plane.elapse(5000);
  expect((await plane.find(runtimes, "bash"))?.status?.activeRuns).toBe(20);
});

import { expect, test } from "vitest";
import { type Pod, type PodStatus, pods, type ReplicaSet, replicaSets } from "#kube/builtin.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { setup } from "../apiserver/testing/setup.ts";
import { createReplicaSetController } from "./controller.ts";
import { deletionCostAnnotation } from "./rank.ts";

const at = { name: "rs", namespace: "default" };

const replicaSet = (replicas: number, more: Partial<ReplicaSet["spec"]> = {}): ReplicaSet => ({
  metadata: { ...at },
  spec: {
    replicas,
    selector: { matchLabels: { app: "x" } },
    template: {
      metadata: { labels: { app: "x" }, annotations: { note: "n" } },
      spec: { containers: [{ name: "c", image: "i" }] },
    },
    ...more,
  },
});

async function start() {
  const { client, clock, server } = setup();
  const controller = createReplicaSetController({ client, clock, random: seededRandom(2), logger: silentLogger });
  await controller.start();
  const setApi = client.of(replicaSets);
  const podApi = client.of(pods);
  return {
    client,
    clock,
    server,
    controller,
    setApi,
    podApi,
    /** Waits until nothing is left to do at this time. */
    async settled() {
      for (let quiet = 0; quiet < 3; quiet++) {
        await clock.settle();
        await controller.idle();
      }
    },
    async pods(): Promise<Pod[]> {
      await this.settled();
      return (await podApi.list({ namespace: "default" })).items;
    },
    async status() {
      await this.settled();
      return (await setApi.get(at)).status;
    },
    write: (pod: Pod, status: PodStatus) => podApi.update({ ...pod, status }, "status"),
    scale: (replicas: number) => setApi.patch(at, { spec: { replicas } }),
  };
}

const ready = (since: string): PodStatus => ({
  phase: "Running",
  conditions: [{ type: "Ready", status: "True", lastTransitionTime: since }],
});

test("missing Pods are made from the template and owned by the set", async () => {
  const cluster = await start();
  const set = await cluster.setApi.create(replicaSet(3));
  const made = await cluster.pods();
  expect(made).toHaveLength(3);
  for (const pod of made) {
    expect(pod.metadata.name).toMatch(/^rs-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    expect(pod).toMatchObject({
      metadata: {
        generateName: "rs-",
        labels: { app: "x" },
        annotations: { note: "n" },
        ownerReferences: [
          {
            apiVersion: "apps/v1",
            kind: "ReplicaSet",
            name: "rs",
            uid: set.metadata.uid,
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      },
      spec: { containers: [{ name: "c", image: "i" }] },
      status: { phase: "Pending" },
    });
  }
  expect(await cluster.status()).toEqual({ replicas: 3, fullyLabeledReplicas: 3, observedGeneration: 1 });
  await cluster.controller.stop();
});

test("a Pod that was deleted or has ended is replaced", async () => {
  const cluster = await start();
  await cluster.setApi.create(replicaSet(2));
  const [first, second] = await cluster.pods();
  if (first === undefined || second === undefined) throw new Error("two Pods expected");
  await cluster.podApi.delete(first.metadata);
  await cluster.write(second, { phase: "Failed" });
  const after = await cluster.pods();
  expect(after.filter(({ status }) => status?.phase === "Pending")).toHaveLength(2);
  expect(after.map(({ metadata }) => metadata.name)).toContain(second.metadata.name);
  expect((await cluster.status())?.replicas).toBe(2);
  await cluster.controller.stop();
});

test("surplus goes, the least useful first", async () => {
  const cluster = await start();
  await cluster.setApi.create(replicaSet(3));
  const [a, b, c] = await cluster.pods();
  if (a === undefined || b === undefined || c === undefined) throw new Error("three Pods expected");
  await cluster.write(a, ready("2026-01-01T00:00:00Z"));
  await cluster.write(c, ready("2026-01-01T00:00:00Z"));
  await cluster.podApi.patch(a.metadata, { metadata: { annotations: { [deletionCostAnnotation]: "-1" } } });
  await cluster.scale(2);
  expect((await cluster.pods()).map(({ metadata }) => metadata.name)).toEqual([a.metadata.name, c.metadata.name]);
  await cluster.scale(1);
  expect((await cluster.pods()).map(({ metadata }) => metadata.name)).toEqual([c.metadata.name]);
  await cluster.scale(0);
  expect(await cluster.pods()).toEqual([]);
  expect(await cluster.status()).toEqual({ replicas: 0, observedGeneration: 4 });
  await cluster.controller.stop();
});

test("a Pod in its grace period no longer counts and is not deleted again", async () => {
  const cluster = await start();
  await cluster.setApi.create(replicaSet(1));
  const [pod] = await cluster.pods();
  if (pod === undefined) throw new Error("a Pod expected");
  await cluster.server.handle({
    method: "POST",
    path: `/api/v1/namespaces/default/pods/${pod.metadata.name}/binding`,
    body: { target: { name: "n" } },
  });
  await cluster.podApi.delete(pod.metadata);
  expect(await cluster.pods()).toHaveLength(2);
  expect((await cluster.status())?.replicas).toBe(1);
  expect(cluster.server.counters.count("delete", "pods")).toBe(1);
  await cluster.controller.stop();
});

test("ready and available Pods are counted, available after minReadySeconds", async () => {
  const cluster = await start();
  await cluster.setApi.create(replicaSet(1, { minReadySeconds: 10 }));
  const [pod] = await cluster.pods();
  if (pod === undefined) throw new Error("a Pod expected");
  await cluster.write(pod, ready("2026-01-01T00:00:00Z"));
  expect(await cluster.status()).toMatchObject({ replicas: 1, readyReplicas: 1 });
  expect(await cluster.status()).not.toHaveProperty("availableReplicas");
  await cluster.clock.elapse(10_000);
  expect(await cluster.status()).toMatchObject({ readyReplicas: 1, availableReplicas: 1 });
  await cluster.controller.stop();
});

test("a deleted set takes its Pods with it", async () => {
  const cluster = await start();
  await cluster.setApi.create(replicaSet(2));
  expect(await cluster.pods()).toHaveLength(2);
  await cluster.setApi.delete(at);
  expect(await cluster.pods()).toEqual([]);
  await cluster.controller.stop();
});

test("an orphan that matches is adopted instead of making another", async () => {
  const cluster = await start();
  await cluster.podApi.create({
    metadata: { name: "orphan", namespace: "default", labels: { app: "x" } },
    spec: { containers: [{ name: "c", image: "i" }] },
  });
  const set = await cluster.setApi.create(replicaSet(1));
  const after = await cluster.pods();
  expect(after.map(({ metadata }) => metadata.name)).toEqual(["orphan"]);
  expect(after[0]?.metadata.ownerReferences?.[0]?.uid).toBe(set.metadata.uid);
  await cluster.controller.stop();
});

test("a Pod that was relabelled is let go and replaced", async () => {
  const cluster = await start();
  await cluster.setApi.create(replicaSet(1));
  const [pod] = await cluster.pods();
  if (pod === undefined) throw new Error("a Pod expected");
  await cluster.podApi.patch(pod.metadata, { metadata: { labels: { app: "y" } } });
  const after = await cluster.pods();
  expect(after).toHaveLength(2);
  const released = after.find(({ metadata }) => metadata.name === pod.metadata.name);
  expect(released?.metadata.ownerReferences).toBeUndefined();
  await cluster.controller.stop();
});

test("a refusal is shown in the status and tried again", async () => {
  const cluster = await start();
  cluster.server.faults.onRequest = ({ verb, resource }) =>
    verb === "create" && resource === "pods" ? { kind: "internal" } : undefined;
  await cluster.setApi.create(replicaSet(1));
  expect(await cluster.status()).toMatchObject({
    replicas: 0,
    conditions: [{ type: "ReplicaFailure", status: "True", reason: "FailedCreate" }],
  });
  cluster.server.faults.onRequest = undefined;
  await cluster.clock.elapse(60_000);
  expect(await cluster.pods()).toHaveLength(1);
  expect(await cluster.status()).toEqual({ replicas: 1, fullyLabeledReplicas: 1, observedGeneration: 1 });
  await cluster.controller.stop();
});

test("a lost answer to a creation makes one Pod too many at most, and it goes again", async () => {
  const cluster = await start();
  let lost = 0;
  cluster.server.faults.onRequest = ({ verb, resource }) => {
    if (verb !== "create" || resource !== "pods" || lost > 0) return undefined;
    lost += 1;
    return { kind: "timeoutAfterCommit" };
  };
  await cluster.setApi.create(replicaSet(2));
  await cluster.clock.elapse(60_000);
  expect(await cluster.pods()).toHaveLength(2);
  await cluster.controller.stop();
});

test("a Pod that the caches never knew of is replaced, too", async () => {
  const cluster = await start();
  let creations = 0;
  cluster.server.faults.onRequest = ({ verb, resource }) =>
    verb === "create" && resource === "pods" && creations++ === 0 ? { kind: "timeoutAfterCommit" } : undefined;
  cluster.server.faults.onWatchEvent = ({ resource }) => (resource === "pods" ? { drop: true } : undefined);
  await cluster.setApi.create(replicaSet(1));
  await cluster.settled();
  await cluster.clock.elapse(10_000);
  const [unknown] = await cluster.pods();
  if (unknown === undefined) throw new Error("a Pod expected");
  await cluster.podApi.delete(unknown.metadata);
  await cluster.clock.elapse(10_000);
  expect(await cluster.pods()).toMatchObject([{ metadata: { ownerReferences: [{ name: "rs" }] } }]);
  await cluster.controller.stop();
});

test("slow watches do not make Pods twice", async () => {
  const cluster = await start();
  cluster.server.faults.onWatchEvent = () => ({ delayMs: 500 });
  await cluster.setApi.create(replicaSet(3));
  await cluster.clock.elapse(5000);
  expect(await cluster.pods()).toHaveLength(3);
  expect(cluster.server.counters.count("create", "pods")).toBe(3);
  let deletions = 0;
  cluster.server.faults.onRequest = ({ verb }) => {
    if (verb === "delete") deletions += 1;
    return undefined;
  };
  await cluster.scale(1);
  await cluster.clock.elapse(5000);
  expect(await cluster.pods()).toHaveLength(1);
  expect(deletions).toBe(2);
  await cluster.controller.stop();
});

const late: Record<string, string> = {
  "the Pod is seen to go late": "pods",
  "the smaller number is seen late": "replicasets.apps",
};

test.each(Object.entries(late))(
  "somebody removes a Pod and wants one less: no other is removed or made while %s",
  async (_, resource) => {
    const cluster = await start();
    await cluster.setApi.create(replicaSet(2));
    const [first, second] = await cluster.pods();
    cluster.server.faults.onWatchEvent = (watch) => (watch.resource === resource ? { delayMs: 500 } : undefined);
    cluster.server.counters.reset();
    const removed = { name: first?.metadata.name ?? "", namespace: "default" };
    if (resource === "replicasets.apps") await cluster.scale(1);
    await cluster.podApi.delete(removed, { gracePeriodSeconds: 0 });
    if (resource === "pods") await cluster.scale(1);
    await cluster.clock.elapse(5000);
    expect((await cluster.pods()).map(({ metadata }) => metadata.name)).toEqual([second?.metadata.name]);
    expect(cluster.server.counters.count("create", "pods")).toBe(0);
    await cluster.controller.stop();
  },
);

test("a settled set costs no writes", async () => {
  const cluster = await start();
  await cluster.setApi.create(replicaSet(2));
  await cluster.pods();
  cluster.server.counters.reset();
  await cluster.clock.elapse(60_000);
  expect(cluster.server.counters.writes("pods") + cluster.server.counters.writes("replicasets.apps")).toBe(0);
  await cluster.controller.stop();
});

/** Watch events that come twice, late, in bursts, or after a break: agents and the controller of workspaces end up at the same. */
import { afterEach, expect, test } from "vitest";
import { labels } from "#api/labels.ts";
import { persistentWorkspaces, runs, runtimes } from "#api/resources.ts";
import { parseTime, timestamp } from "#api/time.ts";
import { createPersistentWorkspace } from "#controllers/persistent-workspace/index.ts";
import { controllerReference, type Pod, pods, replicaSets } from "#kube/builtin.ts";
import { orNothing } from "#kube/or-nothing.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { AgentWorld } from "./support/agent-world.ts";
import { ControlPlane } from "./support/control-plane.ts";

const namespace = "default";
const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

interface EventFault {
  readonly delayMs?: number;
  readonly duplicate?: boolean;
  readonly disconnect?: boolean;
}

const random = seededRandom(11);
let count = 0;
const faults: Record<string, () => EventFault> = {
  twice: () => ({ duplicate: true }),
  late: () => ({ delayMs: 3000 }),
  "in bursts": () => ({ delayMs: count++ % 4 === 0 ? 5000 : 0 }),
  "late, twice and after a break, as it comes": () => ({
    delayMs: Math.floor(random.next() * 2000),
    duplicate: random.next() < 0.5,
    disconnect: random.next() < 0.1,
  }),
};

test.each(Object.entries(faults))(
  "an agent whose events come %s starts each Run once, ends each, and removes a workspace when nobody uses it",
  async (_, fault) => {
    const world = new AgentWorld();
    cleanups.push(() => {
      world.crash();
      world.api.close();
    });
    world.api.faults.onWatchEvent = fault;
    const workspace = { name: "ws" };
    const api = world.client.of(persistentWorkspaces);
    await world.createWorkspace("ws");
    world.programs.set("writer", () => ({ durationMs: 10_000, writesFiles: [{ path: "kept", content: "x" }] }));
    world.programs.set("endless", () => ({ durationMs: 3_600_000 }));
    world.start();
    for (const name of ["writer", "endless"]) {
      await world.createRun(name, { workspace });
      await world.assign(name);
    }
    await world.createRun("taken-away");
    await world.assign("taken-away");
    await world.until(() => world.executor.running.length === 3);
    await world.client.of(runs).delete({ name: "taken-away", namespace });
    await world.until(() => world.executor.running.length === 2);

    await api.delete({ name: "ws", namespace });
    expect(await world.untilOver("writer")).toMatchObject({ phase: "Succeeded", attempt: 1 });
    // Longer than any event is late: the workspace is still used.
    const since = world.clock.now();
    await world.until(() => world.clock.now() > since + 20_000);
    expect(await world.files.stat("/workspace/persistent/ws/kept")).toBeDefined();
    await world.client
      .of(runs)
      .patch({ name: "endless", namespace }, { spec: { termination: { mode: "Immediate", message: "enough" } } });
    expect(await world.untilOver("endless")).toMatchObject({ phase: "Cancelled", attempt: 1 });
    await world.until(async () => (await orNothing(api.get({ name: "ws", namespace }))) === undefined);
    expect(await world.files.stat("/workspace/persistent/ws")).toBeUndefined();
    expect([...world.executor.starts.values()]).toEqual([1, 1, 1]);
    await world.until(async () => (await world.executor.list()).length === 0);
  },
);

test.each(Object.entries(faults))(
  "a controller whose events come %s binds a workspace once, counts its TTL from the last use, and loses it for good",
  async (_, fault) => {
    const plane = new ControlPlane();
    cleanups.push(() => plane.stop());
    plane.api.faults.onWatchEvent = fault;
    await plane.start((deps, informers) => [createPersistentWorkspace(deps, informers)]);
    const spec = { containers: [{ name: "runtime", image: "x" }] };
    const runtime = await plane.create(runtimes, {
      metadata: { name: "bash", namespace },
      spec: { template: { spec } },
    });
    const own = { [labels.runtime]: "bash" };
    const owner = [controllerReference(runtimes, runtime)];
    const set = await plane.create(replicaSets, {
      metadata: { name: "set", namespace, labels: own, ownerReferences: owner },
      spec: { selector: { matchLabels: own }, template: { metadata: { labels: own }, spec } },
    });
    const makePod = (name: string): Promise<Pod> =>
      plane.create(
        pods,
        {
          metadata: { name, namespace, labels: own, ownerReferences: [controllerReference(replicaSets, set)] },
          spec: { ...spec, nodeName: "n" },
        },
        { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
      );
    const find = (name: string) => plane.find(persistentWorkspaces, name);
    const phaseOf = async (name: string) => (await find(name))?.status?.phase;
    for (const name of ["used", "lost", "deleted"]) {
      const made = { metadata: { name, namespace }, spec: { runtime: "bash", ttlSecondsAfterUnused: 60 } };
      await plane.create(persistentWorkspaces, made);
    }
    const pod = await makePod("p");
    for (const name of ["used", "lost", "deleted"]) await plane.until(async () => (await phaseOf(name)) === "Bound");
    expect((await find("used"))?.status?.boundPodUID).toBe(pod.metadata.uid);

    // Used for longer than its TTL, then unused.
    const use = async (name: string) => {
      const run = { runtime: "bash", source: { inline: "exit" }, workspace: { name } };
      await plane.create(runs, { metadata: { name: `of-${name}`, namespace }, spec: run });
    };
    const endUse = async (name: string) => {
      const one = await plane.client.of(runs).get({ name: `of-${name}`, namespace });
      const status = { phase: "Cancelled" as const, completionTime: timestamp(plane.clock.now()) };
      await plane.client.of(runs).update({ ...one, status }, "status");
      return plane.clock.now();
    };
    for (const name of ["used", "lost", "deleted"]) await use(name);
    await plane.elapse(120_000);
    expect(await phaseOf("used")).toBe("Bound");
    const ended = await endUse("used");
    await plane.until(async () => (await phaseOf("used")) === "Released");
    expect(plane.clock.now()).toBeGreaterThanOrEqual(ended + 60_000);
    const { lastUsedTime } = (await find("used"))?.status ?? {};
    expect(parseTime(lastUsedTime)).toBe(ended);
    await plane.client.of(persistentWorkspaces).delete({ name: "deleted", namespace });
    await plane.until(async () => (await phaseOf("deleted")) === "Released");
    // The agent of the Pod is done with one of them when the Pod goes.
    const finalizers = { metadata: { finalizers: [] } };
    await plane.client.of(persistentWorkspaces).patch({ name: "deleted", namespace }, finalizers);
    await plane.client.of(pods).delete({ name: "p", namespace }, { gracePeriodSeconds: 0 });
    await makePod("p");
    await plane.until(async () => (await find("used")) === undefined);
    await plane.until(async () => (await phaseOf("lost")) === "Lost");
    await endUse("lost");
    await plane.elapse(600_000);
    expect(await find("deleted")).toBeUndefined();
    // Lost for good, whatever events still came of Pods of that name.
    expect((await find("lost"))?.status).toMatchObject({ phase: "Lost", boundPodUID: pod.metadata.uid });
  },
);

import { afterAll, beforeAll, expect, test } from "vitest";
import type { Run } from "#api/kinds/run.ts";
import { runs, runtimes } from "#api/resources.ts";
import { parseTime } from "#api/time.ts";
import { persistentVolumeClaims } from "#kube/builtin.ts";
import { bashRuntime, claim, namespace, TestCluster } from "./support/cluster.ts";

const count = 200;
const slots = 8;

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start();
  await cluster.create(persistentVolumeClaims, claim);
  await cluster.create(runtimes, bashRuntime({ replicas: 2, capacity: { resources: { runs: slots } } }));
  await cluster.ready("bash", 2);
});
afterAll(() => cluster.stop());

test("200 Runs on 2 Pods with 8 slots all succeed in three status writes each, and no Pod ever holds more than 8", async () => {
  const { counters } = cluster.cluster.api;
  counters.reset();
  const active = new Map<string, Set<string>>();
  let most = 0;
  const ended = new Map<string, Run>();
  const limit = new AbortController();
  const watching = (async () => {
    for await (const event of await cluster.client.of(runs).watch({ namespace, signal: limit.signal })) {
      if (event.type !== "ADDED" && event.type !== "MODIFIED") continue;
      const { metadata, status } = event.object;
      const isHeld = status?.phase === "Scheduled" || status?.phase === "Running";
      if (isHeld) {
        const held = active.get(status.assignedPod ?? "") ?? new Set();
        active.set(status.assignedPod ?? "", held.add(metadata.name));
        most = Math.max(most, held.size);
      } else for (const held of active.values()) held.delete(metadata.name);
      if (status?.completionTime !== undefined) ended.set(metadata.name, event.object);
      if (ended.size === count) return;
    }
  })();

  const begun = performance.now();
  await Promise.all(
    Array.from({ length: count }, (_, n) =>
      cluster.create(runs, {
        metadata: { name: `run-${n}`, namespace },
        spec: { runtime: "bash", mode: { task: { args: ["true"] } } },
      }),
    ),
  );
  await watching;
  limit.abort();
  const seconds = (performance.now() - begun) / 1000;
  console.log(`${count} Runs in ${seconds.toFixed(1)} s: ${(count / seconds).toFixed(0)} a second`);

  expect([...ended.values()].map(({ status }) => status?.phase)).toEqual(Array(count).fill("Succeeded"));
  expect(most).toBe(slots);
  expect(active.size).toBe(2);
  const writes = () =>
    counters.count("update", "runs.kruntimes.io", "status") + counters.count("patch", "runs.kruntimes.io", "status");
  const waitedLong = [...ended.values()].filter(
    ({ metadata, status }) =>
      (parseTime(status?.startTime) ?? 0) - (parseTime(metadata.creationTimestamp) ?? 0) > 30_000,
  ).length;
  // The last answer is counted a moment after its watch event.
  await expect.poll(writes).toBe(3 * count + waitedLong);
});

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runs, runtimes } from "#api/resources.ts";
import { persistentVolumeClaims } from "#kube/builtin.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { bashRun, bashRuntime, claim, namespace, TestCluster } from "../integration/support/cluster.ts";

let cluster: TestCluster;
let outside: string;
beforeAll(async () => {
  outside = await mkdtemp(join(tmpdir(), "krt-test-"));
  cluster = await TestCluster.start();
  await cluster.create(persistentVolumeClaims, claim);
  await cluster.create(runtimes, bashRuntime({ replicas: 2, capacity: { resources: { runs: 4 } } }));
  await cluster.ready("bash", 2);
});
afterAll(async () => {
  await cluster.stop();
  await rm(outside, { recursive: true, force: true });
});

/** Lines that the programs themselves have written: one for each start that really happened. */
async function started(): Promise<string[]> {
  return (await readFile(`${outside}/starts`, "utf8")).trim().split("\n");
}

test("agents and executors killed with SIGKILL at random: everything ends, and no attempt number starts twice", async () => {
  const count = 30;
  const random = seededRandom(11);
  const script = [
    `echo "$KRUNTIME_RUN_UID $KRUNTIME_ATTEMPT" >> ${outside}/starts`,
    "sleep 0.2",
    'echo done=$KRUNTIME_ATTEMPT >> "$KRUNTIME_OUTPUTS"',
    'echo x > "$KRUNTIME_ARTIFACTS_DIR/f"',
  ].join("\n");
  for (let n = 0; n < count; n++) {
    const retryPolicy = { maxAttempts: 20, backoff: "10ms" };
    await cluster.create(runs, bashRun(`r${n}`, script, { retryPolicy }));
  }
  let kills = 0;
  for (let n = 0; n < 100 && kills < 8; n++) {
    // The moments differ from run to run of this test; what must hold does not depend on them.
    await pause(20 + random.next() * 250);
    for (const pod of await cluster.pods("bash")) {
      const container = random.next() < 0.7 ? "runtimed" : "runtime";
      const ref = { name: pod.metadata.name, namespace };
      if (random.next() < 0.5 && cluster.cluster.node.crash(ref, container)) kills++;
    }
  }
  expect(kills).toBeGreaterThanOrEqual(8);
  const ended = await Promise.all(Array.from({ length: count }, (_, n) => cluster.finished(`r${n}`, 60_000)));
  expect(ended.map(({ status }) => status?.phase)).toEqual(Array(count).fill("Succeeded"));
  for (const { status } of ended) expect(status?.outputs).toEqual({ done: String(status?.attempt) });
  const lines = await started();
  expect(new Set(lines).size).toBe(lines.length);
  console.log(`${kills} kills, ${lines.length} starts of ${count} Runs`);
});

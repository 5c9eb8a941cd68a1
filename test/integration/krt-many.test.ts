import { mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runningCluster } from "#local/state/endpoint.ts";
import { stateLayout } from "#local/state/layout.ts";
import { openDatabase, soon } from "#local/storage/database.ts";
import { createSqliteStorage } from "#local/storage/sqlite-storage.ts";
import { krt } from "./support/krt.ts";
import { krtHere } from "./support/krt-in-process.ts";

const count = 10_000;

/** Bounds that hold on a machine with much else to do; what is really measured is printed. */
const listMs = 5000;
const startMs = 20_000;
const memoryBytes = 400 * 1024 * 1024;

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp("/tmp/km-");
  const storage = createSqliteStorage({
    database: openDatabase(stateLayout(directory).database),
    watchHistory: 1000,
    soon,
  });
  for (let n = 0; n < count; n++) {
    storage.put("runs.kruntimes.io", endedRun(`run-${n}`) as Parameters<typeof storage.put>[1]);
  }
  storage.close();
});
afterAll(async () => {
  await krtHere("", ["local", "down", "--state-dir", directory]);
  await rm(directory, { recursive: true, force: true });
});

/** A Run as the platform leaves it. */
function endedRun(name: string) {
  const time = "2026-01-01T00:00:00.000000Z";
  const condition = (type: string) => ({
    type,
    status: "True",
    reason: "Succeeded",
    message: "",
    lastTransitionTime: time,
  });
  return {
    apiVersion: "kruntimes.io/v1alpha1",
    kind: "Run",
    metadata: {
      name,
      namespace: "default",
      uid: `uid-${name}`,
      creationTimestamp: "2026-01-01T00:00:00Z",
      generation: 1,
    },
    spec: { runtime: "bash", mode: { task: { args: ["echo", "hello"] } } },
    status: {
      phase: "Succeeded",
      observedGeneration: 1,
      assignedPod: "runtime-bash-1a2b3c4d-abcde",
      assignedPodUID: "3d6a3b0e-6f0c-4d0f-9d53-2a6f4f1d2c11",
      assignmentEpoch: 1,
      attempt: 1,
      startTime: time,
      completionTime: time,
      duration: "52ms",
      exitCode: 0,
      conditions: [condition("Succeeded"), condition("Finished")],
    },
  };
}

test("a cluster with 10,000 Runs starts, lists them, and stays small", async () => {
  const began = performance.now();
  const up = await krtHere("", ["local", "up", "--detach", "--state-dir", directory]);
  const startedMs = performance.now() - began;
  expect(up).toMatchObject({ code: 0 });
  const kubeconfig = join(directory, "kubeconfig");
  const times: number[] = [];
  for (let n = 0; n < 3; n++) {
    const { code, out, ms } = await krt(["list", "--kubeconfig", kubeconfig]);
    expect(code).toBe(0);
    expect(out.split("\n")).toHaveLength(count + 2);
    times.push(ms);
  }
  const failed = await krt(["list", "--phase", "Failed", "--kubeconfig", kubeconfig]);
  expect(failed.out).toBe("");
  const memory = /^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${runningCluster(directory)?.pid}/status`, "utf8"));
  const bytes = Number(memory?.[1]) * 1024;
  const rounded = [...times, failed.ms].map((ms) => `${Math.round(ms)} ms`);
  console.log(
    `start ${Math.round(startedMs)} ms; lists ${rounded.join(", ")}; server ${Math.round(bytes / 2 ** 20)} MiB`,
  );
  expect(startedMs).toBeLessThan(startMs);
  expect(Math.min(...times)).toBeLessThan(listMs);
  expect(bytes).toBeLessThan(memoryBytes);
});

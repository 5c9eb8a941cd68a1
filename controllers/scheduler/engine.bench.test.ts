import { expect, test } from "vitest";
import type { Task } from "./engine.ts";
import { makePod, makeRun, makeWorkspace, prefers, type RunOptions, requires } from "./testing/builders.ts";
import { FakeCluster } from "./testing/fake-cluster.ts";

/**
 * The budget: one decision with 10,000 Pending Runs and 1,000 Pods takes less than 1 ms (median). Typical numbers are ten to fifty
 * times better; the test prints them.
 */
const budgetMs = 1;
/** Ends of Runs that are followed up. */
const rounds = 100;
const podCount = 1000;
const runCount = 10_000;
const places = 4;

function crowd(shape: (i: number) => RunOptions): FakeCluster {
  const cluster = new FakeCluster().withRuntime({ runs: places });
  for (let i = 0; i < podCount; i++) cluster.pods.set(makePod(`p${i}`, { capacity: { runs: places } }));
  for (let i = 0; i < runCount; i++) cluster.runs.set(makeRun(`r${i}`, { created: i, version: "1", ...shape(i) }));
  return cluster;
}

/** Times each call of `next` until it has nothing more to do. */
function decideAll(cluster: FakeCluster, times: number[], onTask: (task: Task) => void): void {
  for (;;) {
    const begin = performance.now();
    const task = cluster.engine.next(false);
    times.push(performance.now() - begin);
    if (task === undefined) return;
    if (task !== "more") onTask(task);
  }
}

function print(what: string, times: number[]): number {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  const text = [at(0.5), at(0.95), at(0.99), at(1)].map((ms) => ms.toFixed(3)).join(" / ");
  console.log(`${what}: ${sorted.length} times, p50 / p95 / p99 / max ms: ${text}`);
  return at(0.5);
}

const team = (i: number) => ({ team: `t${i % 2000}` });

const shapes: Record<string, (i: number) => RunOptions> = {
  "plain Runs": () => ({}),
  "Runs of three sizes and two priorities": (i) => ({ requests: { runs: 1 + (i % 3) }, spec: { priority: i % 2 } }),
  "cohorts of five by required affinity": (i) => ({ labels: team(i), spec: requires(team(i)) }),
  "spread by required anti-affinity": (i) => ({ labels: team(i), spec: requires(undefined, team(i)) }),
  "preferred affinity": (i) => ({ labels: team(i), spec: prefers([[10, team(i)]]) }),
  "Runs in 2,000 workspaces": (i) => ({ spec: { workspace: { name: `w${i % 2000}` } } }),
};

test.each(Object.entries(shapes))("decisions stay in the budget: %s", (what, shape) => {
  const cluster = crowd(shape);
  for (let i = 0; i < 2000; i++) {
    const pod = `p${i % podCount}`;
    cluster.workspaces.set(
      makeWorkspace(`w${i}`, { phase: "Bound", runtime: "bash", boundPod: pod, boundPodUID: `uid-${pod}` }),
    );
  }
  const began = performance.now();
  cluster.deliver();
  console.log(`${what}: all objects taken in within ${(performance.now() - began).toFixed(0)} ms`);

  const placed: Task[] = [];
  const filling: number[] = [];
  decideAll(cluster, filling, (task) => placed.push(task));
  expect(placed.length).toBeGreaterThan(podCount);
  const fillP50 = print(`${what}, filling empty Pods`, filling);

  for (const task of placed) cluster.perform(task);
  // Each end frees a place on one of the full Pods, and the next one in order takes it.
  const flowing: number[] = [];
  const followUps: number[] = [];
  for (const { run } of placed.slice(0, rounds)) {
    cluster.setStatus(run.key, { phase: "Succeeded" });
    const begin = performance.now();
    cluster.runs.deliver();
    const before = flowing.length;
    const noted = performance.now() - begin;
    decideAll(cluster, flowing, (task) => cluster.perform(task));
    followUps.push(flowing.slice(before).reduce((sum, ms) => sum + ms, noted));
  }
  const flowP50 = print(`${what}, one in for one out`, flowing);
  print(`${what}, an end with all that follows from it`, followUps);
  expect(Math.max(fillP50, flowP50)).toBeLessThan(budgetMs);
});

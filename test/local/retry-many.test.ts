/** A Retry of 300 failed jobs: how long it takes, and that each of them runs once more whenever the controller dies on the way. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { JobSpec } from "#api/kinds/job.ts";
import type { Run } from "#api/kinds/run.ts";
import { labels } from "#api/labels.ts";
import { persistentWorkspaces, runs, runtimes, workflowActions, workflowRuns } from "#api/resources.ts";
import { isTerminal } from "#api/runs.ts";
import { timestamp } from "#api/time.ts";
import { ControlPlane } from "../integration/support/control-plane.ts";
import { Life } from "../integration/support/life.ts";

const namespace = "default";
const count = 300;
const half = count / 2;
const steps = [{ name: "one", run: "true" }];
/** A matrix has at most 256 instances. */
const fan: JobSpec = {
  "runs-on": "bash",
  strategy: { matrix: { n: Array.from({ length: half }, (_, n) => n) }, "fail-fast": false },
  steps,
};

/** The Retry makes as many Runs as the start did: it may take so many times what that took. */
const slack = 2;

let plane: ControlPlane;
/** Processor time of the start: from the request until all Runs were there. */
let startMs: number;
beforeEach(async () => {
  plane = new ControlPlane();
  await plane.create(runtimes, {
    metadata: { name: "bash", namespace },
    spec: { template: { spec: { containers: [{ name: "runtime", image: "x" }] } } },
  });
  const life = new Life(plane);
  const begun = process.cpuUsage();
  await plane.create(workflowRuns, {
    metadata: { name: "ci", namespace },
    spec: { jobs: { a: fan, b: fan, z: { "runs-on": "bash", needs: ["a", "b"], steps } } },
  });
  await plane.until(async () => (await open()).length === count);
  startMs = processorMs(begun);
  await finish("Failed", count);
  await plane.until(async () => (await phase()) === "Failed");
  life.end();
  await plane.settle();
});
afterEach(() => plane.stop());

/** Everything runs in this process, so what else the machine does makes no difference. */
function processorMs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1000;
}

const children = async () => (await plane.client.of(runs).list({ namespace })).items;
const open = async () => (await children()).filter(({ status }) => !isTerminal(status?.phase));
const phase = async () => (await plane.find(workflowRuns, "ci"))?.status?.phase;
const ask = () =>
  plane.create(workflowActions, {
    metadata: { name: "again", namespace },
    spec: { workflowRef: { name: "ci" }, action: "Retry" },
  });
const isAnswered = async () => (await plane.find(workflowActions, "again"))?.status?.phase === "Succeeded";

/** Ends so many child Runs, once they are there, as scheduler and agent would. */
async function finish(end: "Succeeded" | "Failed", many: number): Promise<void> {
  await plane.until(async () => (await open()).length === many);
  const now = timestamp(plane.clock.now());
  const claimed = { assignedPod: "p", assignedPodUID: "u", assignmentEpoch: 1, attempt: 1, startTime: now };
  const why = end === "Failed" ? { reason: "ExitNonZero", message: "no" } : {};
  for (const child of await open()) {
    const { attempt: _attempt, startTime: _time, ...placed } = claimed;
    let object: Run = child;
    for (const status of [
      { phase: "Scheduled", ...placed },
      { phase: "Running", ...claimed },
      { phase: end, ...claimed, ...why, completionTime: now },
    ] as const)
      object = await plane.client.of(runs).update({ ...object, status }, "status");
  }
}

test("300 failed jobs run again within seconds, with two writes of the status for all of them", async () => {
  const { counters } = plane.api;
  const life = new Life(plane);
  await plane.settle();
  counters.reset();
  const [begun, virtual] = [process.cpuUsage(), plane.clock.now()];
  await ask();
  await plane.until(isAnswered);
  const answered = processorMs(begun);
  const statusWrites = counters.count("update", "workflowruns.kruntimes.io", "status");
  await plane.until(async () => (await open()).length === count);
  const all = processorMs(begun);
  const waited = plane.clock.now() - virtual;
  console.log(
    `Retry of ${count} jobs: answered after ${answered.toFixed(0)} ms of processor, all Runs there after ${all.toFixed(0)} ms ` +
      `(at the start ${startMs.toFixed(0)} ms), ${waited} ms of waiting, ${counters.count("create", "runs.kruntimes.io")} Runs and ${counters.count("create", "persistentworkspaces.kruntimes.io")} workspaces created`,
  );
  expect(answered).toBeLessThan(slack * startMs);
  // The Retry, and the pass that orders all of it.
  expect(statusWrites).toBeLessThanOrEqual(2);
  expect(all).toBeLessThan(slack * startMs);
  expect(waited).toBeLessThan(2000);
  expect(counters.count("create", "runs.kruntimes.io")).toBe(count);
  life.end();
});

test.each([2, 60, 310, 590])(
  "dead after %i writes: each job has one new Run and one new workspace, and no old one runs",
  async (writes) => {
    await ask();
    const first = new Life(plane, writes);
    await plane.elapse(5000);
    expect(first.isOver).toBe(true);
    const second = new Life(plane);
    await plane.until(isAnswered);
    await plane.until(async () => (await open()).length === count);
    await plane.elapse(5000);
    const made = await children();
    const attempts = (objects: readonly { metadata: Run["metadata"] }[]) =>
      objects.map(({ metadata }) => `${metadata.labels?.[labels.job]} ${metadata.labels?.[labels.attempt]}`).sort();
    const wanted = ["a", "b"]
      .flatMap((id) => Array.from({ length: half }, (_, n) => [`${id}.${n} 1`, `${id}.${n} 2`]))
      .flat()
      .sort();
    expect(attempts(made)).toEqual(wanted);
    expect(attempts((await plane.client.of(persistentWorkspaces).list({ namespace })).items)).toEqual(wanted);
    for (const { metadata, status } of made)
      expect(isTerminal(status?.phase), metadata.name).toBe(metadata.labels?.[labels.attempt] === "1");
    await finish("Succeeded", count);
    await finish("Succeeded", 1);
    await plane.until(async () => (await phase()) === "Succeeded");
    expect((await plane.find(workflowRuns, "ci"))?.status).toMatchObject({ attempt: 2, progress: "301/301" });
    second.end();
  },
);

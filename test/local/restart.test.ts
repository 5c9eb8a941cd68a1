import { mkdtemp, readFile, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { reasons } from "#api/reasons.ts";
import { runs, workflowRuns } from "#api/resources.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import { hasEnded as runHasEnded } from "#cli/cluster/run-end.ts";
import { systemConnect } from "#cli/system/connect.ts";
import { systemMachine } from "#cli/system/machine.ts";
import type { Client } from "#kube/resource.ts";
import { systemClock, systemRandom } from "#kube/system.ts";
import { watchObject } from "#kube/watch-object.ts";
import { runningCluster } from "#local/state/endpoint.ts";
import { bashRun, namespace, workflowRun } from "../integration/support/cluster.ts";
import { krtHere } from "../integration/support/krt-in-process.ts";

const kills = 20;

/** Longest time from the creation of work to the kill, in milliseconds: a workflow here takes about as long. */
const longestMs = 2500;

/** Longest time until everything has ended after the last kill. */
const endMs = 120_000;

let directory: string;
let starts: string;
beforeAll(async () => {
  directory = await mkdtemp("/tmp/kr-");
  starts = join(directory, "starts");
});
afterAll(async () => {
  await krtHere("", ["local", "down", "--state-dir", directory]);
  await rm(directory, { recursive: true, force: true });
});

async function up(): Promise<{ client: Client; close(): Promise<void> }> {
  const started = await krtHere("", ["local", "up", "--detach", "--runtimes", "bash", "--state-dir", directory]);
  expect(started.code, started.err).toBe(0);
  return systemConnect({ file: join(directory, "kubeconfig") });
}

/** One line for each start of a program that really happened. */
const script = () => `echo "$KRUNTIME_RUN_UID $KRUNTIME_ATTEMPT" >> ${starts}\nsleep 0.2\n`;

function work(n: number): WorkflowRun {
  const step = (name: string, more = "") => ({ name, run: `${script()}${more}` });
  return workflowRun(`w-${n}`, {
    build: { "runs-on": "bash", steps: [step("one", "echo x > file\n"), step("two", "grep x file\n"), step("three")] },
    check: { "runs-on": "bash", needs: ["build"], steps: [step("one"), step("two")] },
  });
}

test("killed with SIGKILL at random moments and started again: everything ends well or with a stated reason, and no attempt number starts twice", async () => {
  const machine = systemMachine(resolve("bin/krt.mjs"));
  const moments: number[] = [];
  for (let n = 0; n < kills; n++) {
    const { client, close } = await up();
    const { pid } = runningCluster(directory) ?? {};
    if (typeof pid !== "number") throw new Error("it is not known which process to kill");
    await client.of(workflowRuns).create(work(n));
    await client.of(runs).create(bashRun(`r-${n}`, script(), { retryPolicy: { maxAttempts: 20, backoff: "10ms" } }));
    // The moments differ from run to run of this test; what must hold does not depend on them.
    const moment = systemRandom.next() * longestMs;
    moments.push(Math.round(moment));
    await pause(moment);
    machine.signal(pid, "SIGKILL");
    await expect.poll(() => machine.isAlive(pid), { interval: 5, timeout: 10_000 }).toBe(false);
    await close();
  }

  const { client, close } = await up();
  const deps = { client, clock: systemClock, random: systemRandom };
  const signal = AbortSignal.timeout(endMs);
  const outcomes = new Map<string, number>();
  for (let n = 0; n < kills; n++) {
    const until = ({ status }: WorkflowRun) => hasEnded(status?.phase);
    const workflow = await watchObject(workflowRuns, { name: `w-${n}`, namespace }, { until, signal }, deps);
    const run = await watchObject(runs, { name: `r-${n}`, namespace }, { until: runHasEnded, signal }, deps);
    for (const job of Object.values(workflow?.status?.jobs ?? {})) {
      if (job.phase === "Failed") expect(Object.keys(reasons)).toContain(job.reason);
    }
    for (const object of [workflow, run]) {
      const { phase, reason, message } = object?.status ?? {};
      const outcome = phase === "Succeeded" ? phase : `${phase}/${reason}`;
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      if (phase === "Succeeded") continue;
      expect(phase, `${object?.metadata.name}`).toBe("Failed");
      expect(Object.keys(reasons)).toContain(reason);
      expect(message).not.toBe("");
    }
  }
  await close();

  const lines = (await readFile(starts, "utf8")).trim().split("\n");
  console.log(
    `kills after ${moments.join(", ")} ms; ${lines.length} starts; ${JSON.stringify(Object.fromEntries(outcomes))}`,
  );
  expect(new Set(lines).size).toBe(lines.length);
});

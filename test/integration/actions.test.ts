import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { JobSpec } from "#api/kinds/job.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { runs, runtimes, workflowActions, workflowRuns } from "#api/resources.ts";
import { persistentVolumeClaims } from "#kube/builtin.ts";
import { patientExample, playWishes } from "#test/support/actions-example.ts";
import { bashRuntime, claim, namespace, TestCluster, workflowRun } from "./support/cluster.ts";
import { krtHere } from "./support/krt-in-process.ts";

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start();
  await cluster.create(persistentVolumeClaims, claim);
  await cluster.create(runtimes, bashRuntime());
  await cluster.ready("bash", 1);
});
afterAll(() => cluster.stop());

const krt = (...args: string[]) => krtHere(cluster.cluster.kubeconfig, ["workflow", ...args]);
const sleeping: JobSpec = {
  "runs-on": "bash",
  steps: [{ name: "sleep", run: "trap 'echo was asked; exit 0' TERM; echo ready; sleep 300 & wait" }],
};

/** A run whose first step is at work. */
async function begin(name: string, jobs: Record<string, JobSpec> = { a: sleeping }): Promise<void> {
  await cluster.create(workflowRuns, workflowRun(name, jobs));
  const runNameOf = (run: WorkflowRun) => run.status?.jobs?.a?.steps?.[0]?.runName;
  const run = await cluster.until(workflowRuns, name, (each) => runNameOf(each) !== undefined);
  await cluster.until(runs, runNameOf(run) ?? "", ({ status }) => status?.phase === "Running");
}

const phaseOf = async (name: string) => (await cluster.get(workflowRuns, name)).status?.phase;

test("resume with nothing suspended fails at once, and says why", async () => {
  await begin("nothing");
  const times: number[] = [];
  let ended = { code: 0, out: "", err: "" };
  // The best of several: whatever else the machine does at the moment is not meant.
  for (let n = 0; n < 3; n++) {
    const before = performance.now();
    ended = await krt("resume", "nothing");
    times.push(performance.now() - before);
  }
  expect(Math.min(...times)).toBeLessThan(1000);
  expect(ended.code).toBe(1);
  expect(ended.err).toMatch(
    /^krt: Resume of nothing: NothingToResume: WorkflowRun nothing is not suspended .* \(WorkflowAction nothing-resume-\w+\)\n/,
  );
  expect(ended.out).toBe("");
});

test("stop ends what runs, and watch ends with the result of the run", async () => {
  await begin("stopped");
  const watching = krt("watch", "stopped");
  const ended = await krt("stop", "stopped", "--message", "wrong branch");
  expect(ended).toEqual({
    code: 0,
    out: expect.stringMatching(/^WorkflowRun stopped is stopped \(WorkflowAction stopped-stop-\w+\)\n$/),
    err: "",
  });
  const run = await cluster.workflowFinished("stopped");
  expect(run.status).toMatchObject({ phase: "Failed", reason: "Stopped", shutdown: "Stop" });
  expect(run.status?.message).toMatch(/: wrong branch$/);
  const child = await cluster.get(runs, run.status?.jobs?.a?.steps?.[0]?.runName ?? "");
  expect(child.status?.phase).toBe("Cancelled");
  expect((await watching).code).toBe(1);
});

test("what a stopped job has to put right it puts right, with its files; the program at work is ended first", async () => {
  const steps = [
    { name: "lock", run: "echo held > lock" },
    { name: "work", run: "sleep 60" },
    { name: "more", run: "true" },
    { name: "unlock", if: "cancelled()", run: 'echo "lock=$(cat lock)" >> "$KRUNTIME_OUTPUTS"; rm lock' },
  ];
  await cluster.create(workflowRuns, {
    metadata: { name: "locked", namespace },
    spec: { jobs: { a: { "runs-on": "bash", steps } } },
  });
  await cluster.until(workflowRuns, "locked", ({ status }) => status?.jobs?.a?.steps?.[1]?.phase === "Running");
  expect((await krt("stop", "locked")).code).toBe(0);
  const run = await cluster.workflowFinished("locked");
  expect(run.status).toMatchObject({ phase: "Failed", reason: "Stopped" });
  expect(run.status?.jobs?.a).toMatchObject({
    phase: "Cancelled",
    steps: [
      { phase: "Succeeded" },
      { phase: "Cancelled" },
      { phase: "Skipped", reason: "Stopped" },
      { phase: "Succeeded", outputs: { lock: "held" } },
    ],
  });
});

test("terminate ends a run; what has ended cannot be changed any more", async () => {
  await begin("terminated");
  expect((await krt("terminate", "terminated")).code).toBe(0);
  const run = await cluster.workflowFinished("terminated");
  expect(run.status).toMatchObject({ phase: "Failed", reason: "Terminated" });
  const again = await krt("stop", "terminated");
  expect(again.code).toBe(1);
  expect(again.err).toContain("WorkflowCompleted: WorkflowRun terminated has ended as Failed (Terminated)");
});

test("suspend, resume and a gate with an output, by hand", async () => {
  const gated: JobSpec = {
    "runs-on": "bash",
    steps: [
      { name: "approve", suspend: { message: "may it go?", outputs: { who: {} } } },
      { name: "go", run: 'echo "by=${{ steps.approve.outputs.who }}" >> "$KRUNTIME_OUTPUTS"' },
    ],
  };
  await cluster.create(workflowRuns, workflowRun("gated", { a: gated }));
  await cluster.until(workflowRuns, "gated", ({ status }) => status?.jobs?.a?.phase === "Suspended");
  expect((await krt("suspend", "gated")).code).toBe(0);
  expect(await phaseOf("gated")).toBe("Suspended");
  const incomplete = await krt("resume", "gated");
  expect(incomplete).toMatchObject({ code: 1, err: expect.stringContaining('gate a/approve needs the output "who"') });
  expect(incomplete.err).toContain(
    "Answer with krt workflow resume gated --node-field-selector name=a/approve --set-output who=VALUE.",
  );
  const unknown = await krt("resume", "gated", "--node-field-selector", "nmae=a");
  expect(unknown.err).toContain('InvalidNodeFieldSelector: there is no field "nmae"');
  const opened = await krt("resume", "gated", "--node-field-selector", "name=a/approve", "--set-output", "who=alice");
  expect(opened).toMatchObject({ code: 0, out: expect.stringContaining("resumed a/approve") });
  expect(await phaseOf("gated")).toBe("Suspended");
  const shown = await krt("resume", "gated", "-o", "jsonpath={.status.phase}");
  expect(shown).toMatchObject({ code: 0, out: expect.stringMatching(/^(Running|Succeeded)/) });
  const run = await cluster.workflowFinished("gated");
  expect(run.status?.phase).toBe("Succeeded");
  expect(run.status?.jobs?.a?.steps?.[1]?.outputs).toEqual({ by: "alice" });
});

test("of several names all are tried and each is reported; the exit code tells what kind of trouble there was", async () => {
  await begin("several");
  const ended = await krt("suspend", "several", "absent", "terminated");
  expect(ended.code).toBe(2);
  expect(ended.out).toMatch(/^WorkflowRun several is suspended/);
  expect(ended.err).toContain("krt: Suspend of absent: there is no WorkflowRun absent in namespace default");
  expect(ended.err).toContain("krt: Suspend of terminated: WorkflowCompleted");
  expect((await krt("suspend")).err).toContain("nothing to suspend is named");
  expect((await krt("suspend", "several", "--all")).err).toContain("exclude each other");
});

test("--selector and --all mean runs that have not ended", async () => {
  await cluster.client
    .of(workflowRuns)
    .patch({ name: "several", namespace }, { metadata: { labels: { branch: "old" } } });
  expect((await krt("terminate", "-l", "branch=old")).out).toMatch(/^WorkflowRun several is terminated/);
  const all = await krt("terminate", "--all");
  expect(all.out).toContain("WorkflowRun nothing is terminated");
  expect(all.out).not.toContain("gated");
  await cluster.workflowFinished("nothing");
  await cluster.workflowFinished("several");
  expect(await krt("terminate", "--all")).toMatchObject({ code: 2, err: expect.stringContaining("no WorkflowRun") });
});

test("what is not answered in time was accepted, and the message names the action", async () => {
  await begin("slow");
  const { faults } = cluster.cluster.api;
  faults.onRequest = ({ resource, verb }) =>
    resource.startsWith("workflowactions") && verb === "update" ? { kind: "internal" } : undefined;
  const late = await krt("stop", "slow", "--timeout", "300ms");
  expect(late.code).toBe(3);
  const [, name = ""] = /WorkflowAction (\S+) was accepted and not answered within 0.3 s/.exec(late.err) ?? [];
  expect((await cluster.get(workflowActions, name)).spec.action).toBe("Stop");
  const unanswered = await krt("terminate", "slow", "--no-wait");
  expect(unanswered).toMatchObject({
    code: 0,
    out: expect.stringContaining("Terminate of WorkflowRun slow is asked for"),
  });
  faults.onRequest = undefined;
  await cluster.until(workflowActions, name, ({ status }) => status?.phase === "Succeeded");
});

test("the example of actions: every wish is fulfilled, and the run is what was asked for", async () => {
  const file = join(cluster.directory, "actions.yaml");
  const example = await patientExample();
  // The Runtime is there.
  await writeFile(file, example.slice(example.indexOf("---\n")));
  await cluster.apply(file);
  await playWishes({
    client: cluster.client,
    namespace,
    run: (holds) => cluster.until(workflowRuns, "rollout", (run) => run.status !== undefined && holds(run.status, run)),
    action: (name, holds) => cluster.until(workflowActions, name, holds),
  });
});

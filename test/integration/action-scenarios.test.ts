/** Actions on programs that run, asked for with krt: what becomes of the programs, and of whoever waits for the answer. */
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { JobSpec } from "#api/kinds/job.ts";
import type { WorkflowActionSpec } from "#api/kinds/workflow-action.ts";
import { runs, runtimes, workflowActions, workflowRuns, workflows } from "#api/resources.ts";
import type { Environment } from "#cli/environment.ts";
import { persistentVolumeClaims } from "#kube/builtin.ts";
import { bashRuntime, claim, namespace, TestCluster, workflowRun } from "./support/cluster.ts";
import { krtHere } from "./support/krt-in-process.ts";

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start();
  await cluster.create(persistentVolumeClaims, claim);
  await cluster.create(runtimes, bashRuntime({ capacity: { resources: { runs: 32 } } }));
  await cluster.ready("bash", 1);
});
afterEach(() => {
  cluster.cluster.api.faults.onRequest = undefined;
});
afterAll(() => cluster.stop());

const krt = (args: readonly string[], change?: Partial<Environment>) =>
  krtHere(cluster.cluster.kubeconfig, ["workflow", ...args], change);

const oneStep = (script: string): JobSpec => ({ "runs-on": "bash", steps: [{ name: "one", run: script }] });

/** A run whose program has said that it is ready. */
async function begin(name: string, script: string): Promise<string> {
  await cluster.create(workflowRuns, workflowRun(name, { a: oneStep(script) }));
  const run = await cluster.until(
    workflowRuns,
    name,
    ({ status }) => status?.jobs?.a?.steps?.[0]?.runName !== undefined,
  );
  const runName = run.status?.jobs?.a?.steps?.[0]?.runName ?? "";
  await cluster.until(runs, runName, ({ status }) => status?.phase === "Running");
  return runName;
}

/** As long as this lasts, nobody answers an action. */
function nobodyAnswers(): void {
  cluster.cluster.api.faults.onRequest = ({ resource, verb, subresource }) =>
    resource.startsWith("workflowactions.") && verb === "update" && subresource === "status"
      ? { kind: "internal" }
      : undefined;
}

test.each([
  [
    "cleans up",
    `trap 'touch MARKER; exit 0' TERM; touch READY; sleep 300 & wait`,
    "ended after SIGTERM with exit code 0",
  ],
  ["does nothing about it", "touch READY; exec sleep 300", "was ended by SIGTERM"],
  [
    "does not listen",
    `trap '' TERM; touch READY; sleep 300; sleep 300`,
    "did not end by SIGTERM and was ended by SIGKILL",
  ],
])(
  "a stopped program that %s: its end is within the grace, and the message of the step says how it came",
  async (what, script, how) => {
    const name = `end-${what.replaceAll(" ", "-")}`;
    const path = (file: string) => `${cluster.directory}/${name}-${file}`;
    const runName = await begin(name, script.replace("MARKER", path("marker")).replace("READY", path("ready")));
    await expect.poll(() => existsSync(path("ready")), { interval: 20, timeout: 10_000 }).toBe(true);
    const told: (string | undefined)[] = [];
    const watching = new AbortController();
    const events = await cluster.client.of(workflowActions).watch({ namespace, signal: watching.signal });
    expect((await krt(["stop", name, "--message", "enough"])).code).toBe(0);
    // The grace is 2 s, and what ends without it ends after 300 s: the deadline between them leaves room for a busy machine.
    const run = await cluster.workflowFinished(name);
    expect(run.status).toMatchObject({ phase: "Failed", reason: "Stopped" });
    const child = await cluster.get(runs, runName);
    expect(child.status?.message).toMatch(new RegExp(`: enough; its program ${how}$`));
    expect(run.status?.jobs?.a?.steps?.[0]).toMatchObject({ phase: "Cancelled", message: child.status?.message });
    expect(existsSync(path("marker"))).toBe(script.includes("MARKER"));
    for await (const { object } of events) {
      if (!("spec" in object) || object.spec.workflowRef.name !== name) continue;
      told.push(object.status?.phase);
      if (object.status?.phase === "Succeeded") break;
    }
    watching.abort();
    // Whoever watches actions sees each of them come and be answered.
    expect(told).toEqual(["Pending", "Succeeded"]);
  },
);

test("a run that is suspended starts nothing in the Workflow that a job of it uses, and says so there", async () => {
  const path = (file: string) => `${cluster.directory}/held-${file}`;
  const steps = [
    { name: "one", run: `until test -e ${path("go")}; do sleep 0.02; done` },
    { name: "two", run: `touch ${path("two")}` },
  ];
  await cluster.create(workflows, {
    metadata: { name: "inner", namespace },
    spec: { jobs: { a: { "runs-on": "bash", steps } } },
  });
  await cluster.create(workflowRuns, workflowRun("held", { call: { uses: "inner" } }));
  const called = await cluster.until(
    workflowRuns,
    "held",
    ({ status }) => status?.jobs?.call?.workflowRunName !== undefined,
  );
  const inner = called.status?.jobs?.call?.workflowRunName ?? "";
  await cluster.until(workflowRuns, inner, ({ status }) => status?.jobs?.a?.steps?.[0]?.phase === "Running");
  expect((await krt(["suspend", "held"])).code).toBe(0);
  await writeFile(path("go"), "");
  await cluster.until(workflowRuns, inner, ({ status }) => status?.jobs?.a?.steps?.[0]?.phase === "Succeeded");
  const below = await krt(["resume", inner]);
  expect(below).toMatchObject({ code: 1, err: expect.stringContaining("WorkflowRun held is suspended: resume that") });
  expect((await cluster.get(workflowRuns, inner)).status?.jobs?.a?.steps?.[1]?.phase).toBe("Waiting");
  expect((await krt(["resume", "held"])).code).toBe(0);
  expect((await cluster.workflowFinished("held")).status?.phase).toBe("Succeeded");
  expect(existsSync(path("two"))).toBe(true);
});

const flags: readonly (readonly [line: string, spec: Omit<WorkflowActionSpec, "workflowRef">])[] = [
  ["suspend", { action: "Suspend" }],
  ["resume", { action: "Resume" }],
  [
    "resume --node-field-selector name=a/b --set-output x=1 --set-output y=two",
    { action: "Resume", resume: { nodeFieldSelector: "name=a/b", outputParameters: { x: "1", y: "two" } } },
  ],
  ["stop", { action: "Stop" }],
  [
    "stop --message enough --node-field-selector type=Gate",
    { action: "Stop", stop: { message: "enough", nodeFieldSelector: "type=Gate" } },
  ],
  ["terminate", { action: "Terminate" }],
  ["retry", { action: "Retry" }],
  [
    "retry --node-field-selector job=a --restart-successful",
    { action: "Retry", retry: { nodeFieldSelector: "job=a", restartSuccessful: true } },
  ],
];

test.each(flags)("krt workflow %s: every flag reaches the server", async (line, spec) => {
  const exists = await cluster.client.of(workflowRuns).list({ namespace, fieldSelector: "metadata.name=flags" });
  const run = exists.items[0] ?? (await cluster.create(workflowRuns, workflowRun("flags", { a: oneStep("true") })));
  const [verb = "", ...rest] = line.split(" ");
  const { code, out } = await krt([verb, "flags", ...rest, "--no-wait"]);
  expect(code).toBe(0);
  const [, name = ""] = /\(WorkflowAction (\S+)\)/.exec(out) ?? [];
  const action = await cluster.get(workflowActions, name);
  expect(action.spec).toEqual({ workflowRef: { name: "flags", uid: run.metadata.uid }, ...spec });
  expect(action.metadata.labels).toMatchObject({ "workflows.kruntimes.io/workflow-run": "flags" });
  // Who asked, as the cluster knows them.
  expect(action.metadata.annotations?.["workflows.kruntimes.io/creator"]).toBe("krt-local");
  expect(action.metadata.ownerReferences).toBeUndefined();
});

test("an action that is deleted while krt waits ends the command with 2 and its name", async () => {
  await begin("deleted", "sleep 300");
  nobodyAnswers();
  const waiting = krt(["stop", "deleted"]);
  const ours = async () => {
    const { items } = await cluster.client.of(workflowActions).list({ namespace });
    return items.find(({ spec }) => spec.workflowRef.name === "deleted")?.metadata;
  };
  await expect.poll(ours, { interval: 20, timeout: 10_000 }).toBeDefined();
  const metadata = await ours();
  if (metadata !== undefined) await cluster.client.of(workflowActions).delete(metadata);
  const ended = await waiting;
  expect(ended.code).toBe(2);
  expect(ended.err).toContain(`Stop of deleted: WorkflowAction ${metadata?.name} was deleted before it was answered`);
});

test("Ctrl-C while krt waits is no time-out: the action stays, and is named", async () => {
  await begin("left", "sleep 300");
  nobodyAnswers();
  const interrupted = new AbortController();
  const waiting = krt(["suspend", "left"], { interrupted: interrupted.signal });
  const asked = async () => {
    const { items } = await cluster.client.of(workflowActions).list({ namespace });
    return items.some(({ spec }) => spec.workflowRef.name === "left");
  };
  await expect.poll(asked, { interval: 20, timeout: 10_000 }).toBe(true);
  interrupted.abort();
  const ended = await waiting;
  expect(ended.code).toBe(130);
  expect(ended.err).toMatch(/nobody waits for WorkflowAction left-suspend-\w+ any more/);
  expect(ended.err).not.toContain("not answered within");
});

test("a selector or --all that means nobody is an error, not a silent success", async () => {
  const cases = [
    ["suspend", "-l", "no=such"],
    ["resume", "-l", "no=such"],
    ["stop", "-l", "no=such"],
    ["terminate", "-l", "no=such"],
    ["retry", "-l", "no=such"],
    ["retry", "--all", "-n", "empty"],
  ];
  for (const args of cases) {
    const { code, out, err } = await krt(args);
    expect([code, out], args.join(" ")).toEqual([2, ""]);
    expect(err, args.join(" ")).toMatch(
      /^krt: there is no WorkflowRun in namespace \w+ to \w+\n {5}Nothing was done.\n$/,
    );
  }
});

test("krt workflow watch of a run that is not there, or goes, does not wait for ever", async () => {
  expect((await krt(["watch", "nobody"])).code).not.toBe(0);
  await begin("going", "sleep 300");
  const watching = krt(["watch", "going"]);
  await cluster.client.of(workflowRuns).delete({ name: "going", namespace });
  expect((await watching).code).not.toBe(0);
});

test("the log of a workflow whose jobs come and go at once has every line, in the order of each job", async () => {
  const ids = Array.from({ length: 20 }, (_, index) => `j${index}`);
  const jobs = Object.fromEntries(ids.map((id) => [id, oneStep(`echo ${id} begins; sleep 0.1; echo ${id} ends`)]));
  await cluster.create(workflowRuns, workflowRun("many", jobs));
  const { code, out } = await krtHere(cluster.cluster.kubeconfig, ["logs", "-f", "workflowrun/many"]);
  expect(code).toBe(0);
  const lines = out.trimEnd().split("\n");
  expect(lines).toHaveLength(40);
  for (const id of ids) {
    expect(lines.filter((line) => line.startsWith(`${id}/one |`))).toEqual([
      `${id}/one | ${id} begins`,
      `${id}/one | ${id} ends`,
    ]);
  }
});

/** WorkflowActions by a real kubectl alone: every verb, what is shown of them, what is refused, and how fast it is said. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { JobSpec } from "#api/kinds/job.ts";
import { runtimes, workflowRuns } from "#api/resources.ts";
import { persistentVolumeClaims } from "#kube/builtin.ts";
import { bashRuntime, claim, workflowRun } from "#test/integration/support/cluster.ts";
import { KubectlCluster } from "./support/kubectl.ts";

let cluster: KubectlCluster;
const kubectl = (args: string | readonly string[], input?: string) => cluster.kubectl(args, input);

beforeAll(async () => {
  cluster = await KubectlCluster.start();
  await cluster.cluster.create(persistentVolumeClaims, claim);
  await cluster.cluster.create(runtimes, bashRuntime());
  await cluster.cluster.ready("bash", 1);
});
afterAll(() => cluster?.stop());

const sleeping: JobSpec = { "runs-on": "bash", steps: [{ name: "sleep", run: "sleep 300" }] };
const gated: JobSpec = {
  "runs-on": "bash",
  steps: [
    { name: "approve", suspend: { outputs: { who: {} } } },
    { name: "go", run: 'echo "by=${{ steps.approve.outputs.who }}" >> "$KRUNTIME_OUTPUTS"' },
  ],
};

/** The manifest of an action; `spec` is what stands beside its target. */
const manifest = (target: string, spec: string, metadata = `generateName: ${target}-`) => `
apiVersion: kruntimes.io/v1alpha1
kind: WorkflowAction
metadata: {${metadata}}
spec:
  workflowRef: {name: ${target}}
  ${spec}
`;

/** Creates an action, waits for its answer, and tells what it is and how many milliseconds both took. */
async function ask(target: string, spec: string) {
  const begun = performance.now();
  const name = (await kubectl("create -o name -f -", manifest(target, spec))).trim();
  await kubectl(`wait ${name} --for=condition=Finished --timeout=20s`);
  const took = performance.now() - begun;
  const said = await kubectl(["get", name, "-o", "jsonpath={.status.phase} {.status.reason}: {.status.message}"]);
  return { name, said, took };
}

async function begin(name: string, job: JobSpec, phase: "Running" | "Suspended"): Promise<void> {
  await cluster.cluster.create(workflowRuns, workflowRun(name, { a: job }));
  await cluster.cluster.until(workflowRuns, name, ({ status }) => status?.jobs?.a?.phase === phase);
}

test("create and wait: every verb is answered, and the run is what was asked for", async () => {
  await begin("ci", sleeping, "Running");
  const phase = () => kubectl(["get", "wfr/ci", "-o", "jsonpath={.status.phase} {.status.reason}"]);
  expect((await ask("ci", "action: Suspend")).said).toBe("Succeeded ActionApplied: WorkflowRun ci is suspended");
  expect(await phase()).toBe("Suspended ");
  expect((await ask("ci", "action: Resume")).said).toBe("Succeeded ActionApplied: WorkflowRun ci goes on");
  expect(await phase()).toBe("Running ");
  expect((await ask("ci", "action: Stop\n  stop: {message: wrong branch}")).said).toContain("is stopped");
  await kubectl("wait wfr/ci --for=condition=Finished --timeout=20s");
  expect(await phase()).toBe("Failed Stopped");
  expect((await ask("ci", "action: Retry")).said).toContain("WorkflowRun ci goes on: 1 job runs again");
  expect(await phase()).toBe("Running ");
  expect((await ask("ci", "action: Terminate")).said).toContain("is terminated");
  await kubectl("wait wfr/ci --for=condition=Finished --timeout=20s");
  expect(await phase()).toBe("Failed Terminated");
  expect((await ask("ci", "action: Stop")).said).toBe(
    "Failed WorkflowCompleted: WorkflowRun ci has ended as Failed (Terminated)",
  );
});

test("a gate is answered with values, and its other steps read them", async () => {
  await begin("gate", gated, "Suspended");
  const selector = "nodeFieldSelector: name=a/approve";
  const without = await ask("gate", `action: Resume\n  resume: {${selector}}`);
  expect(without.said).toContain('Failed InvalidOutputParameters: gate a/approve needs the output "who"');
  const opened = await ask("gate", `action: Resume\n  resume: {${selector}, outputParameters: {who: alice}}`);
  expect(opened.said).toContain("Succeeded ActionApplied: resumed a/approve");
  await kubectl("wait wfr/gate --for=condition=Succeeded --timeout=20s");
  expect(await kubectl("get wfr gate -o jsonpath={.status.jobs.a.steps[1].outputs.by}")).toBe("alice");
});

test("a Stop with a selector fails a gate with its message", async () => {
  await begin("declined", gated, "Suspended");
  await ask("declined", "action: Stop\n  stop: {nodeFieldSelector: name=a/approve, message: not today}");
  await kubectl("wait wfr/declined --for=condition=Succeeded=False --timeout=20s");
  expect(await kubectl("get wfr declined -o jsonpath={.status.jobs.a.steps[0].message}")).toBe("not today");
});

test("create and wait on a Resume with nothing suspended: the error is there in less than a second", async () => {
  await begin("busy", sleeping, "Running");
  const times: number[] = [];
  // Two starts of kubectl are in it: where the machine does much else at that moment, another one counts.
  while (times.length < 3 && times.every((took) => took >= 1000)) {
    const { said, took } = await ask("busy", "action: Resume");
    expect(said).toContain("Failed NothingToResume: WorkflowRun busy is not suspended");
    times.push(took);
  }
  expect(Math.min(...times)).toBeLessThan(1000);
  // Who waits for a success is told at once, too, by the condition.
  const name = (await kubectl("create -o name -f -", manifest("busy", "action: Resume"))).trim();
  expect(await kubectl(`wait ${name} --for=condition=Succeeded=False --timeout=5s`)).toContain("condition met");
});

test("get wfa shows target, action, phase and age, and wide why", async () => {
  await ask("nobody", "action: Stop");
  const table = async (args: string) =>
    (await kubectl(args))
      .trimEnd()
      .split("\n")
      .map((line) => line.trim().split(/ {2,}/));
  const [head, ...rows] = await table("get wfa");
  expect(head).toEqual(["NAME", "TARGET", "ACTION", "PHASE", "AGE"]);
  const row = rows.find(([name]) => name?.startsWith("nobody-"));
  expect(row?.slice(1)).toEqual(["nobody", "Stop", "Failed", expect.stringMatching(/s$/)]);
  const [wide, ...more] = await table("get workflowactions -o wide");
  expect(wide).toEqual([...(head ?? []), "REASON", "MESSAGE"]);
  expect(more.find(([name]) => name?.startsWith("nobody-"))?.slice(5)).toEqual([
    "WorkflowNotFound",
    "there is no WorkflowRun nobody in this namespace",
  ]);
});

test("explain describes an action down to the parameters", async () => {
  const action = await kubectl("explain wfa.spec");
  for (const field of ["action\t<string> -required-", "resume\t<Object>", "retry\t<Object>", "stop\t<Object>"]) {
    expect(action).toContain(field);
  }
  expect(await kubectl("explain workflowactions.spec.resume.outputParameters")).toContain("Values for the gate.");
  expect(await kubectl("explain wfa.status.completionTime")).toContain("When it ended.");
});

const refusals: Record<string, { spec: string; says: string }> = {
  "parameters of two actions": {
    spec: "action: Stop\n  stop: {message: x}\n  resume: {nodeFieldSelector: type=Gate}",
    says: 'spec.resume: Invalid value: "object": resume needs action Resume',
  },
  "parameters of another action": {
    spec: "action: Suspend\n  stop: {message: x}",
    says: 'spec.stop: Invalid value: "object": stop needs action Stop',
  },
  "values for a gate without a selector": {
    spec: "action: Resume\n  resume: {outputParameters: {who: me}}",
    says: 'spec.resume: Invalid value: "object": outputParameters need nodeFieldSelector',
  },
  "an action that is no word": { spec: "action: stop it", says: "spec.action" },
  "no action": { spec: "{}", says: "spec.action: Required value" },
  "a typo": { spec: "action: Stop\n  stop: {mesage: x}", says: 'unknown field "spec.stop.mesage"' },
};

test.each(Object.entries(refusals))("create refuses %s", async (_, { spec, says }) => {
  expect(await cluster.refused("create -f -", manifest("ci", spec === "{}" ? "" : spec))).toContain(says);
});

test("what was asked for cannot be changed, and can be taken away", async () => {
  await kubectl("create -f -", manifest("later", "action: Stop", "name: fixed"));
  const change = (spec: object) => ["patch", "wfa", "fixed", "--type=merge", "-p", JSON.stringify({ spec })];
  expect(await cluster.refused(change({ action: "Terminate" }))).toContain(
    "spec.action: Forbidden: action cannot be changed",
  );
  expect(await cluster.refused(change({ workflowRef: { name: "ci" } }))).toContain("workflowRef cannot be changed");
  expect(await cluster.refused(change({ stop: { message: "x" } }))).toContain("stop cannot be changed");
  expect(await kubectl("label wfa fixed reviewed=yes")).toContain("labeled");
  expect(await kubectl("delete wfa fixed")).toContain('workflowaction.kruntimes.io "fixed" deleted');
});

test("an action of no known value is created, since others may know it, and answered", async () => {
  await begin("skipped", sleeping, "Running");
  expect((await ask("skipped", "action: Skip")).said).toBe(
    "Failed UnsupportedAction: this controller does not know the action Skip",
  );
});

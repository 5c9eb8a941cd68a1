/** Controllers that die, start anew, or are two at a time: each action has one effect, one answer, and nothing waits for ever. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { runs, runtimes, workflowActions, workflowRuns } from "#api/resources.ts";
import { ControlPlane } from "./support/control-plane.ts";
import { Life } from "./support/life.ts";

const namespace = "default";
let plane: ControlPlane;
beforeEach(async () => {
  plane = new ControlPlane();
  await plane.create(runtimes, {
    metadata: { name: "bash", namespace },
    spec: { template: { spec: { containers: [{ name: "runtime", image: "x" }] } } },
  });
});
afterEach(() => plane.stop());

const begin = async () => {
  await plane.create(workflowRuns, {
    metadata: { name: "ci", namespace },
    spec: { jobs: { a: { "runs-on": "bash", steps: [{ name: "one", run: "true" }] } } },
  });
  await plane.until(async () => (await plane.client.of(runs).list({ namespace })).items.length === 1);
};
const ask = (name: string, action: string) =>
  plane.create(workflowActions, { metadata: { name, namespace }, spec: { workflowRef: { name: "ci" }, action } });
const phaseOf = async (name: string) => (await plane.find(workflowActions, name))?.status?.phase;
const count = async () => (await plane.client.of(workflowActions).list({ namespace })).items.length;

test("the end that was asked for is asked of what runs again, whenever the controller dies on the way", async () => {
  for (let writes = 0; writes < 8; writes++) {
    plane = new ControlPlane();
    await plane.create(runtimes, {
      metadata: { name: "bash", namespace },
      spec: { template: { spec: { containers: [{ name: "runtime", image: "x" }] } } },
    });
    const before = new Life(plane);
    await begin();
    before.end();
    await ask("end", "Stop");
    const first = new Life(plane, writes);
    await plane.elapse(2000);
    first.end();
    const second = new Life(plane);
    await plane.until(async () => (await phaseOf("end")) === "Succeeded");
    const [child] = (await plane.client.of(runs).list({ namespace })).items;
    expect(child?.spec.termination?.mode, `after ${writes} writes`).toBe("Immediate");
    expect((await plane.find(workflowRuns, "ci"))?.status).toMatchObject({ phase: "Stopping" });
    second.end();
    plane.stop();
  }
});

test("Events are emitted by the controller that did it, never again by the one that only repeats the answer", async () => {
  for (let writes = 0; writes < 6; writes++) {
    plane = new ControlPlane();
    await plane.create(runtimes, {
      metadata: { name: "bash", namespace },
      spec: { template: { spec: { containers: [{ name: "runtime", image: "x" }] } } },
    });
    const said: string[] = [];
    const recorder = { event: (_: unknown, __: string, reason: string) => void said.push(reason) };
    const before = new Life(plane);
    await begin();
    before.end();
    await ask("hold", "Suspend");
    const first = new Life(plane, writes, undefined, recorder);
    await plane.elapse(2000);
    first.end();
    const second = new Life(plane, undefined, undefined, recorder);
    await plane.until(async () => (await phaseOf("hold")) === "Succeeded");
    await plane.elapse(2000);
    for (const reason of ["WorkflowActionApplied", "WorkflowActionSucceeded"]) {
      expect(said.filter((each) => each === reason).length, `${reason} after ${writes} writes`).toBeLessThanOrEqual(1);
    }
    second.end();
    plane.stop();
  }
});

test("two controllers at work at once do nothing twice: whoever writes on an old copy begins again", async () => {
  const old = new Life(plane);
  await begin();
  const next = new Life(plane);
  await plane.elapse(1000);
  const suspended: boolean[] = [];
  plane.api.faults.onRequest = ({ verb, resource, subresource, body }) => {
    if (verb !== "update" || subresource !== "status" || !resource.startsWith("workflowruns.")) return undefined;
    suspended.push((body as WorkflowRun).status?.suspended === true);
    return { kind: "delay", ms: 5 };
  };
  const names = Array.from({ length: 12 }, (_, index) => `n${10 + index}`);
  for (const [index, name] of names.entries()) {
    await ask(name, index % 2 === 0 ? "Suspend" : "Resume");
    await plane.elapse(index % 3 === 0 ? 0 : 40);
  }
  await plane.until(async () => !(await Promise.all(names.map(phaseOf))).includes("Pending"), 300_000);
  await plane.elapse(5000);
  expect(new Set(await Promise.all(names.map(phaseOf)))).toEqual(new Set(["Succeeded"]));
  expect((await plane.find(workflowRuns, "ci"))?.status).toMatchObject({ phase: "Running" });
  expect((await plane.find(workflowRuns, "ci"))?.status?.appliedActions).toBeUndefined();
  expect(suspended.length).toBeGreaterThan(4);
  old.end();
  next.end();
});

test("no action waits for more than a few seconds after a restart", async () => {
  const before = new Life(plane);
  await begin();
  before.end();
  await ask("hold", "Suspend");
  await plane.elapse(3_600_000);
  expect(await phaseOf("hold")).toBe("Pending");
  const begun = plane.clock.now();
  const after = new Life(plane);
  await plane.until(async () => (await phaseOf("hold")) === "Succeeded", 5000);
  expect(plane.clock.now() - begun).toBeLessThan(5000);
  after.end();
});

test("another TTL is that of the actions that are there, too; a thousand that are due go within a minute of a restart", async () => {
  const before = new Life(plane);
  await begin();
  for (let index = 0; index < 1000; index++) await ask(`n${index}`, "Skip");
  await plane.until(async () => (await phaseOf("n999")) === "Failed" && (await phaseOf("n0")) === "Failed");
  await plane.elapse(60_000);
  before.end();
  expect(await count()).toBe(1000);
  const shorter = new Life(plane, undefined, 30);
  await plane.elapse(60_000);
  expect(await count()).toBe(0);
  shorter.end();
});

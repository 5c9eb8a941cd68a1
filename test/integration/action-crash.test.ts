/** The controller dies at every point of what it does with actions; another one goes on. Each action has one effect and one answer. */
import { expect, test } from "vitest";
import type { JobSpec } from "#api/kinds/job.ts";
import type { WorkflowActionSpec } from "#api/kinds/workflow-action.ts";
import { runs, runtimes, workflowActions, workflowRuns, workflows } from "#api/resources.ts";
import { createInformer } from "#kube/informer.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { ControlPlane } from "./support/control-plane.ts";
import { Life } from "./support/life.ts";

const namespace = "default";

interface Told {
  readonly phase: string;
  readonly suspended: boolean;
  readonly shutdown: string | undefined;
}

/** A run at work, and everything that is ever seen of it and of the actions. */
async function world(
  jobs: Record<string, JobSpec> = { a: { "runs-on": "bash", steps: [{ name: "one", run: "true" }] } },
) {
  const plane = new ControlPlane();
  const story: Told[] = [];
  const answers = new Map<string, string[]>();
  const deps = { clock: plane.clock, random: seededRandom(9), logger: silentLogger };
  const seen = createInformer(plane.client, workflowRuns, deps);
  seen.onChange((_, next) => {
    const { phase = "Pending", suspended = false, shutdown } = next?.status ?? {};
    const told = { phase, suspended, shutdown };
    if (next !== undefined && JSON.stringify(told) !== JSON.stringify(story.at(-1))) story.push(told);
  });
  const asked = createInformer(plane.client, workflowActions, deps);
  asked.onChange((old, next) => {
    const phase = next?.status?.phase;
    if (next === undefined || phase === undefined || phase === "Pending" || phase === old?.status?.phase) return;
    answers.set(next.metadata.name, [...(answers.get(next.metadata.name) ?? []), `${phase} ${next.status?.reason}`]);
  });
  const watching = new AbortController();
  seen.start(watching.signal);
  asked.start(watching.signal);
  await plane.create(runtimes, {
    metadata: { name: "bash", namespace },
    spec: { template: { spec: { containers: [{ name: "runtime", image: "x" }] } } },
  });
  const twoSteps = ["one", "two"].map((name) => ({ name, run: "true" }));
  await plane.create(workflows, {
    metadata: { name: "inner", namespace },
    spec: { jobs: { a: { "runs-on": "bash", steps: twoSteps } } },
  });
  const life = new Life(plane);
  await plane.create(workflowRuns, { metadata: { name: "ci", namespace }, spec: { jobs } });
  await plane.until(async () => (await plane.client.of(runs).list({ namespace })).items.length === 1);
  life.end();
  await plane.settle();
  const ask = (name: string, action: string, more: Partial<WorkflowActionSpec> = {}) =>
    plane.create(workflowActions, {
      metadata: { name, namespace },
      spec: { workflowRef: { name: "ci" }, action, ...more },
    });
  const stop = () => {
    watching.abort();
    plane.stop();
  };
  return { plane, story, answers, ask, stop };
}

/** Dies at each write from the first one on, until a life gets to the end of its work. */
async function everyDeath(work: (at: number) => Promise<boolean>, least: number): Promise<void> {
  for (let writes = 0; ; writes++) {
    if (writes > 40) throw new Error("it never gets to the end");
    if (await work(writes)) {
      expect(writes).toBeGreaterThanOrEqual(least);
      return;
    }
  }
}

test("Suspend and Resume in one pass: the Suspend is not done again after the Resume, whenever the controller dies", async () => {
  await everyDeath(async (writes) => {
    const { plane, story, answers, ask, stop } = await world();
    await ask("a-suspend", "Suspend");
    await ask("b-resume", "Resume");
    await ask("c-nothing", "Resume");
    const first = new Life(plane, writes);
    await plane.elapse(5000);
    const died = first.isOver;
    first.end();
    const second = new Life(plane);
    await plane.until(() => answers.size === 3);
    await plane.elapse(1000);
    expect(Object.fromEntries(answers)).toEqual({
      "a-suspend": ["Succeeded ActionApplied"],
      "b-resume": ["Succeeded ActionApplied"],
      "c-nothing": ["Failed NothingToResume"],
    });
    expect(story.filter(({ suspended }) => suspended).length, `after ${writes} writes`).toBeLessThanOrEqual(1);
    const run = await plane.client.of(workflowRuns).get({ name: "ci", namespace });
    expect(run.status).toMatchObject({ phase: "Running" });
    expect(run.status?.appliedActions).toBeUndefined();
    expect(run.metadata.labels).toMatchObject({ "workflows.kruntimes.io/action": "Resume" });
    second.end();
    stop();
    return !died;
  }, 4);
});

test("Terminate that ends the run: answered as applied, not as too late, whenever the controller dies", async () => {
  await everyDeath(async (writes) => {
    const { plane, story, answers, ask, stop } = await world();
    await ask("end", "Terminate");
    const first = new Life(plane, writes);
    await plane.elapse(5000);
    const died = first.isOver;
    first.end();
    const second = new Life(plane);
    const [child] = (await plane.client.of(runs).list({ namespace })).items;
    const ended = { phase: "Cancelled" as const, reason: "Cancelled", completionTime: "2026-01-01T00:00:09.000000Z" };
    if (child !== undefined) await plane.client.of(runs).update({ ...child, status: ended }, "status");
    await plane.until(() => answers.size === 1 && story.at(-1)?.phase === "Failed");
    await plane.elapse(1000);
    expect(answers.get("end")).toEqual(["Succeeded ActionApplied"]);
    const run = await plane.client.of(workflowRuns).get({ name: "ci", namespace });
    expect(run.status).toMatchObject({ phase: "Failed", reason: "Terminated" });
    expect(run.status?.appliedActions).toBeUndefined();
    second.end();
    stop();
    return !died;
  }, 3);
});

test("Retry: one attempt of the run more and one Run more, whenever the controller dies", async () => {
  await everyDeath(async (writes) => {
    const { plane, answers, ask, stop } = await world();
    const before = new Life(plane);
    const [child] = (await plane.client.of(runs).list({ namespace })).items;
    const lost = { phase: "Failed" as const, reason: "RuntimeDeleted", completionTime: "2026-01-01T00:00:09.000000Z" };
    if (child !== undefined) await plane.client.of(runs).update({ ...child, status: lost }, "status");
    const phase = async () => (await plane.find(workflowRuns, "ci"))?.status?.phase;
    await plane.until(async () => (await phase()) === "Failed");
    before.end();
    await ask("again", "Retry");
    const first = new Life(plane, writes);
    await plane.elapse(5000);
    const died = first.isOver;
    first.end();
    const second = new Life(plane);
    await plane.until(() => answers.size === 1);
    await plane.elapse(5000);
    expect(answers.get("again")).toEqual(["Succeeded ActionApplied"]);
    const status = (await plane.find(workflowRuns, "ci"))?.status;
    expect(status, `after ${writes} writes`).toMatchObject({
      phase: "Running",
      attempt: 2,
      jobs: { a: { attempt: 2 } },
    });
    expect(status?.appliedActions).toBeUndefined();
    expect((await plane.client.of(runs).list({ namespace })).items).toHaveLength(2);
    second.end();
    stop();
    return !died;
  }, 5);
});

test("what was answered long ago is collected, also when the controller dies while it does that", async () => {
  await everyDeath(async (writes) => {
    const { plane, answers, ask, stop } = await world();
    const before = new Life(plane, undefined, 10);
    await ask("a", "Suspend");
    await ask("b", "Skip");
    await plane.until(() => answers.size === 2);
    await plane.elapse(100);
    before.end();
    const left = async () => (await plane.client.of(workflowActions).list({ namespace })).items.length;
    const first = new Life(plane, writes, 10);
    await plane.elapse(9000);
    expect(await left()).toBe(2);
    await plane.elapse(5000);
    const died = first.isOver;
    first.end();
    const second = new Life(plane, undefined, 10);
    await plane.until(async () => (await left()) === 0);
    second.end();
    stop();
    return !died;
  }, 2);
});

test("what is below a suspended run begins nothing, whenever the controller dies, and goes on after a Resume", async () => {
  await everyDeath(async (writes) => {
    const { plane, answers, ask, stop } = await world({ call: { uses: "inner" } });
    const children = async () => (await plane.client.of(runs).list({ namespace })).items;
    await ask("hold", "Suspend");
    const first = new Life(plane, writes);
    await plane.elapse(2000);
    const [child] = await children();
    const ended = { phase: "Succeeded" as const, attempt: 1, completionTime: "2026-01-01T00:00:09.000000Z" };
    if (answers.has("hold") && child !== undefined) {
      await plane.client.of(runs).update({ ...child, status: ended }, "status");
    }
    await plane.elapse(5000);
    const died = first.isOver;
    first.end();
    const second = new Life(plane);
    await plane.until(() => answers.size === 1);
    const [late] = await children();
    if (late !== undefined && late.status?.phase !== "Succeeded") {
      await plane.client.of(runs).update({ ...late, status: ended }, "status");
    }
    await plane.elapse(60_000);
    expect(await children(), `after ${writes} writes`).toHaveLength(1);
    await ask("on", "Resume");
    await plane.until(async () => (await children()).length === 2);
    expect(Object.fromEntries(answers)).toEqual({
      hold: ["Succeeded ActionApplied"],
      on: ["Succeeded ActionApplied"],
    });
    second.end();
    stop();
    return !died;
  }, 4);
});

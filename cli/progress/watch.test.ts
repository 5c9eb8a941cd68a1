import { expect, test } from "vitest";
import type { Run } from "#api/kinds/run.ts";
import type { LogRecord } from "#api/log-record.ts";
import { runs, runtimes } from "#api/resources.ts";
import { createClient } from "#kube/client.ts";
import { memoryTransport } from "#kube/memory.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { createApiServer } from "#local/apiserver/index.ts";
import { platformCrds } from "#local/crds.ts";
import type { Display } from "./display.ts";
import type { LogLine } from "./log-line.ts";
import type { View } from "./view.ts";
import { watchExecutions } from "./watch.ts";

const crds = platformCrds();

class Recorder implements Display {
  readonly views: View[] = [];
  readonly lines: LogLine[] = [];
  update(view: View): void {
    this.views.push(view);
  }
  log(line: LogLine): void {
    this.lines.push(line);
  }
  note(): void {}
  hold(): void {}
  end(): void {}
}

async function setup(names: readonly string[], follow = false) {
  const clock = new VirtualClock();
  const random = seededRandom(3);
  const api = createApiServer({ crds, clock, random });
  const client = createClient(memoryTransport(api, clock));
  const runClient = client.of(runs);
  const create = (name: string) =>
    runClient.create({
      metadata: { name, namespace: "default" },
      spec: { runtime: "bash", source: { inline: "true" } },
    });
  const created: Run[] = [];
  for (const name of names) created.push(await create(name));
  const display = new Recorder();
  const deps = { client, clock, random, logger: silentLogger, display };
  const watched = await watchExecutions({ runs: created, workflowRuns: [] }, follow, deps);
  let over = false;
  void watched.over.then(() => {
    over = true;
  });
  const move = async (name: string, ...statuses: Partial<NonNullable<Run["status"]>>[]) => {
    for (const status of statuses) {
      await runClient.patch({ name, namespace: "default" }, { status }, { subresource: "status" });
    }
    await clock.elapse(1);
  };
  const finish = (name: string) =>
    move(name, { phase: "Scheduled" }, { phase: "Running", attempt: 1 }, { phase: "Succeeded" });
  await clock.elapse(1);
  return { clock, client, create, display, watched, move, finish, isOver: () => over };
}

const record = (run: string, message: string): LogRecord => ({
  run,
  attempt: 1,
  seq: 1,
  time: "2026-01-01T00:00:00.000000Z",
  stream: "stderr",
  message,
});

test("it is over when everything that is awaited has ended, and not before", async () => {
  const { watched, finish, isOver, create } = await setup(["a", "b"]);
  await create("somebody-elses");
  await finish("a");
  expect(isOver()).toBe(false);
  expect(watched.unfinished()).toEqual(["b (Pending)", "somebody-elses (Pending)"]);
  await finish("b");
  expect(isOver()).toBe(true);
  expect(watched.view().runs.map(({ status }) => status?.phase)).toEqual(["Succeeded", "Succeeded"]);
  await watched.stop();
});

test("what is deleted is not waited for, and keeps its last state", async () => {
  const { watched, finish, isOver, client, clock } = await setup(["a", "b"]);
  await finish("a");
  for (const name of ["a", "b"]) await client.of(runs).delete({ name, namespace: "default" });
  await clock.elapse(1);
  expect(isOver()).toBe(true);
  expect(watched.view().runs.map(({ status }) => status?.phase)).toEqual(["Succeeded", "Pending"]);
  await watched.stop();
});

test("a wait is shown when it has lasted five seconds, without any event", async () => {
  const { watched, move, display, clock } = await setup(["a"]);
  await move("a", { reason: "NoReadyPods", message: "Runtime bash has no ready Pod" });
  await clock.elapse(4900);
  expect(display.views.at(-1)?.waits).toEqual([]);
  await clock.elapse(200);
  expect(display.views.at(-1)?.waits).toMatchObject([{ label: "a", reason: "NoReadyPods" }]);
  expect(watched.unfinished()).toEqual([expect.stringMatching(/^a \(NoReadyPods: Runtime bash has no ready Pod\. /)]);
  await watched.stop();
});

test("a reason that comes late is shown at once", async () => {
  const { watched, move, display, clock } = await setup(["a"]);
  await clock.elapse(6000);
  expect(display.views.at(-1)?.waits).toEqual([]);
  await move("a", { reason: "NoReadyPods", message: "Runtime bash has no ready Pod" });
  expect(display.views.at(-1)?.waits).toMatchObject([{ label: "a", reason: "NoReadyPods" }]);
  await watched.stop();
});

test("trouble of the Runtime is told when it becomes known", async () => {
  const { watched, move, display, clock, client } = await setup(["a"]);
  await move("a", { reason: "NoReadyPods", message: "no ready Pod" });
  await clock.elapse(6000);
  const spec = { template: { spec: { containers: [{ name: "runtime", image: "i" }] } } };
  await client.of(runtimes).create({ metadata: { name: "bash", namespace: "default" }, spec });
  const trouble = {
    reason: "PodsFailing",
    message: "the claim is missing",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  };
  const status = { conditions: [{ type: "Degraded", status: "True", ...trouble }] };
  await client.of(runtimes).patch({ name: "bash", namespace: "default" }, { status }, { subresource: "status" });
  await clock.elapse(1);
  expect(display.views.at(-1)?.waits[0]?.text).toBe("no ready Pod. the claim is missing");
  await watched.stop();
});

test("output is shown under the name of its Run when it is followed, and its tail is kept in any case", async () => {
  for (const follow of [true, false]) {
    const { watched, display } = await setup(["a"], follow);
    const uid = watched.view().runs[0]?.metadata.uid ?? "";
    watched.take(record(uid, "one"));
    watched.take(record("another-run", "two"));
    const lines = [
      { label: "a", stream: "stderr", text: "one" },
      { label: "another-run", stream: "stderr", text: "two" },
    ];
    expect(display.lines).toEqual(follow ? lines : []);
    expect(watched.tails.of(uid)).toEqual(["one"]);
    await watched.stop();
  }
});

test("after the stop no timer is left, and nothing is shown any more", async () => {
  const { watched, clock, move, display } = await setup(["a"]);
  await move("a", { reason: "NoReadyPods", message: "m" });
  await watched.stop();
  const { length } = display.views;
  await move("a", { phase: "Scheduled" });
  expect(display.views).toHaveLength(length);
  expect(clock.pending).toBe(0);
});

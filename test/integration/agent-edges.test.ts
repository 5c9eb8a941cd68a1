import { afterEach, expect, test } from "vitest";
import type { PersistentWorkspaceStatus } from "#api/kinds/persistent-workspace.ts";
import { persistentWorkspaces, runs } from "#api/resources.ts";
import { timestamp } from "#api/time.ts";
import { sleep } from "#kube/ports.ts";
import { type ApiRequest, failure, StatusError } from "#kube/transport.ts";
import { ExecutorUnavailableError } from "#runtime/executor-client.ts";
import { AgentWorld, pod } from "./support/agent-world.ts";

let world: AgentWorld;
afterEach(() => {
  world.crash();
  world.api.close();
});

function make(): AgentWorld {
  world = new AgentWorld();
  return world;
}

function start(): AgentWorld {
  make().start();
  return world;
}

const namespace = "default";

/** Writes more of a workspace's status, as its controller would. */
async function note(name: string, change: Partial<PersistentWorkspaceStatus>): Promise<void> {
  await world.client.of(persistentWorkspaces).patch({ name, namespace }, { status: change }, { subresource: "status" });
}

test("a workspace whose only Run ended before it began is new for the next one, although it has a lastUsedTime", async () => {
  start();
  await world.createWorkspace("ws");
  await world.createRun("early", { workspace: { name: "ws" } });
  await world.move("early", { type: "CANCEL", message: "not needed", now: world.clock.now() });
  await note("ws", { lastUsedTime: timestamp(world.clock.now()) });
  await world.createRun("next", { workspace: { name: "ws" } });
  await world.assign("next");
  expect(await world.untilOver("next")).toMatchObject({ phase: "Succeeded" });
});

test("a used workspace whose directory is gone is lost, also for an agent that did not see its use", async () => {
  start();
  await world.createWorkspace("ws");
  for (const name of ["a", "b"]) await world.createRun(name, { workspace: { name: "ws" } });
  await world.assign("a");
  expect(await world.untilOver("a")).toMatchObject({ phase: "Succeeded" });
  await note("ws", { lastUsedTime: timestamp(world.clock.now()) });
  world.crash();
  await world.files.remove("/workspace/persistent/ws");
  world.start();
  await world.assign("b");
  expect(await world.untilOver("b")).toMatchObject({ phase: "Failed", reason: "WorkspaceLost" });
});

test("an agent lists and watches the Runs and the workspaces of its own Pod, and no others", async () => {
  make();
  const asked = new Set<string>();
  world.hold = (point, [request]) => {
    if (!point.startsWith("api.")) return undefined;
    const { path, query, method = "GET" } = request as ApiRequest;
    const [, plural, name] = /\/namespaces\/[^/]+\/([^/]+)(?:\/([^/]+))?/.exec(path) ?? [];
    if (method === "GET" && plural !== undefined && name === undefined) asked.add(`${plural} ${query?.fieldSelector}`);
    return undefined;
  };
  world.start();
  await world.createWorkspace("ws");
  await world.createRun("a", { workspace: { name: "ws" } });
  await world.assign("a");
  expect(await world.untilOver("a")).toMatchObject({ phase: "Succeeded" });
  expect([...asked].sort()).toEqual([
    `persistentworkspaces status.boundPod=${pod.name}`,
    expect.stringMatching(new RegExp(`^runs status\\.assignedPod=${pod.name},status\\.phase!=`)),
  ]);
});

test("a Run that comes to a workspace that is being deleted is handed back without an attempt", async () => {
  start();
  await world.createWorkspace("ws");
  world.programs.set("a", () => ({ durationMs: 60_000 }));
  for (const name of ["a", "b"]) await world.createRun(name, { workspace: { name: "ws" } });
  await world.assign("a");
  await world.until(() => world.executor.running.length === 1);
  await world.client.of(persistentWorkspaces).delete({ name: "ws", namespace });
  const deletedAt = world.clock.now();
  await world.until(() => world.clock.now() > deletedAt + 1000);
  await world.assign("b");
  const status = await world.untilOver("b");
  expect(status).toMatchObject({ phase: "Pending", reason: "HandedBack" });
  expect(status.message).toContain("workspace ws is being deleted and takes no new Run");
  expect(status.attempt ?? 0).toBe(0);
  expect(await world.untilOver("a")).toMatchObject({ phase: "Succeeded" });
});

test("what a Run left is gone before its next attempt begins on the same Pod", async () => {
  start();
  const remove = world.files.remove.bind(world.files);
  world.files.remove = async (path) => {
    // The first attempt leaves a lot behind.
    if (/\/runs\/[^/]+$/.test(path)) await sleep(world.clock, 3000);
    await remove(path);
  };
  world.programs.set("a", (attempt) =>
    attempt === 1
      ? { durationMs: 10, exitCode: 1 }
      : { durationMs: 20_000, writesFiles: [{ path: "$KRUNTIME_OUTPUTS", content: "kept=yes\n" }] },
  );
  await world.createRun("a", { retryPolicy: { maxAttempts: 2, backoff: "10ms" } });
  await world.assign("a");
  const first = await world.untilOver("a");
  await world.until(() => world.clock.now() >= Date.parse(first.nextAttemptTime ?? ""));
  await world.assign("a");
  expect(await world.untilOver("a")).toMatchObject({ phase: "Succeeded", attempt: 2, outputs: { kept: "yes" } });
});

test("an agent that starts removes what ended Runs left, and nothing of a Run that another Pod on the same volume has", async () => {
  make();
  const mine = await world.createRun("mine");
  await world.move("mine", { type: "CANCEL", message: "over", now: 0 });
  const other = await world.createRun("other");
  await world.move("other", { type: "ASSIGN", pod: "runtime-bash-2", podUID: "other-uid", now: 0 });
  await world.move("other", { type: "CLAIM", now: world.clock.now() });
  for (const { metadata } of [mine, other]) {
    await world.files.makeDirectory(`/workspace/runs/${metadata.uid}`);
    await world.files.makeDirectory(`/workspace/.kruntimes/runs/${metadata.uid}/1`);
  }
  world.start();
  await world.until(async () => (await world.files.stat(`/workspace/runs/${mine.metadata.uid}`)) === undefined);
  await world.createRun("next");
  await world.assign("next");
  expect(await world.untilOver("next")).toMatchObject({ phase: "Succeeded" });
  expect(await world.files.stat(`/workspace/runs/${other.metadata.uid}`)).toBeDefined();
  expect(await world.files.stat(`/workspace/.kruntimes/runs/${other.metadata.uid}/1`)).toBeDefined();
  // Nobody else would remove them, had they been left by an earlier attempt in this Pod.
  await world.move("other", { type: "SUCCEED", exitCode: 0, now: world.clock.now() });
  await world.until(async () => (await world.files.stat(`/workspace/runs/${other.metadata.uid}`)) === undefined);
  expect(await world.files.stat(`/workspace/.kruntimes/runs/${other.metadata.uid}`)).toBeUndefined();
});

test("files that cannot be removed at the start do not keep the agent from its work, and go as soon as they can", async () => {
  make();
  const old = await world.createRun("old");
  await world.move("old", { type: "CANCEL", message: "over", now: 0 });
  await world.files.makeDirectory(`/workspace/runs/${old.metadata.uid}`);
  const remove = world.files.remove.bind(world.files);
  let isSick = true;
  world.files.remove = (path) =>
    isSick && path.endsWith(old.metadata.uid ?? "") ? Promise.reject(new Error("input/output error")) : remove(path);
  world.start();
  await world.createRun("next");
  await world.assign("next");
  expect(await world.untilOver("next")).toMatchObject({ phase: "Succeeded" });
  isSick = false;
  await world.until(async () => (await world.files.stat(`/workspace/runs/${old.metadata.uid}`)) === undefined);
});

test("a claim that is stored after its agent died is found by the next one, however late", async () => {
  make();
  const old = await world.createRun("old");
  await world.move("old", { type: "CANCEL", message: "over", now: 0 });
  await world.files.makeDirectory(`/workspace/runs/${old.metadata.uid}`);
  world.start();
  await world.until(async () => (await world.files.stat(`/workspace/runs/${old.metadata.uid}`)) === undefined);
  let isDelayed = false;
  world.api.faults.onRequest = ({ verb, subresource, name }) => {
    if (isDelayed || verb !== "update" || subresource !== "status" || name !== "a") return undefined;
    isDelayed = true;
    return { kind: "delay", ms: 2000 };
  };
  await world.createRun("a");
  const placed = { phase: "Scheduled", assignedPod: pod.name, assignedPodUID: pod.uid, assignmentEpoch: 1 };
  await world.client.of(runs).patch({ name: "a", namespace }, { status: placed }, { subresource: "status" });
  await world.until(() => isDelayed);
  world.crash();
  // The next one is busy with what is left of old Runs when the claim arrives.
  await world.files.makeDirectory(`/workspace/runs/${old.metadata.uid}`);
  const remove = world.files.remove.bind(world.files);
  world.files.remove = async (path) => {
    if (path.endsWith(old.metadata.uid ?? "")) await sleep(world.clock, 5000);
    await remove(path);
  };
  world.start();
  expect(await world.untilOver("a")).toMatchObject({ phase: "Succeeded", attempt: 1 });
});

test("the directory of a workspace is removed only while that very workspace still is to be removed", async () => {
  start();
  await world.createWorkspace("ws");
  await world.createRun("a", { workspace: { name: "ws" } });
  await world.assign("a");
  await world.untilOver("a");
  // Its deletion is withdrawn by force, and another one of that name has come, on a Pod with the same volume.
  let held = false;
  world.api.faults.onWatchEvent = ({ resource, fieldSelector }, { type }) => {
    if (resource !== "persistentworkspaces.kruntimes.io" || !fieldSelector?.includes(pod.name)) return undefined;
    if (type === "MODIFIED") held = true;
    return { delayMs: 5000 };
  };
  const client = world.client.of(persistentWorkspaces);
  await client.delete({ name: "ws", namespace });
  await client.patch({ name: "ws", namespace }, { metadata: { finalizers: null } });
  const next = await client.create({ metadata: { name: "ws", namespace }, spec: { runtime: "bash" } });
  const status = { phase: "Bound" as const, boundPod: "runtime-bash-2", boundPodUID: "other-uid" };
  await client.update({ ...next, status }, "status");
  await world.until(() => held);
  await world.until(() => world.clock.monotonic() > 60_000);
  expect(await world.files.stat("/workspace/persistent/ws")).toBeDefined();
});

test("all that an agent writes of a workspace is that its finalizer goes", async () => {
  start();
  await world.createWorkspace("ws");
  await world.createRun("a", { workspace: { name: "ws" } });
  await world.assign("a");
  await world.untilOver("a");
  await world.client.of(persistentWorkspaces).delete({ name: "ws", namespace });
  const asked: string[] = [];
  world.api.faults.onRequest = ({ verb, resource, subresource, body }) => {
    const isWrite = !["get", "list", "watch"].includes(verb);
    if (resource === "persistentworkspaces.kruntimes.io" && isWrite) {
      asked.push(`${verb} ${subresource ?? ""}${JSON.stringify(Object.keys(body as object))}`);
    }
    return undefined;
  };
  await world.until(async () => (await world.files.stat("/workspace/persistent/ws")) === undefined);
  await world.until(() => asked.length > 0);
  await world.until(() => world.clock.monotonic() > 60_000);
  expect(asked).toEqual(['patch ["metadata"]']);
});

test.each(["Released", "Lost"] as const)(
  "a Run whose workspace is %s after it was assigned is handed back without an attempt; one at work goes on",
  async (phase) => {
    start();
    await world.createWorkspace("ws");
    world.programs.set("at-work", () => ({ durationMs: 20_000 }));
    for (const name of ["at-work", "late"]) await world.createRun(name, { workspace: { name: "ws" } });
    await world.assign("at-work");
    await world.until(() => world.executor.running.length === 1);
    await note("ws", { phase });
    await world.until(() => world.clock.monotonic() > 5000);
    await world.assign("late");
    const late = await world.untilOver("late");
    expect(late).toMatchObject({ phase: "Pending", reason: "HandedBack" });
    expect(late.attempt ?? 0).toBe(0);
    expect(late.message).toContain(`workspace ws is ${phase}`);
    expect(await world.untilOver("at-work")).toMatchObject({ phase: "Succeeded" });
  },
);

test("a result that the API server will not have ends the Run with its answer", async () => {
  start();
  const handle = world.api.handle.bind(world.api);
  world.api.handle = (request) => {
    const { phase, outputs } =
      (request.body as { status?: { phase?: string; outputs?: object } } | undefined)?.status ?? {};
    if (phase === "Succeeded" && outputs !== undefined) {
      const message = "status.outputs: Invalid value";
      return Promise.reject(new StatusError(failure(422, "Invalid", message)));
    }
    return handle(request);
  };
  world.programs.set("a", () => ({
    durationMs: 5,
    writesFiles: [{ path: "$KRUNTIME_OUTPUTS", content: "key=value\n" }],
  }));
  await world.createRun("a");
  await world.assign("a");
  const status = await world.untilOver("a");
  expect(status).toMatchObject({ phase: "Failed", reason: "OutputsInvalid" });
  expect(status.message).toContain("status.outputs: Invalid value");
});

test("outputs of a program that failed, and that the API server will not have, are no reason of their own", async () => {
  start();
  const handle = world.api.handle.bind(world.api);
  world.api.handle = (request) => {
    const { outputs } = (request.body as { status?: { outputs?: object } } | undefined)?.status ?? {};
    if (outputs === undefined) return handle(request);
    return Promise.reject(new StatusError(failure(422, "Invalid", "status.outputs: Invalid value")));
  };
  world.programs.set("a", () => ({
    durationMs: 5,
    exitCode: 3,
    writesFiles: [{ path: "$KRUNTIME_OUTPUTS", content: "key=value\n" }],
  }));
  await world.createRun("a");
  await world.assign("a");
  const status = await world.untilOver("a");
  expect(status).toMatchObject({ phase: "Failed", reason: "ExitNonZero", exitCode: 3 });
  expect(status.message).toMatch(/^exit code 3; its outputs are not recorded: .*status.outputs: Invalid value$/);
});

test("an agent that restarts while it reads what a failed program wrote tells it all the same", async () => {
  start();
  world.programs.set("a", () => ({
    durationMs: 5,
    exitCode: 3,
    writesFiles: [{ path: "$KRUNTIME_OUTPUTS", content: "key=value\n" }],
  }));
  let isDead = false;
  world.watcher = (point, when) => {
    if (isDead || point !== "files.readFile" || when !== "before" || world.executor.running.length > 0) return;
    isDead = true;
    world.crash();
  };
  await world.createRun("a");
  await world.assign("a");
  await world.until(() => isDead);
  world.start();
  expect(await world.untilOver("a")).toMatchObject({
    phase: "Failed",
    exitCode: 3,
    attempt: 1,
    outputs: { key: "value" },
  });
});

test("an agent that may not write waits until it may", async () => {
  start();
  const handle = world.api.handle.bind(world.api);
  let refused = 0;
  world.api.handle = (request) => {
    const { phase } = (request.body as { status?: { phase?: string } } | undefined)?.status ?? {};
    if (phase === "Succeeded" && refused < 5) {
      refused++;
      const message = "the agent may not update runs/status";
      return Promise.reject(new StatusError(failure(403, "Forbidden", message)));
    }
    return handle(request);
  };
  await world.createRun("a");
  await world.assign("a");
  expect(await world.untilOver("a")).toMatchObject({ phase: "Succeeded" });
});

test("a Run that has ended leaves the watch of its agent", async () => {
  start();
  await world.createRun("a");
  await world.assign("a");
  await world.untilOver("a");
  await world.until(async () => (await world.executor.list()).length === 0);
  let told = 0;
  world.api.faults.onWatchEvent = ({ resource, fieldSelector }) => {
    if (resource === "runs.kruntimes.io" && fieldSelector?.includes(pod.name)) told++;
    return undefined;
  };
  await world.client.of(runs).patch({ name: "a", namespace }, { metadata: { labels: { seen: "yes" } } });
  await world.createRun("b");
  await world.assign("b");
  await world.untilOver("b");
  expect(told).toBe(3); // assigned, claimed, ended
});

test("a program that ended in time while no agent was there has ended in time", async () => {
  start();
  world.programs.set("a", () => ({ durationMs: 5000 }));
  await world.createRun("a", { timeout: "10s" });
  await world.assign("a");
  await world.until(() => world.executor.running.length === 1);
  world.crash();
  await world.clock.elapse(30_000);
  world.start();
  expect(await world.untilOver("a")).toMatchObject({ phase: "Succeeded" });
});

test("a program that ran over its time while no agent was there is a Timeout, whether it has ended meanwhile or not", async () => {
  for (const durationMs of [20_000, 600_000]) {
    start();
    world.programs.set("a", () => ({ durationMs }));
    await world.createRun("a", { timeout: "10s" });
    await world.assign("a");
    await world.until(() => world.executor.running.length === 1);
    world.crash();
    await world.clock.elapse(30_000);
    world.start();
    expect(await world.untilOver("a")).toMatchObject({ phase: "Timeout", reason: "Timeout" });
    expect(world.executor.running).toEqual([]);
    world.crash();
    world.api.close();
  }
});

test("an executor that does not answer when it is to forget an attempt is asked again", async () => {
  start();
  const forget = world.executor.forget.bind(world.executor);
  let lost = 0;
  world.executor.forget = (id) => (lost++ < 3 ? Promise.reject(new ExecutorUnavailableError("no answer")) : forget(id));
  await world.createRun("a");
  await world.assign("a");
  await world.untilOver("a");
  await world.until(async () => (await world.executor.list()).length === 0);
  expect(lost).toBe(4);
});

/** The executor is told to end and says that of the program, when `stop` is called. */
function stoppableExecutor(): { stop: () => void } {
  const { watch } = world.executor;
  const stopped = Promise.withResolvers<void>();
  world.executor.watch = (id, fromSeq, onEvent, signal, taken) => {
    const ended = stopped.promise.then(async () => {
      const exit = { cause: "executor-stopped", leftoverProcesses: 0, outOfMemory: false, message: "" } as const;
      await onEvent({ kind: "exited", seq: fromSeq + 1000, time: world.clock.now(), exit });
    });
    return Promise.race([ended, watch.call(world.executor, id, fromSeq, onEvent, signal, taken)]);
  };
  return { stop: () => stopped.resolve() };
}

test("what ends with its Pod is left to whoever sees why the Pod ended, and holds up nobody", async () => {
  start();
  const { stop } = stoppableExecutor();
  world.programs.set("a", () => ({ durationMs: 1_000_000 }));
  await world.createRun("a");
  await world.assign("a");
  await world.until(() => world.executor.running.length === 1);
  const drain = world.agent?.drain(1000);
  let over = false;
  void drain?.then(() => {
    over = true;
  });
  await world.until(() => over);
  expect(world.agent?.activeRuns).toBe(1);
  // The drain is over: the kubelet ends the executor, then the agent, which waits for what is left to write down.
  let ended = false;
  void world.agent?.drain(20_000).then(() => {
    ended = true;
  });
  const before = world.clock.now();
  stop();
  await world.until(() => ended);
  expect(world.clock.now() - before).toBeLessThan(5000);
  expect(await world.status("a")).toMatchObject({ phase: "Running", attempt: 1 });
});

test("an executor that is stopped because the kubelet evicts its Pod loses no attempt: the agent is told to end last", async () => {
  start();
  const { stop } = stoppableExecutor();
  world.programs.set("a", () => ({ durationMs: 1_000_000 }));
  await world.createRun("a");
  await world.assign("a");
  await world.until(() => world.executor.running.length === 1);
  stop();
  const stoppedAt = world.clock.now();
  await world.until(() => world.clock.now() > stoppedAt + 3000);
  world.agent?.stop();
  await world.until(() => world.clock.now() > stoppedAt + 60_000);
  expect(await world.status("a")).toMatchObject({ phase: "Running", attempt: 1 });
});

test.each([
  ["and comes back: the attempt is lost as soon as it answers", true, 1000],
  ["and does not come back: the attempt is lost all the same", false, 11_000],
])("an executor is stopped in a Pod that stays, %s", async (_, comesBack, withinMs) => {
  start();
  const { stop } = stoppableExecutor();
  world.programs.set("a", () => ({ durationMs: 1_000_000 }));
  await world.createRun("a");
  await world.assign("a");
  await world.until(() => world.executor.running.length === 1);
  stop();
  const stoppedAt = world.clock.now();
  if (comesBack) {
    const { health } = world.executor;
    world.executor.health = async (signal) => ({ ...(await health.call(world.executor, signal)), bootId: "next" });
  }
  expect(await world.untilOver("a")).toMatchObject({ phase: "Failed", reason: "AttemptLost" });
  expect(world.clock.now() - stoppedAt).toBeLessThan(withinMs);
});

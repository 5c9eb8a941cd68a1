import { afterEach, expect, test } from "vitest";
import { parseDuration } from "#api/duration.ts";
import { persistentWorkspaces, runs } from "#api/resources.ts";
import { sleep } from "#kube/ports.ts";
import type { SimulatedProgram } from "#runtime/simulated-program.ts";
import { AgentWorld } from "./support/agent-world.ts";

let world: AgentWorld;
afterEach(() => {
  world.crash();
  world.api.close();
});

function start(): AgentWorld {
  world = new AgentWorld();
  world.start();
  return world;
}

const namespace = "default";

test("a Run takes two writes of the agent: the claim and the end", async () => {
  const { api } = start();
  await world.createRun("a");
  await world.assign("a");
  api.counters.reset();
  expect(await world.untilOver("a")).toMatchObject({ phase: "Succeeded", attempt: 1, exitCode: 0 });
  expect(api.counters.writes("runs.kruntimes.io")).toBe(2);
});

test("a program that fails gives its exit code and the end of its stderr", async () => {
  start();
  world.programs.set("a", () => ({
    durationMs: 5,
    exitCode: 3,
    output: [{ stream: "stderr", data: "no such file\n" }],
  }));
  await world.createRun("a");
  await world.assign("a");
  const status = await world.untilOver("a");
  expect(status).toMatchObject({ phase: "Failed", reason: "ExitNonZero", exitCode: 3 });
  expect(status.message).toContain("no such file");
});

test("a program that runs longer than its timeout is killed, and the Run ends as Timeout once nothing is left", async () => {
  start();
  const writesFiles = [{ path: "$KRUNTIME_OUTPUTS", content: "made=1\n" }];
  world.programs.set("a", () => ({ durationMs: 60_000, writesFiles, onSigterm: { afterMs: 500, exitCode: 0 } }));
  await world.createRun("a", { timeout: "1s" });
  await world.assign("a");
  const status = await world.untilOver("a");
  expect(status).toMatchObject({ phase: "Timeout", reason: "Timeout", outputs: { made: "1" } });
  expect(Date.parse(status.completionTime ?? "") - Date.parse(status.startTime ?? "")).toBeGreaterThanOrEqual(1500);
  expect(world.executor.running).toEqual([]);
});

test("what a program wrote before it failed or was cancelled is told, of its last attempt only", async () => {
  start();
  const writing = (attempt: number) => [{ path: "$KRUNTIME_OUTPUTS", content: `made-${attempt}=1\n` }];
  world.programs.set("a", (attempt) => ({ durationMs: 5, exitCode: 1, writesFiles: writing(attempt) }));
  await world.createRun("a", { retryPolicy: { maxAttempts: 2, backoff: "0s" } });
  await world.assign("a");
  const first = await world.untilOver("a");
  expect(first).toMatchObject({ phase: "Pending", attempt: 1 });
  expect(first).not.toHaveProperty("outputs");
  await world.assign("a");
  expect(await world.untilOver("a")).toMatchObject({ phase: "Failed", attempt: 2, outputs: { "made-2": "1" } });
  expect((await world.status("a")).outputs).toEqual({ "made-2": "1" });

  world.programs.set("b", (attempt) => ({ durationMs: 60_000, writesFiles: writing(attempt) }));
  await world.createRun("b");
  await world.assign("b");
  await world.until(() => world.executor.running.length > 0);
  await world.client
    .of(runs)
    .patch({ name: "b", namespace: "default" }, { spec: { termination: { mode: "Immediate" } } });
  expect(await world.untilOver("b")).toMatchObject({ phase: "Cancelled", outputs: { "made-1": "1" } });
});

test("a retry after a timeout has its own clock", async () => {
  start();
  world.programs.set("a", (attempt) => ({ durationMs: attempt === 1 ? 60_000 : 500 }));
  await world.createRun("a", { timeout: "1s", retryPolicy: { maxAttempts: 2 } });
  await world.assign("a");
  const first = await world.untilOver("a");
  expect(first).toMatchObject({ phase: "Pending", attempts: [{ number: 1, reason: "Timeout" }] });
  await world.until(() => world.clock.now() >= Date.parse(first.nextAttemptTime ?? ""));
  await world.assign("a");
  expect(await world.untilOver("a")).toMatchObject({ phase: "Succeeded", attempt: 2 });
});

test.each<[string, SimulatedProgram["onSigterm"], string]>([
  ["dies of SIGTERM", "dies", "its program was ended by SIGTERM"],
  ["handles SIGTERM", { afterMs: 500, exitCode: 3 }, "its program ended after SIGTERM with exit code 3"],
  ["ignores SIGTERM", "ignores", "its program did not end by SIGTERM and was ended by SIGKILL"],
])(
  "cancelling a running Run ends its program first, and the message says how: one that %s",
  async (_, onSigterm, how) => {
    start();
    world.programs.set("a", () => ({ durationMs: 60_000, ...(onSigterm && { onSigterm }) }));
    await world.createRun("a");
    await world.assign("a");
    await world.until(() => world.executor.running.length === 1);
    const termination = { mode: "Immediate", message: "not needed" };
    await world.client.of(runs).patch({ name: "a", namespace }, { spec: { termination } });
    expect(await world.untilOver("a")).toMatchObject({ phase: "Cancelled", message: `not needed; ${how}` });
    expect(world.executor.running).toEqual([]);
  },
);

test("cancelling at any moment of an attempt ends it once, without anything left at work", async () => {
  for (let target = 0; ; target++) {
    start();
    world.programs.set("a", () => ({
      durationMs: 20,
      writesFiles: [{ path: "$KRUNTIME_ARTIFACTS_DIR/f", content: "x" }],
    }));
    await world.createRun("a");
    let seen = 0;
    let asked = false;
    world.watcher = (_, when) => {
      if (when !== "before" || asked || seen++ !== target) return;
      asked = true;
      const patch = { spec: { termination: { mode: "Immediate" } } };
      void world.client.of(runs).patch({ name: "a", namespace }, patch);
    };
    await world.assign("a");
    const { phase, artifactRefs } = await world.untilOver("a");
    expect(["Cancelled", "Succeeded"]).toContain(phase);
    // Nobody can take half an artifact for a whole one.
    expect(artifactRefs?.length ?? 0).toBe(phase === "Succeeded" ? 1 : 0);
    expect(world.executor.running).toEqual([]);
    expect([...world.executor.starts.values()].every((count) => count === 1)).toBe(true);
    world.crash();
    world.api.close();
    if (!asked) break;
  }
});

test("a Run that was taken away is killed and never reported", async () => {
  start();
  world.programs.set("a", () => ({ durationMs: 60_000 }));
  await world.createRun("a", { retryPolicy: { maxAttempts: 3 } });
  await world.assign("a");
  await world.until(() => world.executor.running.length === 1);
  const retry = { maxAttempts: 3, backoffMs: 1000, reasons: [] };
  await world.move("a", { type: "POD_LOST", reason: "NodeLost", message: "silent", retry, now: world.clock.now() });
  await world.until(() => world.executor.running.length === 0);
  expect(await world.status("a")).toMatchObject({ phase: "Pending", attempt: 1 });
});

test("a Run that is deleted while it runs is killed", async () => {
  start();
  world.programs.set("a", () => ({ durationMs: 60_000 }));
  await world.createRun("a");
  await world.assign("a");
  await world.until(() => world.executor.running.length === 1);
  await world.client.of(runs).delete({ name: "a", namespace });
  await world.until(() => world.executor.running.length === 0);
});

test("a Run for which the Pod has no room is handed back without an attempt", async () => {
  start();
  for (const name of ["a", "b"]) world.programs.set(name, () => ({ durationMs: 60_000 }));
  await world.createRun("a", { resources: { requests: { runs: 3 } } });
  await world.assign("a");
  await world.until(() => world.executor.running.length === 1);
  await world.createRun("b", { resources: { requests: { runs: 2 } } });
  await world.assign("b");
  const status = await world.untilOver("b");
  expect(status).toMatchObject({ phase: "Pending", reason: "HandedBack" });
  expect(status.attempt ?? 0).toBe(0);
  expect(status.message).toContain("runs: 2 requested, 3 of 4 in use");
});

test("a Run that was handed back can come to the same Pod again", async () => {
  start();
  world.programs.set("a", () => ({ durationMs: 100 }));
  await world.createRun("a", { resources: { requests: { runs: 4 } } });
  await world.assign("a");
  await world.until(() => world.executor.running.length === 1);
  await world.createRun("b", { resources: { requests: { runs: 1 } } });
  await world.assign("b");
  expect(await world.untilOver("b")).toMatchObject({ phase: "Pending" });
  await world.untilOver("a");
  await world.assign("b");
  expect(await world.untilOver("b")).toMatchObject({ phase: "Succeeded", attempt: 1, assignmentEpoch: 2 });
});

test("a draining agent hands back what is not claimed and waits for what is", async () => {
  start();
  world.programs.set("a", () => ({ durationMs: 5000 }));
  await world.createRun("a");
  await world.assign("a");
  await world.until(() => world.executor.running.length === 1);
  let drained = false;
  void world.agent?.drain(60_000).then(() => {
    drained = true;
  });
  await world.createRun("b");
  await world.assign("b");
  expect(await world.untilOver("b")).toMatchObject({ phase: "Pending", reason: "HandedBack" });
  expect(drained).toBe(false);
  expect(await world.untilOver("a")).toMatchObject({ phase: "Succeeded" });
  await world.until(() => drained);
});

const endings: Record<string, { outputs?: string; artifacts?: Record<string, string>; reason: string; says: string }> =
  {
    "a line without = in the outputs file": { outputs: "nonsense\n", reason: "OutputsInvalid", says: "line 1" },
    "an output over its limit": { outputs: `k=${"x".repeat(9000)}\n`, reason: "OutputsTooLarge", says: "8" },
    "an artifact on a Runtime without a store": {
      artifacts: { f: "x" },
      reason: "ArtifactInvalid",
      says: "no artifactStore",
    },
  };

test.each(Object.entries(endings))(
  "%s is a final failure with its reason",
  async (_, { outputs, artifacts, reason, says }) => {
    world = new AgentWorld();
    world.hasStore = false;
    world.start();
    world.programs.set("a", () => ({
      durationMs: 5,
      writesFiles: [
        ...(outputs === undefined ? [] : [{ path: "$KRUNTIME_OUTPUTS", content: outputs }]),
        ...Object.entries(artifacts ?? {}).map(([name, content]) => ({
          path: `$KRUNTIME_ARTIFACTS_DIR/${name}`,
          content,
        })),
      ],
    }));
    await world.createRun("a", { retryPolicy: { maxAttempts: 5 } });
    await world.assign("a");
    const status = await world.untilOver("a");
    expect(status).toMatchObject({ phase: "Failed", reason });
    expect(status.message).toContain(says);
  },
);

test("a store that is down is asked again, and gives up as ArtifactStoreUnavailable at the timeout", async () => {
  start();
  world.store.put = () => Promise.reject(Object.assign(new Error("no space"), { name: "StoreUnavailableError" }));
  const { StoreUnavailableError } = await import("#runtime/artifacts/store.ts");
  let asked = 0;
  world.store.put = () => {
    asked++;
    return Promise.reject(new StoreUnavailableError("the volume does not answer"));
  };
  world.programs.set("a", () => ({
    durationMs: 5,
    writesFiles: [{ path: "$KRUNTIME_ARTIFACTS_DIR/f", content: "x" }],
  }));
  await world.createRun("a", { timeout: "30s" });
  await world.assign("a");
  expect(await world.untilOver("a")).toMatchObject({ phase: "Failed", reason: "ArtifactStoreUnavailable" });
  expect(asked).toBeGreaterThan(3);
});

test("artifacts that are not stored soon after the time limit are given up, before the agent is taken for lost", async () => {
  world = new AgentWorld();
  world.hold = (point) => (point === "store.put" ? sleep(world.clock, 40_000) : undefined);
  world.start();
  const writesFiles = ["1", "2", "3"].map((name) => ({ path: `$KRUNTIME_ARTIFACTS_DIR/${name}`, content: "x" }));
  world.programs.set("a", () => ({
    durationMs: 9000,
    writesFiles: [...writesFiles, { path: "$KRUNTIME_OUTPUTS", content: "made=1\n" }],
  }));
  await world.createRun("a", { timeout: "10s" });
  await world.assign("a");
  const status = await world.untilOver("a");
  expect(status).toMatchObject({ phase: "Failed", reason: "ArtifactStoreUnavailable", outputs: { made: "1" } });
  expect(status.message).toMatch(/were not stored within 50s after the time limit; raise spec.timeout/);
  // The controller takes a Run away 60 s after its time limit.
  expect(parseDuration(status.duration)).toBeLessThan(62_000);
  expect(parseDuration(status.duration)).toBeGreaterThan(59_000);

  world.programs.set("b", () => ({ durationMs: 9000, writesFiles }));
  await world.createRun("b");
  await world.assign("b");
  expect(await world.untilOver("b")).toMatchObject({ phase: "Succeeded" });
});

test("a workspace that is deleted is removed from the Pod only when no Run refers to it any more", async () => {
  start();
  await world.createWorkspace("ws");
  world.programs.set("a", () => ({ durationMs: 1000, writesFiles: [{ path: "kept", content: "x" }] }));
  await world.createRun("a", { workspace: { name: "ws" } });
  await world.assign("a");
  await world.until(() => world.executor.running.length === 1);
  await world.client.of(persistentWorkspaces).delete({ name: "ws", namespace });
  await world.until(async () => (await world.files.stat("/workspace/persistent/ws/kept")) !== undefined);
  expect(await world.untilOver("a")).toMatchObject({ phase: "Succeeded" });
  await world.until(async () => (await world.files.stat("/workspace/persistent/ws")) === undefined);
  await world.until(() =>
    world.client
      .of(persistentWorkspaces)
      .get({ name: "ws", namespace })
      .then(
        () => false,
        () => true,
      ),
  );
});

test("a Run in a workspace that was used and whose directory is gone fails with WorkspaceLost", async () => {
  start();
  await world.createWorkspace("ws");
  for (const name of ["a", "b"]) await world.createRun(name, { workspace: { name: "ws" } });
  await world.assign("a");
  expect(await world.untilOver("a")).toMatchObject({ phase: "Succeeded" });
  await world.files.remove("/workspace/persistent/ws");
  await world.assign("b");
  expect(await world.untilOver("b")).toMatchObject({ phase: "Failed", reason: "WorkspaceLost" });
});

test("an execution whose Run is gone is ended when the agent starts, and its files removed", async () => {
  start();
  world.programs.set("a", () => ({ durationMs: 60_000 }));
  const run = await world.createRun("a");
  await world.assign("a");
  await world.until(() => world.executor.running.length === 1);
  world.crash();
  await world.client.of(runs).delete({ name: "a", namespace });
  expect(await world.files.stat(`/workspace/runs/${run.metadata.uid}`)).toBeDefined();
  world.start();
  await world.until(() => world.executor.running.length === 0);
  await world.until(async () => (await world.executor.list()).length === 0);
  await world.until(async () => (await world.files.stat(`/workspace/runs/${run.metadata.uid}`)) === undefined);
});

test("a lost answer to the claim is settled by a live read: the attempt begins once", async () => {
  start();
  let lost = false;
  world.api.faults.onRequest = ({ verb, subresource }) => {
    if (verb !== "update" || subresource !== "status" || lost) return undefined;
    lost = true;
    return { kind: "timeoutAfterCommit" };
  };
  const run = await world.createRun("a");
  await world.client
    .of(runs)
    .patch(
      { name: "a", namespace },
      { status: { phase: "Scheduled", assignedPod: "runtime-bash-1", assignedPodUID: "pod-uid", assignmentEpoch: 1 } },
      { subresource: "status" },
    );
  expect(await world.untilOver("a")).toMatchObject({ phase: "Succeeded", attempt: 1 });
  expect(lost).toBe(true);
  expect(world.executor.starts.get(`${run.metadata.uid}#1`)).toBe(1);
});

test("the output of a program is in the log, in order, under its Run and attempt, and a mark behind it", async () => {
  start();
  world.programs.set("a", () => ({
    durationMs: 20,
    output: [{ data: "one\n" }, { atMs: 5, stream: "stderr", data: "two\n" }],
  }));
  const run = await world.createRun("a");
  await world.assign("a");
  await world.untilOver("a");
  expect(
    world.sink.records.map(({ run: uid, attempt, seq, stream, message }) => [uid, attempt, seq, stream, message]),
  ).toEqual([
    [run.metadata.uid, 1, 1, "stdout", "one"],
    [run.metadata.uid, 1, 2, "stderr", "two"],
    [run.metadata.uid, 1, 3, "system", ""],
  ]);
  expect(world.sink.records.map(({ last }) => last)).toEqual([undefined, undefined, true]);
});

test("nothing of a Run without a workspace is left in the Pod", async () => {
  start();
  const run = await world.createRun("a");
  await world.assign("a");
  await world.untilOver("a");
  await world.until(async () => (await world.executor.list()).length === 0);
  await world.until(async () => (await world.files.stat(`/workspace/runs/${run.metadata.uid}`)) === undefined);
  await world.until(
    async () => (await world.files.stat(`/workspace/.kruntimes/runs/${run.metadata.uid}`)) === undefined,
  );
});

const fromDb = [{ name: "PASSWORD", valueFrom: { secretKeyRef: { name: "db", key: "password" } } }];
const messages = () => world.sink.records.map(({ message }) => message);

test("an agent that restarts while the program runs goes on masking", async () => {
  start();
  world.references.put("Secret", "db", { password: "s3cret-value" });
  world.programs.set("a", () => ({
    durationMs: 10_000,
    output: [{ stream: "stdout", data: "it is s3cret-value\n", atMs: 9000 }],
  }));
  await world.createRun("a", { env: fromDb });
  await world.assign("a");
  await world.until(() => world.executor.running.length === 1);
  world.crash();
  world.start();
  expect(await world.untilOver("a")).toMatchObject({ phase: "Succeeded", attempt: 1 });
  expect(messages()).toContain("it is ***");
});

test("an agent that restarts and does not find the Secret any more says that it masks no longer", async () => {
  start();
  world.references.put("Secret", "db", { password: "s3cret-value" });
  world.programs.set("a", () => ({ durationMs: 10_000 }));
  await world.createRun("a", { env: fromDb });
  await world.assign("a");
  await world.until(() => world.executor.running.length === 1);
  world.crash();
  world.references.put("Secret", "db");
  world.start();
  expect(await world.untilOver("a")).toMatchObject({ phase: "Succeeded", attempt: 1 });
  expect(messages()).toContain("a Secret of this Run is gone: if the program prints its value, it is not masked");
});

test("a Run that refers to what the Pod has not is handed back a few times, and then told", async () => {
  start();
  await world.createRun("a", { env: fromDb });
  const phases: string[] = [];
  for (let n = 0; n < 5; n++) {
    await world.assign("a");
    phases.push((await world.untilOver("a")).phase);
  }
  expect(phases).toEqual(["Pending", "Pending", "Pending", "Pending", "Failed"]);
  expect(await world.status("a")).toMatchObject({ reason: "SecretNotAvailable", attempt: 1 });
});

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Run } from "#api/kinds/run.ts";
import { runs, runtimes } from "#api/resources.ts";
import { persistentVolumeClaims, pods } from "#kube/builtin.ts";
import { lockState, StateInUseError } from "#local/storage/lock.ts";
import { bashRun, bashRuntime, claim, namespace } from "./support/cluster.ts";
import { ServerProcess } from "./support/server-process.ts";
import { until } from "./support/until.ts";

let directory: string;
let server: ServerProcess;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "krt-restart-"));
  server = await ServerProcess.start(directory);
  await server.client.of(persistentVolumeClaims).create(claim);
  await server.client.of(runtimes).create(bashRuntime());
});
afterEach(async () => {
  await server.end("stop");
  await rm(directory, { recursive: true, force: true });
});

const reach = (name: string, holds: (run: Run) => boolean) =>
  until(server.client, runs, { name, namespace }, holds, 30_000);
const ended = (run: Run) => run.status?.completionTime !== undefined;

/** Lines that a script wrote beside the cluster. */
const lines = async (file: string) => (await readFile(file, "utf8").catch(() => "")).split("\n").filter(Boolean);

test("after kill -9 and a restart ended Runs are as they were, others go on, and no attempt runs twice", async () => {
  const file = join(directory, "started");
  const script = `echo $KRUNTIME_ATTEMPT >> ${file}; test $KRUNTIME_ATTEMPT -gt 1 || sleep 60`;
  const retryPolicy = { maxAttempts: 3, backoff: "100ms" };
  await server.client.of(runs).create(bashRun("early", "exit 3"));
  await server.client.of(runs).create(bashRun("lost", script, { retryPolicy }));
  await expect.poll(() => lines(file), { timeout: 30_000 }).toEqual(["1"]);
  const early = await reach("early", ended);
  const before = await reach("lost", (run) => run.status?.phase === "Running");
  expect(() => lockState(directory), "nobody else may use the directory meanwhile").toThrow(StateInUseError);
  await server.end("SIGKILL");

  server = await ServerProcess.start(directory);
  expect(await server.client.of(runs).get({ name: "early", namespace })).toEqual(early);
  const run = await reach("lost", ended);
  expect(run.metadata.uid).toBe(before.metadata.uid);
  const reason = expect.stringMatching(/^(NodeLost|PodDeleted)$/);
  expect(run.status).toMatchObject({ phase: "Succeeded", attempt: 2, attempts: [{ number: 1, reason }] });
  expect(await lines(file)).toEqual(["1", "2"]);
  const left = await server.client.of(pods).list({ namespace });
  const old = left.items.find(({ metadata }) => metadata.uid === before.status?.assignedPodUID);
  expect(old?.status?.phase).not.toBe("Running");
  await server.client.of(runs).create(bashRun("late", "true"));
  expect((await reach("late", ended)).status?.phase).toBe("Succeeded");
});

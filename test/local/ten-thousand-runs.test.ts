import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { Run } from "#api/kinds/run.ts";
import { runs } from "#api/resources.ts";
import type { Draft } from "#local/apiserver/types.ts";
import { stateLayout } from "#local/state/layout.ts";
import { openDatabase } from "#local/storage/database.ts";
import { createSqliteStorage } from "#local/storage/sqlite-storage.ts";
import { ServerProcess } from "../integration/support/server-process.ts";
import { pageThrough } from "./support/pages.ts";

const count = 10_000;
const ended = "2026-01-01T00:00:01.000000Z";

/** A Run that is over, as large as one with a script of twenty lines and some outputs. */
function finishedRun(n: number): Draft {
  const text = "the program ended with exit code 0";
  const condition = (type: string) => ({
    type,
    status: "True",
    reason: "Completed",
    message: text,
    lastTransitionTime: ended,
  });
  const id = String(n).padStart(12, "0");
  return {
    apiVersion: "kruntimes.io/v1alpha1",
    kind: "Run",
    metadata: {
      name: `run-${id}`,
      namespace: "default",
      uid: `00000000-0000-4000-8000-${id}`,
      generation: 1,
      creationTimestamp: "2026-01-01T00:00:00Z",
      labels: { "kruntimes.io/runtime": "bash" },
    },
    spec: {
      runtime: "bash",
      mode: { task: {} },
      source: { inline: "echo a line of a script\n".repeat(20) },
      timeout: "5m",
    },
    status: {
      phase: "Succeeded",
      assignedPod: "runtime-bash-00000000-abcde",
      assignedPodUID: "00000000-0000-4000-9000-000000000000",
      assignmentEpoch: 1,
      attempt: 1,
      exitCode: 0,
      duration: "1s",
      observedGeneration: 1,
      startTime: "2026-01-01T00:00:00.000000Z",
      completionTime: ended,
      outputs: { result: "x".repeat(200) },
      conditions: [condition("Succeeded"), condition("Finished")],
    },
  };
}

const directories: string[] = [];
let server: ServerProcess | undefined;
afterAll(async () => {
  await server?.end("SIGKILL");
  for (const directory of directories) await rm(directory, { recursive: true, force: true });
});

test("a cluster with 10,000 Runs starts soon, lists fast and stays small", async () => {
  const directory = await mkdtemp(join(tmpdir(), "krt-many-"));
  directories.push(directory);
  const storage = createSqliteStorage({
    database: openDatabase(stateLayout(directory).database),
    watchHistory: 1,
    soon: setImmediate,
  });
  for (let n = 0; n < count; n++) storage.put("runs.kruntimes.io", finishedRun(n));
  storage.close();

  const begin = performance.now();
  server = await ServerProcess.start(directory);
  const startMs = performance.now() - begin;

  // Others write all the while.
  let writing = true;
  let writes = 0;
  const load = (async () => {
    const run: Run = {
      metadata: { name: "", namespace: "default" },
      spec: { runtime: "none", source: { inline: "true" } },
    };
    for (; writing; writes++)
      await server?.client.of(runs).create({ ...run, metadata: { ...run.metadata, name: `new-${writes}` } });
  })();
  const listed = await pageThrough(server.transport, "application/json");
  const tabled = await pageThrough(server.transport, "application/json;as=Table;v=v1;g=meta.k8s.io");
  writing = false;
  await load;
  const { rssBytes } = await server.usage();

  console.log(
    `restart ${Math.round(startMs)} ms (processor ${Math.round(server.atStart.cpuMs)} ms), ` +
      `list ${Math.round(listed.ms)} ms, table ${Math.round(tabled.ms)} ms with ${writes} writes beside, ` +
      `memory ${Math.round(rssBytes / 1e6)} MB`,
  );
  expect(listed.count).toBeGreaterThanOrEqual(count);
  expect(tabled.count).toBeGreaterThanOrEqual(count);
  expect(writes).toBeGreaterThan(0);
  // Processor time, because other tests run beside this one.
  expect(server.atStart.cpuMs).toBeLessThan(3000);
  expect(rssBytes).toBeLessThan(400e6);
});

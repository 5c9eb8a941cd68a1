/**
 * Records anew what kubectl and our components ask of an API server: `npm run record`. kubectl talks to a server on which
 * nothing else works, so that its recordings follow from the commands alone; the components work on Runs and a workflow.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { runs, runtimes, workflowRuns } from "#api/resources.ts";
import { persistentVolumeClaims, pods } from "#kube/builtin.ts";
import { silentLogger, systemClock, systemRandom } from "#kube/system.ts";
import { createApiServer } from "#local/apiserver/index.ts";
import { startCluster } from "#local/cluster.ts";
import { platformCrds } from "#local/crds.ts";
import { createFront } from "#local/http/front.ts";
import { recordHttp } from "#local/http/recorder.ts";
import { clientLibraryModels } from "#local/openapi/model-files.ts";
import { createModels } from "#local/openapi/models.ts";
import { openState } from "#local/state/state.ts";
import { bashRun, bashRuntime, claim, namespace, workflowRun } from "#test/integration/support/cluster.ts";
import { until } from "#test/integration/support/until.ts";
import { type Command, commands } from "./commands.ts";
import { Recorder, writeRecording } from "./recording.ts";

const ports = { clock: systemClock, random: systemRandom };

async function recordKubectl(directory: string): Promise<void> {
  const program = execFileSync("scripts/kubectl/build.sh", { encoding: "utf8" }).trim();
  const state = openState(directory, "memory", ports);
  const api = createApiServer({ crds: platformCrds(), ...ports });
  const models = createModels(clientLibraryModels());
  const user = { username: "kubectl" };
  const front = createFront({ api, clock: systemClock, models, authorized: () => true, user });
  const recorder = new Recorder();
  const served = await state.serve(recordHttp(front, recorder.take), {});

  const run = async ({ args, input }: Command) => {
    const child = spawn(program, args, {
      env: { PATH: process.env.PATH, HOME: directory, KUBECONFIG: served.kubeconfig },
      stdio: ["pipe", "ignore", "inherit"],
    });
    child.stdin.end(input ?? "");
    await once(child, "close");
    return recorder.recording(`kubectl ${args.join(" ")}`);
  };
  const recordings = [];
  for (const command of commands) recordings.push(await run(command));
  await served.close();
  api.close();
  state.release();
  writeRecording("kubectl.jsonl", recordings);
}

async function recordComponents(stateDirectory: string): Promise<void> {
  const recorder = new Recorder();
  const cluster = await startCluster({
    stateDirectory,
    entry: [process.execPath, resolve("bin/kruntimes.mjs")],
    logger: silentLogger,
    onExchange: recorder.take,
    ...ports,
  });
  const recordings = [recorder.recording("the components start")];
  const { client } = cluster;
  await client.of(persistentVolumeClaims).create(claim);
  await client.of(runtimes).create(bashRuntime());
  await until(client, runtimes, { name: "bash", namespace }, (one) => one.status?.readyReplicas === 1, 30_000);
  recordings.push(recorder.recording("a Runtime gets its Pods"));

  await client.of(runs).create(bashRun("recorded", "echo hello"));
  await until(client, runs, { name: "recorded", namespace }, (run) => run.status?.completionTime !== undefined, 30_000);
  recordings.push(recorder.recording("a Run succeeds"));

  const job = (run: string) => ({ "runs-on": "bash", steps: [{ name: "one", run }] });
  await client.of(workflowRuns).create(workflowRun("flow", { a: job("true"), b: { ...job("true"), needs: ["a"] } }));
  await until(
    client,
    workflowRuns,
    { name: "flow", namespace },
    (run) => run.status?.completionTime !== undefined,
    30_000,
  );
  recordings.push(recorder.recording("a workflow of two jobs succeeds"));

  await client.of(runtimes).delete({ name: "bash", namespace });
  const left = async () => (await client.of(pods).list({ namespace })).items.length;
  while ((await left()) > 0) await new Promise((done) => setTimeout(done, 50));
  recordings.push(recorder.recording("a Runtime goes with its Pods"));
  await cluster.stop();
  writeRecording("components.jsonl", recordings);
}

for (const record of [recordKubectl, recordComponents]) {
  const directory = mkdtempSync(join(tmpdir(), "krt-record-"));
  await record(directory);
  rmSync(directory, { recursive: true });
}

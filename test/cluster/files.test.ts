/** Files on a real cluster: of a job's steps, and of a workspace on a claim that outlives its Pod. */
import { beforeAll, expect, test } from "vitest";
import { persistentWorkspaces, runs, workflowRuns } from "#api/resources.ts";
import { bashRun, bashRuntime, finished, installPlatform, readyPods, readyRuntime } from "./platform.ts";
import { adminClient, apply, kubectl, testNamespace, until, untilGone } from "./support.ts";
import { claimOf, volumeFor } from "./volumes.ts";

beforeAll(() => installPlatform());

test("the steps of a job share their files on one Pod; another job has files of its own", async () => {
  const client = adminClient();
  await using namespace = await testNamespace("job");
  await readyRuntime(client, bashRuntime(namespace.name, { replicas: 2 }));
  const created = await client.of(workflowRuns).create({
    metadata: { name: "sharing", namespace: namespace.name },
    spec: {
      jobs: {
        build: {
          "runs-on": "bash",
          steps: [
            { name: "write", run: "mkdir src; echo content >src/file; git init -q ." },
            { name: "read", run: 'test "$(cat src/file)" = content && test -d .git' },
          ],
        },
        other: {
          "runs-on": "bash",
          needs: ["build"],
          steps: [{ name: "look", run: "test ! -e src && test ! -e .git" }],
        },
      },
    },
  });
  const { status } = await until(
    client,
    workflowRuns,
    created.metadata,
    (run) => run.status?.completionTime !== undefined,
  );
  expect(status?.phase, JSON.stringify(status?.jobs)).toBe("Succeeded");
  const { items } = await client.of(runs).list({ namespace: namespace.name });
  const steps = status?.jobs?.build?.steps?.map(({ runName }) => runName);
  const ofBuild = items.filter(({ metadata }) => steps?.includes(metadata.name));
  expect(ofBuild).toHaveLength(2);
  expect(new Set(ofBuild.map((run) => run.status?.assignedPod)).size).toBe(1);
});

test("files on a claim: Runs of a workspace share them, and a lost workspace leaves nothing to the next one of its name", async () => {
  const client = adminClient();
  await using namespace = await testNamespace("claim");
  await using volume = await volumeFor(namespace.name, "files");
  await apply([claimOf(namespace.name, "files", volume)]);
  const source = { persistentVolumeClaim: { claimName: "files" } };
  const [pod] = await readyRuntime(client, bashRuntime(namespace.name, { workspace: source }));
  const ref = { name: "shared", namespace: namespace.name };
  const workspace = { workspace: { name: "shared" } };
  const succeeds = async (name: string, script: string) => {
    const run = await client.of(runs).create(bashRun(namespace.name, name, script, workspace));
    const { status } = await finished(client, run);
    expect(status?.phase, `${name}: ${status?.message}`).toBe("Succeeded");
  };
  await client.of(persistentWorkspaces).create({ metadata: ref, spec: { runtime: "bash" } });
  await succeeds("writer", "echo first >file");
  await succeeds("reader", 'test "$(cat file)" = first');

  await kubectl(["delete", "pod", pod?.metadata.name ?? "", "-n", namespace.name]);
  const lost = await until(client, persistentWorkspaces, ref, ({ status }) => status?.phase === "Lost");
  expect(lost.status?.boundPodUID).toBe(pod?.metadata.uid);
  await client.of(persistentWorkspaces).delete(ref);
  await untilGone(client, persistentWorkspaces, ref);
  await readyPods(client, namespace.name, "bash", 1);
  await client.of(persistentWorkspaces).create({ metadata: ref, spec: { runtime: "bash" } });
  await succeeds("next", "test ! -e file");
});

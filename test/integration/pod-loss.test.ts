import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { persistentWorkspaces, runs, runtimes, workflowRuns } from "#api/resources.ts";
import { persistentVolumeClaims } from "#kube/builtin.ts";
import { bashRun, bashRuntime, claim, namespace, TestCluster, workflowRun } from "./support/cluster.ts";

let cluster: TestCluster;
let outside: string;
beforeAll(async () => {
  outside = await mkdtemp(join(tmpdir(), "krt-test-"));
  cluster = await TestCluster.start();
  await cluster.create(persistentVolumeClaims, claim);
  await cluster.create(runtimes, bashRuntime({ replicas: 2 }));
  await cluster.ready("bash", 2);
});
afterAll(async () => {
  await cluster.stop();
  await rm(outside, { recursive: true, force: true });
});

/** A script that tells that it runs and then waits until the test lets it end. */
const waiting = (name: string) =>
  `echo "$KRUNTIME_ATTEMPT" >> ${outside}/${name}.started; until test -e ${outside}/${name}.end; do sleep 0.05; done`;
const release = (name: string) => writeFile(`${outside}/${name}.end`, "");
const starts = async (name: string) => (await readFile(`${outside}/${name}.started`, "utf8")).trim().split("\n");

test("a Run whose Pod is killed follows its retry policy: PodDeleted, attempt 2 on the other Pod", async () => {
  await cluster.create(
    runs,
    bashRun("retried", waiting("retried"), { retryPolicy: { maxAttempts: 2, backoff: "100ms" } }),
  );
  const first = await cluster.until(runs, "retried", (run) => run.status?.phase === "Running");
  await expect.poll(() => starts("retried").catch(() => [])).toEqual(["1"]);
  await cluster.killPod(first.status?.assignedPod ?? "");
  const second = await cluster.until(runs, "retried", (run) => run.status?.attempt === 2);
  expect(second.status?.attempts).toMatchObject([{ number: 1, reason: "PodDeleted", pod: first.status?.assignedPod }]);
  expect(second.status?.assignedPod).not.toBe(first.status?.assignedPod);
  await release("retried");
  expect((await cluster.finished("retried")).status).toMatchObject({ phase: "Succeeded", attempt: 2 });
  expect(await starts("retried")).toEqual(["1", "2"]);
});

test("without a retry policy it fails with the reason", async () => {
  await cluster.ready("bash", 2);
  await cluster.create(runs, bashRun("once", waiting("once")));
  const first = await cluster.until(runs, "once", (run) => run.status?.phase === "Running");
  await cluster.killPod(first.status?.assignedPod ?? "");
  expect((await cluster.finished("once")).status).toMatchObject({ phase: "Failed", reason: "PodDeleted", attempt: 1 });
});

test("the workspace of a killed Pod is Lost for good; Runs that refer to it stay Pending with the reason", async () => {
  await cluster.ready("bash", 2);
  await cluster.create(persistentWorkspaces, { metadata: { name: "ws", namespace }, spec: { runtime: "bash" } });
  const bound = await cluster.until(persistentWorkspaces, "ws", (one) => one.status?.phase === "Bound");
  await cluster.killPod(bound.status?.boundPod ?? "");
  const lost = await cluster.until(persistentWorkspaces, "ws", (one) => one.status?.phase === "Lost");
  expect(lost.status).toMatchObject({ boundPod: bound.status?.boundPod, boundPodUID: bound.status?.boundPodUID });
  await cluster.create(runs, bashRun("stranded", "true", { workspace: { name: "ws" } }));
  const stranded = await cluster.until(runs, "stranded", (run) => run.status?.reason !== undefined);
  expect(stranded.status).toMatchObject({ phase: "Pending", reason: "WorkspaceLost" });
  // The pool is whole again, and still nothing binds.
  await cluster.ready("bash", 2);
  expect((await cluster.get(persistentWorkspaces, "ws")).status).toEqual(lost.status);
  expect((await cluster.get(runs, "stranded")).status?.phase).toBe("Pending");
});

test("deleting a lost workspace needs no Pod", async () => {
  await cluster.client.of(persistentWorkspaces).delete({ name: "ws", namespace });
  await expect
    .poll(() =>
      cluster.get(persistentWorkspaces, "ws").then(
        () => "there",
        () => "gone",
      ),
    )
    .toBe("gone");
  const { status } = await cluster.until(runs, "stranded", (run) => run.status?.reason === "WorkspaceNotFound");
  expect(status?.phase).toBe("Pending");
});

test("a job whose Pod is killed fails and skips its other steps; artifacts of earlier jobs stay valid", async () => {
  await cluster.ready("bash", 2);
  await cluster.create(
    workflowRuns,
    workflowRun("ci", {
      make: { "runs-on": "bash", steps: [{ name: "write", run: 'echo data > "$KRUNTIME_ARTIFACTS_DIR/file"' }] },
      work: {
        "runs-on": "bash",
        needs: ["make"],
        steps: [
          { name: "one", run: waiting("one") },
          { name: "two", run: "true" },
        ],
      },
      late: {
        "runs-on": "bash",
        needs: ["make"],
        steps: [{ name: "hold", run: waiting("hold") }],
      },
    }),
  );
  const { status } = await cluster.until(
    workflowRuns,
    "ci",
    (run) => run.status?.jobs?.work?.steps?.[0]?.startTime !== undefined,
  );
  const one = await cluster.until(
    runs,
    status?.jobs?.work?.steps?.[0]?.runName ?? "",
    (run) => run.status?.phase === "Running",
  );
  await cluster.killPod(one.status?.assignedPod ?? "");
  const failed = await cluster.until(workflowRuns, "ci", (run) => run.status?.jobs?.work?.phase === "Failed");
  expect(failed.status?.jobs?.work?.steps?.[1]).toMatchObject({ phase: "Skipped" });
  await release("hold");
  await cluster.workflowFinished("ci");
  await cluster.ready("bash", 2);
  const ref = failed.status?.jobs?.make?.artifacts?.file;
  if (ref === undefined) throw new Error("the artifact of job make is missing");
  await cluster.create(runs, bashRun("after", "test $(cat f) = data", { artifactInputs: [{ ref, path: "f" }] }));
  expect((await cluster.finished("after")).status?.phase).toBe("Succeeded");
});

test("a Runtime that is scaled down lets Runs finish before their Pod goes", async () => {
  await cluster.ready("bash", 2);
  await cluster.create(runs, bashRun("left", waiting("left")));
  await cluster.create(runs, bashRun("right", waiting("right")));
  await cluster.until(runs, "left", (run) => run.status?.phase === "Running");
  await cluster.until(runs, "right", (run) => run.status?.phase === "Running");
  await cluster.client.of(runtimes).patch({ name: "bash", namespace }, { spec: { replicas: 1 } });
  await cluster.until(
    runtimes,
    "bash",
    (one) => one.status?.conditions?.some(({ type, status }) => type === "Progressing" && status === "True") ?? false,
  );
  expect(await cluster.pods("bash")).toHaveLength(2);
  await release("left");
  await release("right");
  expect((await cluster.finished("left")).status?.phase).toBe("Succeeded");
  expect((await cluster.finished("right")).status?.phase).toBe("Succeeded");
  await cluster.until(runtimes, "bash", (one) => one.status?.replicas === 1);
});

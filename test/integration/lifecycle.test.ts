import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { KubeObject } from "#api/meta.ts";
import { persistentWorkspaces, runs, runtimes, workflowRuns } from "#api/resources.ts";
import { namespaces, persistentVolumeClaims, pods, replicaSets } from "#kube/builtin.ts";
import { orNothing } from "#kube/or-nothing.ts";
import type { ResourceType } from "#kube/resource.ts";
import { bashRun, bashRuntime, claim, namespace, TestCluster, workflowRun } from "./support/cluster.ts";

let cluster: TestCluster;
let outside: string;
beforeAll(async () => {
  outside = await mkdtemp(join(tmpdir(), "krt-test-"));
  cluster = await TestCluster.start();
  await cluster.create(persistentVolumeClaims, claim);
});
afterAll(async () => {
  await cluster.stop();
  await rm(outside, { recursive: true, force: true });
});

/** A script that tells that it runs and then waits until the test lets it end. */
const waiting = (name: string) =>
  `touch ${outside}/${name}.started; until test -e ${outside}/${name}.end; do sleep 0.05; done`;
const release = (name: string) => writeFile(`${outside}/${name}.end`, "");
const started = (name: string) =>
  expect
    .poll(
      () =>
        readFile(`${outside}/${name}.started`).then(
          () => true,
          () => false,
        ),
      { timeout: 15_000 },
    )
    .toBe(true);

const step = (name: string, run: string) => ({ name, run });

function gone<T extends KubeObject>(resource: ResourceType<T>, name: string, where = namespace): Promise<void> {
  return expect
    .poll(() => orNothing(cluster.client.of(resource).get({ name, namespace: where })), { timeout: 15_000 })
    .toBeUndefined();
}

async function named<T extends KubeObject>(resource: ResourceType<T>, prefix: string): Promise<T[]> {
  const { items } = await cluster.client.of(resource).list({ namespace });
  return items.filter(({ metadata }) => metadata.name.startsWith(prefix));
}

test("deleting a WorkflowRun while it runs ends its programs and leaves nothing: no Run, no workspace, no directory", async () => {
  await cluster.create(runtimes, bashRuntime({}, "one"));
  await cluster.ready("one", 1);
  await cluster.create(
    workflowRuns,
    workflowRun("doomed", {
      a: { "runs-on": "one", steps: [step("work", `echo data > file; ${waiting("doomed")}`), step("after", "true")] },
    }),
  );
  await started("doomed");
  const [workspace] = await named(persistentWorkspaces, "doomed-");
  const [run] = await named(runs, "doomed-");
  const directory = `${cluster.directory}/pods/${workspace?.status?.boundPodUID}/workspace/persistent`;
  expect(await readFile(`${directory}/${workspace?.metadata.name}/file`, "utf8")).toBe("data\n");
  await cluster.client.of(workflowRuns).delete({ name: "doomed", namespace });
  await gone(runs, run?.metadata.name ?? "");
  await gone(persistentWorkspaces, workspace?.metadata.name ?? "");
  await gone(workflowRuns, "doomed");
  await expect(readFile(`${directory}/${workspace?.metadata.name}/file`)).rejects.toThrow("ENOENT");
  // Its place is free again: the program is gone.
  await cluster.create(runs, bashRun("fits", "true", { runtime: "one", resources: { requests: { runs: 8 } } }));
  expect((await cluster.finished("fits")).status?.phase).toBe("Succeeded");
});

test("a Runtime that is deleted while Runs run ends them with RuntimeDeleted; one that was never placed waits", async () => {
  await cluster.create(
    runtimes,
    bashRuntime({ capacity: { resources: { runs: 1 } }, drain: { timeout: "1s" } }, "two"),
  );
  await cluster.ready("two", 1);
  const retryPolicy = { maxAttempts: 5 };
  await cluster.create(runs, bashRun("running", waiting("running"), { runtime: "two", retryPolicy }));
  await started("running");
  await cluster.create(runs, bashRun("waits", "true", { runtime: "two" }));
  await cluster.client.of(runtimes).delete({ name: "two", namespace });
  expect((await cluster.finished("running", 30_000)).status).toMatchObject({
    phase: "Failed",
    reason: "RuntimeDeleted",
  });
  const waits = await cluster.until(runs, "waits", (one) => one.status?.reason === "RuntimeNotFound");
  expect(waits.status?.phase).toBe("Pending");
  expect(await cluster.pods("two")).toEqual([]);

  await cluster.create(runtimes, bashRuntime({ capacity: { resources: { runs: 1 } } }, "two"));
  expect((await cluster.finished("waits")).status).toMatchObject({ phase: "Succeeded", attempt: 1 });
});

test("a Runtime that is deleted and made again at once gets Pods of its own; Runs of the old ones follow their retry policy", async () => {
  await cluster.create(runtimes, bashRuntime({ drain: { timeout: "500ms" } }, "again"));
  const [before] = await cluster.ready("again", 1);
  const retryPolicy = { maxAttempts: 2, backoff: "100ms" };
  const script = `if test $KRUNTIME_ATTEMPT = 2; then exit 0; fi; ${waiting("again")}`;
  await cluster.create(runs, bashRun("again", script, { runtime: "again", retryPolicy }));
  await started("again");
  await cluster.client.of(runtimes).delete({ name: "again", namespace });
  await cluster.create(runtimes, bashRuntime({ drain: { timeout: "500ms" } }, "again"));
  const [after] = await cluster.ready("again", 1);
  expect(after?.metadata.uid).not.toBe(before?.metadata.uid);
  expect((await cluster.finished("again", 30_000)).status).toMatchObject({ phase: "Succeeded", attempt: 2 });
});

test("a pool scaled to zero and back runs what waited for it", async () => {
  await cluster.create(runtimes, bashRuntime({ replicas: 2 }, "scaled"));
  await cluster.ready("scaled", 2);
  const scale = (replicas: number) =>
    cluster.client.of(runtimes).patch({ name: "scaled", namespace }, { spec: { replicas } });
  await scale(0);
  await cluster.until(runtimes, "scaled", (one) => one.status?.replicas === 0);
  expect(await cluster.pods("scaled")).toEqual([]);
  await cluster.create(runs, bashRun("patient", "true", { runtime: "scaled" }));
  await scale(2);
  expect((await cluster.finished("patient")).status?.phase).toBe("Succeeded");
  await cluster.ready("scaled", 2);
});

test("a new template while a job runs: the job goes on where its files are, new jobs go to new Pods, then the old Pod goes", async () => {
  await cluster.create(runtimes, bashRuntime({}, "rolled"));
  const [old] = await cluster.ready("rolled", 1);
  await cluster.create(
    workflowRuns,
    workflowRun("rolling", {
      long: {
        "runs-on": "rolled",
        steps: [
          step("one", `echo kept > file; ${waiting("rolling-one")}`),
          step("two", `test "$(cat file)" = kept; ${waiting("rolling-two")}`),
          step("three", "cat file"),
        ],
      },
    }),
  );
  await started("rolling-one");
  const template = { spec: { containers: [{ name: "runtime", image: "debian:next" }] } };
  await cluster.client.of(runtimes).patch({ name: "rolled", namespace }, { spec: { template } });
  await cluster.until(runtimes, "rolled", (one) => one.status?.replicas === 2 && one.status.readyReplicas === 2);
  await expect
    .poll(async () => (await draining("rolled")).map(({ metadata }) => metadata.name))
    .toEqual([old?.metadata.name]);

  await cluster.create(workflowRuns, workflowRun("later", { a: { "runs-on": "rolled", steps: [step("s", "true")] } }));
  const later = await cluster.workflowFinished("later");
  const laterRun = await cluster.get(runs, later.status?.jobs?.a?.steps?.[0]?.runName ?? "");
  expect(laterRun.status?.assignedPod).not.toBe(old?.metadata.name);

  await release("rolling-one");
  await started("rolling-two");
  await release("rolling-two");
  const ended = await cluster.workflowFinished("rolling");
  expect(ended.status?.phase).toBe("Succeeded");
  for (const { runName } of ended.status?.jobs?.long?.steps ?? []) {
    expect((await cluster.get(runs, runName ?? "")).status?.assignedPod).toBe(old?.metadata.name);
  }
  await gone(pods, old?.metadata.name ?? "");
  expect((await named(replicaSets, "runtime-rolled-")).length).toBe(1);
});

async function draining(runtime: string) {
  return (await cluster.pods(runtime)).filter(
    ({ metadata }) => metadata.annotations?.["kruntimes.io/draining"] !== undefined,
  );
}

test("two Runtimes on one claim do not touch each other's files, also when an agent starts anew", async () => {
  const volume = { metadata: { name: "shared", namespace }, spec: claim.spec };
  await cluster.create(persistentVolumeClaims, volume);
  const workspace = { persistentVolumeClaim: { claimName: "shared" } };
  for (const name of ["left", "right"]) await cluster.create(runtimes, bashRuntime({ workspace }, name));
  const [left] = await cluster.ready("left", 1);
  await cluster.ready("right", 1);
  await cluster.create(runs, bashRun("keeps", `echo mine > file; ${waiting("keeps")}; cat file`, { runtime: "right" }));
  await started("keeps");
  expect(cluster.cluster.node.crash({ name: left?.metadata.name ?? "", namespace }, "runtimed")).toBe(true);
  await cluster.until(
    pods,
    left?.metadata.name ?? "",
    (pod) => pod.status?.containerStatuses?.some(({ restartCount, ready }) => restartCount > 0 && ready) ?? false,
  );
  await cluster.create(runs, bashRun("beside", "test ! -e file", { runtime: "left" }));
  expect((await cluster.finished("beside")).status?.phase).toBe("Succeeded");
  await release("keeps");
  expect((await cluster.finished("keeps")).status?.phase).toBe("Succeeded");
});

test("a namespace with everything in it works, and goes when it is deleted", async () => {
  const where = "team-a";
  const place = <T extends KubeObject>(object: T): T => ({
    ...object,
    metadata: { ...object.metadata, namespace: where },
  });
  await cluster.client.of(namespaces).create({ metadata: { name: where } });
  await cluster.create(persistentVolumeClaims, place(claim));
  await cluster.create(runtimes, place(bashRuntime({ replicas: 2 })));
  await cluster.create(
    workflowRuns,
    place(
      workflowRun("w", {
        make: {
          "runs-on": "bash",
          steps: [step("write", 'echo x > "$KRUNTIME_ARTIFACTS_DIR/f"'), step("again", "true")],
        },
        hold: {
          "runs-on": "bash",
          needs: ["make"],
          steps: [{ ...step("hold", waiting("team")), artifacts: [{ from: "jobs.make.artifacts.f", path: "f" }] }],
        },
      }),
    ),
  );
  await cluster.create(persistentWorkspaces, place({ metadata: { name: "ws" }, spec: { runtime: "bash" } }));
  await started("team");
  await cluster.create(runs, place(bashRun("plain", waiting("plain"))));
  await started("plain");
  await cluster.client.of(namespaces).delete({ name: where });
  await gone(namespaces, where);
  for (const resource of [runs, workflowRuns, persistentWorkspaces, runtimes, pods, replicaSets]) {
    expect(
      (await cluster.client.of<KubeObject>(resource as ResourceType<KubeObject>).list({ namespace: where })).items,
    ).toEqual([]);
  }
});

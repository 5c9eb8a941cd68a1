import { afterEach, expect, test } from "vitest";
import { labels } from "#api/labels.ts";
import { persistentWorkspaces, runs, runtimes, workflowActions, workflowRuns, workflows } from "#api/resources.ts";
import { timestamp } from "#api/time.ts";
import { createPersistentWorkspace } from "#controllers/persistent-workspace/index.ts";
import { createRunRecovery } from "#controllers/run-recovery/index.ts";
import { createRuntimePool } from "#controllers/runtime-pool/index.ts";
import { createScheduler } from "#controllers/scheduler/index.ts";
import { createRunTtl, createWorkflowRunTtl } from "#controllers/ttl/index.ts";
import { createWorkflowActionController } from "#controllers/workflow-action/index.ts";
import { createWorkflowRunController } from "#controllers/workflow-run/index.ts";
import { createWorkflowTemplate } from "#controllers/workflow-template/index.ts";
import { controllerReference, pods, replicaSets } from "#kube/builtin.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { ControlPlane } from "./support/control-plane.ts";

const namespace = "default";
let plane: ControlPlane;
const ending = new AbortController();
afterEach(() => {
  ending.abort();
  plane.stop();
});

const isWrite = ({ verb }: { verb: string }) => !["get", "list", "watch"].includes(verb);

/** A pool with a ready Pod, as ReplicaSet controller and kubelet make it. */
async function readyPod() {
  const [set] = (await plane.client.of(replicaSets).list({ namespace })).items;
  if (set === undefined) throw new Error("the pool has made no ReplicaSet");
  return plane.create(
    pods,
    {
      metadata: {
        name: "p",
        namespace,
        labels: { [labels.runtime]: "bash" },
        ownerReferences: [controllerReference(replicaSets, set)],
      },
      spec: { containers: [{ name: "runtime", image: "x" }], nodeName: "n" },
    },
    { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
  );
}

test("when nothing happens nothing is written, whatever is there: ended, bound, waiting, at work, suspended, asked for", async () => {
  plane = new ControlPlane();
  await plane.start((deps, informers) => [
    createRuntimePool(deps, informers, { image: "x", clusterUid: "c" }),
    createRunRecovery(deps, informers),
    createPersistentWorkspace(deps, informers),
    createWorkflowRunController(deps, informers, { workspaceTtlSeconds: 7200 }),
    createWorkflowActionController(deps, informers, { ttlSeconds: 86_400 }),
    createWorkflowTemplate(deps, informers),
    createRunTtl(deps, informers),
    createWorkflowRunTtl(deps, informers),
  ]);
  const { client, clock } = plane;
  await plane.create(runtimes, {
    metadata: { name: "bash", namespace },
    spec: { template: { spec: { containers: [{ name: "runtime", image: "x" }] } } },
  });
  await plane.settle();
  const pod = await readyPod();
  const run = (name: string, more: object = {}) => ({
    metadata: { name, namespace },
    spec: { runtime: "bash", source: { inline: "exit" }, ...more },
  });
  const placed = { assignedPod: "p", assignedPodUID: pod.metadata.uid ?? "", assignmentEpoch: 1 };
  const claimed = { ...placed, attempt: 1, startTime: timestamp(clock.now()) };
  const ended = { phase: "Succeeded" as const, ...claimed, completionTime: timestamp(clock.now()) };
  const atWork = [
    { phase: "Scheduled" as const, ...placed },
    { phase: "Running" as const, ...claimed },
  ] as const;
  await plane.create(persistentWorkspaces, {
    metadata: { name: "ws", namespace },
    spec: { runtime: "bash", ttlSecondsAfterUnused: 7200 },
  });
  await plane.create(runs, run("over"), ...atWork, ended);
  await plane.create(runs, run("kept", { ttlSecondsAfterFinished: 7200 }), ...atWork, ended);
  await plane.create(runs, run("long", { timeout: "24h", workspace: { name: "ws" } }), ...atWork);
  void createScheduler({ client, clock, random: seededRandom(9), logger: silentLogger }).start(ending.signal);
  await plane.create(runs, run("too-large", { resources: { requests: { runs: 100 } } }));
  await plane.create(runs, run("homeless", { runtime: "none" }));
  const jobs = { a: { "runs-on": "bash", steps: [{ name: "s", run: "true" }] } };
  await plane.create(workflows, { metadata: { name: "template", namespace }, spec: { jobs } });
  const waiting = { a: { "runs-on": "none", steps: [{ name: "s", run: "true" }] } };
  await plane.create(workflowRuns, { metadata: { name: "waits", namespace }, spec: { jobs: waiting, timeout: "24h" } });
  const gated = { a: { "runs-on": "bash", steps: [{ name: "gate", suspend: {} }] } };
  for (const name of ["gated", "held", "stopped"]) {
    await plane.create(workflowRuns, {
      metadata: { name, namespace },
      spec: { jobs: gated, suspend: name !== "gated" },
    });
  }
  await plane.settle();
  const asked = { gated: "Resume", held: "Suspend", stopped: "Stop", absent: "Retry" };
  for (const [name, action] of Object.entries(asked)) {
    const resume = action === "Resume" ? { resume: { nodeFieldSelector: "name=a/none" } } : {};
    await plane.create(workflowActions, {
      metadata: { name: `${name}-asked`, namespace },
      spec: { workflowRef: { name }, action, ...resume },
    });
  }
  await plane.elapse(120_000);
  const answers = (await client.of(workflowActions).list({ namespace })).items.map(({ status }) => status?.reason);
  expect(answers).toEqual(["WorkflowNotFound", "NothingToResume", "ActionApplied", "ActionApplied"]);
  expect((await plane.find(workflowRuns, "held"))?.status).toMatchObject({ phase: "Suspended" });
  expect((await plane.find(workflowRuns, "gated"))?.status?.jobs?.a?.phase).toBe("Suspended");
  expect((await plane.find(runs, "homeless"))?.status).toMatchObject({ phase: "Pending", reason: "RuntimeNotFound" });
  expect((await plane.find(persistentWorkspaces, "ws"))?.status).toMatchObject({ phase: "Bound", activeRuns: 1 });
  expect((await plane.find(workflowRuns, "waits"))?.status?.phase).toBe("Running");
  expect((await plane.find(runtimes, "bash"))?.status).toMatchObject({ readyReplicas: 1, activeRuns: 1 });

  plane.api.counters.reset();
  await plane.elapse(3_600_000);
  expect(plane.api.counters.all().filter(isWrite)).toEqual([]);
});

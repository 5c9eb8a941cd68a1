/** Pools of a real cluster: what is wrong is told and recovers, Pods are replaced without losing work. */
import { beforeAll, expect, test } from "vitest";
import { findCondition } from "#api/conditions.ts";
import type { Runtime } from "#api/kinds/runtime.ts";
import { annotations } from "#api/labels.ts";
import type { Condition } from "#api/meta.ts";
import { persistentWorkspaces, runs, runtimes, workflowRuns } from "#api/resources.ts";
import { type Pod, pods, roleBindings } from "#kube/builtin.ts";
import {
  bashRun,
  bashRuntime,
  finished,
  installPlatform,
  podSpec,
  podsOf,
  readyPods,
  readyRuntime,
} from "./platform.ts";
import { adminClient, apply, image, kubectl, testNamespace, until, untilGone } from "./support.ts";

beforeAll(() => installPlatform());

const degraded = ({ status }: Runtime) => findCondition(status?.conditions as Condition[] | undefined, "Degraded");
const available = ({ status }: Runtime) =>
  findCondition(status?.conditions as Condition[] | undefined, "Available")?.status === "True";

interface Mistake {
  readonly change: Partial<Runtime["spec"]>;
  /** Applied to the namespace before. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly message: RegExp;
  readonly reason: string;
  /** What puts it right. */
  readonly repair: (namespace: string) => Promise<unknown>;
}

const container = (change: object) => ({
  template: {
    spec: podSpec({
      containers: [{ name: "runtime", image: image("kruntimes-bash"), imagePullPolicy: "IfNotPresent", ...change }],
    }),
  },
});

const workspaceOf = (namespace: string, name: string) => ({
  apiVersion: "kruntimes.io/v1alpha1",
  kind: "PersistentWorkspace",
  metadata: { name, namespace },
  spec: { runtime: "bash" },
});

const patchRuntime = (namespace: string, spec: object) =>
  kubectl(["patch", "runtime", "bash", "-n", namespace, "--type=merge", `--patch=${JSON.stringify({ spec })}`]);

const mistakes: Record<string, Mistake> = {
  "an image that does not exist": {
    change: container({ image: "localhost/no-such-image:1", imagePullPolicy: "Never" }),
    reason: "PodsFailing",
    message: /^Pod runtime-bash-\S+, container runtime: ErrImageNeverPull: .*no-such-image/,
    repair: (namespace) => patchRuntime(namespace, container({})),
  },
  "a claim that does not exist": {
    change: { artifactStore: { driver: "Filesystem", filesystem: { volumeClaimName: "artifacts" } } },
    reason: "PodsFailing",
    message: /^Pod runtime-bash-\S+, Unschedulable: .*persistentvolumeclaim "artifacts" not found/,
    repair: (namespace) => patchRuntime(namespace, { artifactStore: null }),
  },
  "a template that the namespace does not admit": {
    change: container({ securityContext: { capabilities: { add: ["NET_ADMIN"], drop: ["ALL"] } } }),
    reason: "TemplateRefused",
    message: /violates PodSecurity "restricted.*NET_ADMIN/,
    repair: (namespace) => patchRuntime(namespace, container({})),
  },
  "a template that Kubernetes does not understand": {
    change: container({ terminationMessagePolicy: "Sometimes" }),
    reason: "TemplateRefused",
    message: /terminationMessagePolicy/,
    repair: (namespace) => patchRuntime(namespace, container({})),
  },
  "a ServiceAccount of somebody else with the name of ours": {
    change: {},
    reason: "NameCollision",
    message: /^ServiceAccount runtime-bash does not belong to this Runtime; delete it/,
    repair: (namespace) => kubectl(["delete", "serviceaccount", "runtime-bash", "-n", namespace]),
  },
};

test.each(Object.entries(mistakes))(
  "%s is told in status and Events, and recovers when it is corrected",
  async (what, mistake) => {
    const client = adminClient();
    await using namespace = await testNamespace("mistake");
    const ref = { name: "bash", namespace: namespace.name };
    if (mistake.reason === "NameCollision") {
      await kubectl(["create", "serviceaccount", "runtime-bash", "-n", namespace.name]);
    }
    await client.of(runtimes).create(bashRuntime(namespace.name, mistake.change));
    const told = await until(
      client,
      runtimes,
      ref,
      (one) => mistake.message.test(degraded(one)?.message ?? ""),
      30_000,
    );
    expect(degraded(told)).toMatchObject({ status: "True", reason: mistake.reason });
    await expect
      .poll(() => kubectl(["events", "-n", namespace.name, "--for=runtime.kruntimes.io/bash", "--types=Warning"]), {
        timeout: 10_000,
        interval: 500,
      })
      .toContain(mistake.reason);
    await mistake.repair(namespace.name);
    await until(client, runtimes, ref, (one) => available(one) && degraded(one)?.status === "False", 45_000);
    expect(what).not.toBe("");
  },
);

test("a role binding that somebody deletes comes back by itself", async () => {
  const client = adminClient();
  await using namespace = await testNamespace("right");
  await readyRuntime(client, bashRuntime(namespace.name));
  // Somebody takes the role of the agents away; the next look at the pool binds them again.
  await client.of(roleBindings).delete({ name: "runtime-bash", namespace: namespace.name });
  await until(
    client,
    roleBindings,
    { name: "runtime-bash", namespace: namespace.name },
    ({ roleRef }) => roleRef.kind === "ClusterRole",
    15_000,
  );
});

test("a new template replaces Pods one after the other, and neither what runs nor its workspace is disturbed", async () => {
  const client = adminClient();
  await using namespace = await testNamespace("rollout");
  const [old] = await readyRuntime(client, bashRuntime(namespace.name));
  await apply([workspaceOf(namespace.name, "files")]);
  const inWorkspace = { workspace: { name: "files" } };
  const create = (name: string, script: string, change = {}) =>
    client.of(runs).create(bashRun(namespace.name, name, script, change));
  const run = await create("long", "echo here >file; sleep 20", inWorkspace);
  await until(client, runs, run.metadata, ({ status }) => status?.phase === "Running");
  await patchRuntime(namespace.name, container({ env: [{ name: "NEW", value: "yes" }] }));

  // As long as the new Pod is not ready the old one serves; from then on it takes nothing new, but stays until its Run has ended.
  const isMarked = ({ metadata }: Pod) => metadata.annotations?.[annotations.draining] !== undefined;
  await until(client, pods, old?.metadata ?? { name: "" }, isMarked);
  const [second, inside] = await Promise.all([
    create("new", 'test "$NEW" = yes'),
    create("inside", 'test -z "$NEW" && test -s file', inWorkspace),
  ]);
  const { status: onNew } = await finished(client, second);
  expect(onNew).toMatchObject({ phase: "Succeeded" });
  expect(onNew?.assignedPod).not.toBe(old?.metadata.name);
  // The files are on the old Pod, and so is whoever needs them.
  expect((await finished(client, inside)).status).toMatchObject({
    phase: "Succeeded",
    assignedPod: old?.metadata.name,
  });
  const { status } = await finished(client, run);
  expect(status).toMatchObject({ phase: "Succeeded", attempt: 1, assignedPod: old?.metadata.name });
  await untilGone(client, pods, old?.metadata ?? { name: "" });
  const ref = { name: "bash", namespace: namespace.name };
  const progressing = ({ status: own }: Runtime) =>
    findCondition(own?.conditions as Condition[] | undefined, "Progressing");
  await until(client, runtimes, ref, (one) => progressing(one)?.reason === "RolloutComplete");
  const events = await kubectl(["events", "-n", namespace.name, "--for=runtime.kruntimes.io/bash"]);
  for (const reason of ["RolloutInProgress", "RolloutComplete"]) expect(events).toContain(reason);
  const { status: lost } = await until(
    client,
    persistentWorkspaces,
    { name: "files", namespace: namespace.name },
    (one) => one.status?.phase === "Lost",
  );
  expect(lost?.boundPod).toBe(old?.metadata.name);
});

test("a Pod that is deleted by kubectl brings its Runs to an end before it goes", async () => {
  const client = adminClient();
  await using namespace = await testNamespace("drain");
  const [pod] = await readyRuntime(client, bashRuntime(namespace.name));
  const run = await client.of(runs).create(bashRun(namespace.name, "long", "sleep 8; echo done"));
  await until(client, runs, run.metadata, ({ status }) => status?.phase === "Running");
  await kubectl(["delete", "pod", "-n", namespace.name, pod?.metadata.name ?? "", "--wait=false"]);
  const { status } = await finished(client, run);
  expect(status).toMatchObject({ phase: "Succeeded", attempt: 1, assignedPod: pod?.metadata.name });
  // Nothing is left to wait for: it does not sit out its grace period of minutes.
  await untilGone(client, pods, pod?.metadata ?? { name: "" }, 20_000);
});

test("kubectl scale grows and shrinks a pool; a Pod with a Run in its workspace is the last to go", async () => {
  const client = adminClient();
  await using namespace = await testNamespace("scale");
  await readyRuntime(client, bashRuntime(namespace.name));
  await apply([workspaceOf(namespace.name, "files")]);
  const run = await client
    .of(runs)
    .create(bashRun(namespace.name, "long", "sleep 20", { workspace: { name: "files" } }));
  const { status } = await until(client, runs, run.metadata, (one) => one.status?.phase === "Running");
  await kubectl(["scale", "runtime/bash", "-n", namespace.name, "--replicas=3"]);
  await readyPods(client, namespace.name, "bash", 3);
  await kubectl(["scale", "runtime/bash", "-n", namespace.name, "--replicas=1"]);
  await until(client, runtimes, { name: "bash", namespace: namespace.name }, (one) => one.status?.replicas === 1);
  const left = await podsOf(client, namespace.name, "bash");
  expect(left.map(({ metadata }) => metadata.name)).toEqual([status?.assignedPod]);
});

test("the deletion of a namespace waits for nothing: Runs, workspaces with finalizers, a workflow on its way", async () => {
  const client = adminClient();
  const namespace = await testNamespace("gone");
  // Kubernetes looks at a namespace again after half the grace period of its Pods, however early they have ended.
  await readyRuntime(client, bashRuntime(namespace.name, { drain: { timeout: "20s" } }));
  await apply([workspaceOf(namespace.name, "files"), workspaceOf(namespace.name, "unused")]);
  const workspace = { workspace: { name: "files" } };
  const run = await client.of(runs).create(bashRun(namespace.name, "long", "touch here; sleep 600", workspace));
  const steps = [{ name: "long", run: "sleep 600" }];
  const workflow = await client.of(workflowRuns).create({
    metadata: { name: "flight", namespace: namespace.name },
    spec: { jobs: { build: { "runs-on": "bash", steps }, late: { "runs-on": "bash", needs: ["build"], steps } } },
  });
  await until(client, runs, run.metadata, ({ status }) => status?.phase === "Running");
  await until(
    client,
    workflowRuns,
    workflow.metadata,
    ({ status }) => status?.jobs?.build?.steps?.[0]?.startTime !== undefined,
  );
  const { items } = await client.of(persistentWorkspaces).list({ namespace: namespace.name });
  expect(items.length).toBe(3);
  for (const { metadata } of items) expect(metadata.finalizers, metadata.name).not.toEqual([]);
  await kubectl(["delete", "namespace", namespace.name, "--wait", "--timeout=90s"]);
});

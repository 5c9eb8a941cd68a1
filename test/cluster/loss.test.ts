/** What a Pod, its containers and the ways to remove it do to the Runs on it: no attempt is lost or repeated in silence. */
import { beforeAll, expect, test } from "vitest";
import { runs } from "#api/resources.ts";
import { type Pod, pods } from "#kube/builtin.ts";
import { crash } from "./inside.ts";
import { bashRun, bashRuntime, finished, installPlatform, podsOf, readyRuntime } from "./platform.ts";
import { adminClient, attempt, kubectl, testNamespace, until } from "./support.ts";

beforeAll(() => installPlatform());

const running = (client: ReturnType<typeof adminClient>, metadata: { name: string; namespace?: string }) =>
  until(client, runs, metadata, ({ status }) => status?.phase === "Running");

const restartsOf = (container: string) => (pod: Pod) =>
  [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])].find(
    ({ name }) => name === container,
  )?.restartCount ?? 0;

const isReady = ({ status }: Pod) => status?.conditions?.some((one) => one.type === "Ready" && one.status === "True");

test("an agent that crashes goes on with what runs: the same attempt, started once", async () => {
  const client = adminClient();
  await using namespace = await testNamespace("agent");
  const [pod] = await readyRuntime(client, bashRuntime(namespace.name));
  const name = pod?.metadata.name ?? "";
  // What is outside of the Run's directory tells how often it was started.
  const script = 'echo start >>/tmp/starts; sleep 8; echo "starts=$(wc -l </tmp/starts)" >>"$KRUNTIME_OUTPUTS"';
  const run = await client.of(runs).create(bashRun(namespace.name, "long", script));
  await running(client, run.metadata);
  await crash({ namespace: namespace.name, name }, "runtimed");
  // Created while nobody is there to take it.
  const next = await client.of(runs).create(bashRun(namespace.name, "next", "true"));
  expect((await finished(client, run)).status).toMatchObject({
    phase: "Succeeded",
    attempt: 1,
    outputs: { starts: "1" },
  });
  expect((await finished(client, next)).status).toMatchObject({ phase: "Succeeded", attempt: 1 });
  const after = await until(client, pods, { name, namespace: namespace.name }, (one) => isReady(one) === true);
  expect(restartsOf("runtimed")(after)).toBe(1);
  expect(restartsOf("runtime")(after)).toBe(0);
});

test("an executor that crashes takes its programs with it: AttemptLost, and another attempt where that is wanted", async () => {
  const client = adminClient();
  await using namespace = await testNamespace("executor");
  const [pod] = await readyRuntime(client, bashRuntime(namespace.name));
  const name = pod?.metadata.name ?? "";
  await kubectl(["create", "-f", "-"], {
    input: JSON.stringify({
      apiVersion: "kruntimes.io/v1alpha1",
      kind: "PersistentWorkspace",
      metadata: { name: "files", namespace: namespace.name },
      spec: { runtime: "bash" },
    }),
  });
  // The files of a workspace outlive the container.
  const script = [
    'echo "$KRUNTIME_ATTEMPT" >>starts',
    'test "$KRUNTIME_ATTEMPT" = 2 || sleep 600',
    'echo "starts=$(echo $(cat starts))" >>"$KRUNTIME_OUTPUTS"',
  ].join("\n");
  const again = await client.of(runs).create(
    bashRun(namespace.name, "again", script, {
      workspace: { name: "files" },
      retryPolicy: { maxAttempts: 2, backoff: "100ms" },
    }),
  );
  const once = await client.of(runs).create(bashRun(namespace.name, "once", "sleep 600"));
  await Promise.all([running(client, again.metadata), running(client, once.metadata)]);
  await crash({ namespace: namespace.name, name }, "runtime");
  expect((await finished(client, once)).status).toMatchObject({ phase: "Failed", reason: "AttemptLost", attempt: 1 });
  expect((await finished(client, again)).status).toMatchObject({
    phase: "Succeeded",
    attempt: 2,
    attempts: [{ number: 1, reason: "AttemptLost" }],
    assignedPod: name,
    outputs: { starts: "1 2" },
  });
});

test("Runs of a Pod that vanishes go to another one, or fail as PodDeleted; its workspace is lost", async () => {
  const client = adminClient();
  await using namespace = await testNamespace("vanish");
  await readyRuntime(client, bashRuntime(namespace.name, { replicas: 2 }));
  const script = 'test "$KRUNTIME_ATTEMPT" = 2 || sleep 600';
  const retryPolicy = { maxAttempts: 2, backoff: "100ms" };
  const again = await client.of(runs).create(bashRun(namespace.name, "again", script, { retryPolicy }));
  const { status: first } = await running(client, again.metadata);
  const gone = first?.assignedPod ?? "";
  await kubectl(["delete", "pod", gone, "-n", namespace.name, "--force", "--grace-period=0"]);
  const { status } = await finished(client, again);
  expect(status).toMatchObject({
    phase: "Succeeded",
    attempt: 2,
    attempts: [{ number: 1, reason: "PodDeleted", pod: gone }],
  });
  expect(status?.assignedPod).not.toBe(gone);
});

/** As `kubectl drain` asks for it. */
const evict = (namespace: string, pod: string) =>
  attempt("kubectl", ["create", "--raw", `/api/v1/namespaces/${namespace}/pods/${pod}/eviction`, "-f", "-"], {
    input: JSON.stringify({ apiVersion: "policy/v1", kind: "Eviction", metadata: { name: pod, namespace } }),
  });

test("an evicted Pod may bring its Runs to an end; what takes longer than the drain is PodEvicted", async () => {
  const client = adminClient();
  await using namespace = await testNamespace("evict");
  const [pod] = await readyRuntime(client, bashRuntime(namespace.name, { drain: { timeout: "8s" } }));
  const name = pod?.metadata.name ?? "";
  const short = await client.of(runs).create(bashRun(namespace.name, "short", "sleep 4"));
  const long = await client.of(runs).create(bashRun(namespace.name, "long", "sleep 600"));
  const retryPolicy = { maxAttempts: 2, backoff: "100ms" };
  const again = await client
    .of(runs)
    .create(bashRun(namespace.name, "again", 'test "$KRUNTIME_ATTEMPT" = 2 || sleep 600', { retryPolicy }));
  await Promise.all([short, long, again].map(({ metadata }) => running(client, metadata)));
  expect((await evict(namespace.name, name)).code).toBe(0);
  expect((await finished(client, short)).status).toMatchObject({ phase: "Succeeded", attempt: 1, assignedPod: name });
  const ended = (await finished(client, long)).status;
  expect(ended, ended?.message).toMatchObject({ phase: "Failed", reason: "PodEvicted", attempt: 1 });
  const { status } = await finished(client, again);
  expect(status).toMatchObject({ phase: "Succeeded", attempt: 2, attempts: [{ number: 1, reason: "PodEvicted" }] });
  expect((await podsOf(client, namespace.name, "bash")).map(({ metadata }) => metadata.name)).not.toContain(name);
});

// The kubelet measures volumes once a minute unless it is told otherwise, and looks for what to evict every 10 s.
test("a Pod whose files outgrow the sizeLimit of its workspace is evicted by the kubelet, and its Runs say so", {
  timeout: 240_000,
}, async () => {
  const client = adminClient();
  await using namespace = await testNamespace("pressure");
  await readyRuntime(client, bashRuntime(namespace.name, { workspace: { emptyDir: { sizeLimit: "10Mi" } } }));
  const fits = await client.of(runs).create(bashRun(namespace.name, "fits", "head -c 1M /dev/zero >file"));
  expect((await finished(client, fits)).status?.phase).toBe("Succeeded");
  const big = await client.of(runs).create(bashRun(namespace.name, "big", "head -c 30M /dev/zero >file; sleep 600"));
  const { status } = await finished(client, big, 180_000);
  expect(status, status?.message).toMatchObject({ phase: "Failed", reason: "PodEvicted" });
  expect(status?.message).toContain('Usage of EmptyDir volume "workspace" exceeds the limit');
});

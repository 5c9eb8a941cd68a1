/** One Run on a real cluster, from `helm install` to its logs. */
import { beforeAll, expect, test } from "vitest";
import { runs } from "#api/resources.ts";
import { bashRun, bashRuntime, finished, installPlatform, readyRuntime } from "./platform.ts";
import { adminClient, attempt, kubectl, testNamespace } from "./support.ts";

beforeAll(() => installPlatform());

test("a Run is executed on a warm Pod, in a namespace that enforces `restricted`", async () => {
  const client = adminClient();
  await using namespace = await testNamespace("run");
  const [pod] = await readyRuntime(client, bashRuntime(namespace.name));
  const script = 'echo "hello from $HOSTNAME"; echo "answer=42" >>"$KRUNTIME_OUTPUTS"';
  const run = await client.of(runs).create(bashRun(namespace.name, "hello", script));
  const { status } = await finished(client, run);
  expect(status).toMatchObject({ phase: "Succeeded", attempt: 1, exitCode: 0, outputs: { answer: "42" } });
  expect(status?.assignedPod).toBe(pod?.metadata.name);
  const log = await kubectl(["logs", "-n", namespace.name, pod?.metadata.name ?? "", "-c", "runtimed"]);
  expect(log).toContain(`"hello from ${pod?.metadata.name}"`);
  // Nobody looks at an event of a Run that went well.
  const events = await kubectl(["get", "events", "-n", namespace.name, "-o", "jsonpath={.items[*].regarding.kind}"]);
  expect(events).not.toContain("Run ");
});

test("a program of a Run finds no token and cannot speak to the API server", async () => {
  const client = adminClient();
  await using namespace = await testNamespace("token");
  await readyRuntime(client, bashRuntime(namespace.name));
  const script = [
    'test ! -e /var/run/secrets/kubernetes.io/serviceaccount/token || { echo "there is a token"; exit 1; }',
    'curl -sk "https://$KUBERNETES_SERVICE_HOST/apis/kruntimes.io/v1alpha1/runs" -o /tmp/answer -w "%{http_code}"',
    "grep -q system:anonymous /tmp/answer",
    // Its neighbour's memory and files are not its own either: another process namespace, another root.
    "! grep -ls [r]untimed /proc/*/cmdline",
  ].join("\n");
  const run = await client.of(runs).create(bashRun(namespace.name, "curious", script));
  const { status } = await finished(client, run);
  expect(status?.phase, status?.message).toBe("Succeeded");
});

test("what is wrong with a Run is told by kubectl field by field, before it is stored", async () => {
  await using namespace = await testNamespace("refused");
  const wrong = bashRun(namespace.name, "wrong", "true", {
    env: [{ name: "KRUNTIME_OUTPUTS", value: "x" }],
    retryPolicy: { maxAttempts: 2, backoff: "1000h" },
  });
  const { code, stderr } = await attempt("kubectl", ["create", "-f", "-"], { input: JSON.stringify(wrong) });
  expect(code).toBe(1);
  expect(stderr).toContain('The Run "wrong" is invalid');
  expect(stderr).toMatch(/\* spec\.env\[0\]\.name: .*KRUNTIME_OUTPUTS/);
  expect(stderr).toMatch(/\* spec\.retryPolicy\.backoff: /);
  const absent = bashRun(namespace.name, "absent", "true", { workspace: { name: "nowhere" } });
  const refused = await attempt("kubectl", ["create", "-f", "-"], { input: JSON.stringify(absent) });
  expect(refused.stderr).toContain("there is no PersistentWorkspace nowhere");
});

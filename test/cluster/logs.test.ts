/** The logs of Runs through a real API server: who may read them, what comes, and what discovery says. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { KubeObject } from "#api/meta.ts";
import { runs } from "#api/resources.ts";
import { createLogs, fromStart, type LogItem } from "#extension-api/client/logs.ts";
import { namespaces, pods } from "#kube/builtin.ts";
import { systemClock, systemRandom } from "#kube/system.ts";
import { KrtUser } from "./krt.ts";
import {
  bashRun,
  bashRuntime,
  clientWithToken,
  finished,
  installPlatform,
  platformNamespace,
  platformValues,
  readyRuntime,
  release,
} from "./platform.ts";
import {
  adminClient,
  apply,
  attempt,
  kubectl,
  type TestNamespace,
  testNamespace,
  until,
  untilGone,
} from "./support.ts";

const ownCluster = process.env.KRUNTIMES_TEST_IMAGES === undefined;

let namespace: TestNamespace;
/** The Pod of the Runtime. */
let pod: string;
beforeAll(async () => {
  await installPlatform();
  namespace = await testNamespace("logs");
  const [ready] = await readyRuntime(adminClient(), bashRuntime(namespace.name));
  pod = ready?.metadata.name ?? "";
});
afterAll(() => namespace[Symbol.asyncDispose]());

const logsOf = (client = adminClient()) =>
  createLogs({ transport: client.transport, clock: systemClock, random: systemRandom });

const messages = (items: readonly LogItem[]) => items.map(({ message }) => message);

async function collect(items: AsyncIterable<LogItem>): Promise<LogItem[]> {
  const all: LogItem[] = [];
  for await (const item of items) all.push(item);
  return all;
}

test("a snapshot has what a Run printed, and kubectl gets it as it is", async () => {
  const client = adminClient();
  const run = await client.of(runs).create(bashRun(namespace.name, "hello", "echo hello; echo bad >&2"));
  await finished(client, run);
  const { items } = await logsOf(client).getLogs(namespace.name, "hello").do().snapshot();
  expect(items.map(({ stream, message }) => `${stream}: ${message}`).sort()).toEqual(["stderr: bad", "stdout: hello"]);
  const raw = await kubectl([
    "get",
    "--raw",
    `/apis/logs.kruntimes.io/v1alpha1/namespaces/${namespace.name}/runs/hello/log`,
  ]);
  expect(JSON.parse(raw).items).toHaveLength(2);
});

test("a Run that goes on is followed to its end, and from every cursor again", async () => {
  const client = adminClient();
  const script = "for n in 1 2 3 4 5; do echo line $n; sleep 0.4; done";
  const run = await client.of(runs).create(bashRun(namespace.name, "slow", script));
  await until(client, runs, run.metadata, ({ status }) => status?.phase === "Running");
  const logs = logsOf(client);
  const items = await collect(await logs.getLogs(namespace.name, "slow", { follow: true, cursor: fromStart }).stream());
  const lines = [1, 2, 3, 4, 5].map((n) => `line ${n}`);
  expect(messages(items)).toEqual(lines);
  for (const [n, { cursor }] of items.entries()) {
    if (cursor === undefined) continue;
    const rest = await collect(await logs.getLogs(namespace.name, "slow", { cursor }).stream());
    expect(messages(rest)).toEqual(lines.slice(n + 1));
  }
});

/** A ServiceAccount that may read the logs of the named Runs, and nothing else; and its token. */
async function reader(name: string, names: readonly string[], home = namespace.name): Promise<string> {
  const metadata = { name, namespace: home };
  const rules = [{ apiGroups: ["logs.kruntimes.io"], resources: ["runs/log"], verbs: ["get"], resourceNames: names }];
  const rbac = "rbac.authorization.k8s.io";
  await apply([
    { apiVersion: "v1", kind: "ServiceAccount", metadata },
    { apiVersion: `${rbac}/v1`, kind: "Role", metadata, rules },
    {
      apiVersion: `${rbac}/v1`,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: rbac, kind: "Role", name },
      subjects: [{ kind: "ServiceAccount", name, namespace: home }],
    },
  ] as KubeObject[]);
  return (await kubectl(["create", "token", name, "-n", home])).trim();
}

/** A client certificate of the cluster for a user: of our own cluster's authority, elsewhere by the way that Kubernetes has for it. */
async function certificate(directory: string, user: string): Promise<{ cert: string; key: string }> {
  const openssl = (...args: string[]) => execFileSync("openssl", args, { stdio: ["ignore", "pipe", "ignore"] });
  const key = join(directory, "user.key");
  const request = join(directory, "user.csr");
  openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key);
  openssl("req", "-new", "-key", key, "-subj", `/CN=${user}`, "-out", request);
  const authority = join(dirname(inject("kubeconfig")), "pki/ca");
  const cert = existsSync(`${authority}.key`)
    ? openssl("x509", "-req", "-in", request, "-CA", `${authority}.crt`, "-CAkey", `${authority}.key`, "-days", "1")
    : Buffer.from(await requested(user, await readFile(request)), "base64");
  return { cert: cert.toString("base64"), key: (await readFile(key)).toString("base64") };
}

async function requested(user: string, request: Buffer): Promise<string> {
  const signerName = "kubernetes.io/kube-apiserver-client";
  const csr = {
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { name: user },
    spec: { request: request.toString("base64"), signerName, usages: ["client auth"], expirationSeconds: 3600 },
  };
  await apply([csr]);
  await kubectl(["certificate", "approve", user]);
  await kubectl(["wait", "csr", user, "--for=jsonpath={.status.certificate}", "--timeout=30s"]);
  const cert = await kubectl(["get", "csr", user, "-o", "jsonpath={.status.certificate}"]);
  await kubectl(["delete", "csr", user]);
  return cert;
}

test("a credential with only get on the named runs/log gets a snapshot through krt and follows a still running Run", async () => {
  const client = adminClient();
  await finished(client, await client.of(runs).create(bashRun(namespace.name, "done", "echo all of it")));
  const script = "echo begun; while [ ! -e /tmp/go ]; do sleep 0.1; done; echo ended";
  const running = await client.of(runs).create(bashRun(namespace.name, "goes-on", script));
  await until(client, runs, running.metadata, ({ status }) => status?.phase === "Running");
  const token = await reader("only-logs", ["done", "goes-on"]);
  await using krt = await KrtUser.make(() => ({ token }));
  const flags = ["-n", namespace.name];
  expect(await krt.run(["logs", "done", ...flags])).toEqual({ code: 0, stdout: "all of it\n", stderr: "" });

  let go: Promise<unknown> | undefined;
  const followed = await krt.run(["logs", "-f", "goes-on", ...flags], (shown) => {
    // What has been printed is here before the Run has ended.
    if (shown === "begun\n")
      go ??= kubectl(["exec", "-n", namespace.name, pod, "-c", "runtime", "--", "touch", "/tmp/go"]);
  });
  await go;
  expect(followed).toEqual({ code: 0, stdout: "begun\nended\n", stderr: "" });
  expect((await finished(client, running)).status?.phase).toBe("Succeeded");

  for (const right of [
    "get runs.kruntimes.io",
    "list pods",
    "get pods --subresource=log",
    "create pods --subresource=portforward",
  ]) {
    const as = `--as=system:serviceaccount:${namespace.name}:only-logs`;
    expect((await attempt("kubectl", ["auth", "can-i", ...right.split(" "), as, ...flags])).stdout).toBe("no\n");
  }
});

test("a credential lacking that subresource permission is denied by the API server", async () => {
  const client = adminClient();
  await finished(client, await client.of(runs).create(bashRun(namespace.name, "secret", "echo for others")));
  const token = await reader("other-logs", ["something-else"]);
  await using krt = await KrtUser.make(() => ({ token }));
  const { code, stdout, stderr } = await krt.run(["logs", "secret", "-n", namespace.name]);
  expect(code).toBe(5);
  expect(stdout).toBe("");
  expect(stderr).toContain(`you may not get runs/log in namespace ${namespace.name} (403 Forbidden)`);
  const logs = logsOf(clientWithToken(token)).getLogs(namespace.name, "secret");
  await expect(logs.do().raw()).rejects.toMatchObject({ name: "StatusError", code: 403, reason: "Forbidden" });
});

test("bearer token, exec credential and client certificate all work", async () => {
  const client = adminClient();
  await finished(client, await client.of(runs).create(bashRun(namespace.name, "for-all", "echo read by $((1 + 2))")));
  const token = await reader("any-way", ["for-all"]);
  const args = ["logs", "for-all", "-n", namespace.name];
  const users: Record<string, (directory: string) => Promise<object> | object> = {
    token: () => ({ token }),
    exec: async (directory) => {
      const credential = { apiVersion: "client.authentication.k8s.io/v1", kind: "ExecCredential", status: { token } };
      await writeFile(join(directory, "credential.json"), JSON.stringify(credential));
      const exec = { apiVersion: credential.apiVersion, command: "cat", args: [join(directory, "credential.json")] };
      return { exec: { ...exec, interactiveMode: "Never" } };
    },
    certificate: async (directory) => {
      const user = `reader-${namespace.name}`;
      const { cert, key } = await certificate(directory, user);
      await kubectl([
        "create",
        "rolebinding",
        "by-certificate",
        "--role=any-way",
        `--user=${user}`,
        "-n",
        namespace.name,
      ]);
      return { "client-certificate-data": cert, "client-key-data": key };
    },
  };
  for (const [way, user] of Object.entries(users)) {
    await using krt = await KrtUser.make(user);
    expect([way, await krt.run(args)]).toEqual([way, { code: 0, stdout: "read by 3\n", stderr: "" }]);
  }
});

test("discovery and OpenAPI: kubectl knows the group and its subresource, and get runs is not hijacked", async () => {
  const group = "logs.kruntimes.io";
  expect((await kubectl(["api-versions"])).split("\n")).toContain(`${group}/v1alpha1`);
  // A log is no resource of its own that could be listed; the list is complete and without errors.
  const resources = await attempt("kubectl", ["api-resources", "--no-headers"]);
  expect({ code: resources.code, stderr: resources.stderr }).toEqual({ code: 0, stderr: "" });
  expect(resources.stdout).toMatch(/^runs\s+rn\s+kruntimes\.io\/v1alpha1\s+true\s+Run$/m);
  expect(resources.stdout).not.toContain(group);
  const canI = ["auth", "can-i", "get", "runs.logs.kruntimes.io/done", "--subresource=log", "-n", namespace.name];
  const as = (name: string) => `--as=system:serviceaccount:${namespace.name}:${name}`;
  expect((await attempt("kubectl", [...canI, as("only-logs")])).stdout).toBe("yes\n");
  expect((await attempt("kubectl", [...canI, as("other-logs")])).stdout).toBe("no\n");
  // Fresh: what kubectl has cached of discovery would hide a change.
  const cache = ["--cache-dir", await mkdtemp(join(tmpdir(), "kubectl-cache-"))];
  for (const name of ["runs", "run", "rn"]) {
    expect(await kubectl(["get", name, "done", "-n", namespace.name, "-o", "jsonpath={.apiVersion}", ...cache])).toBe(
      "kruntimes.io/v1alpha1",
    );
  }
  const v2 = JSON.parse(await kubectl(["get", "--raw", "/openapi/v2"]));
  const path = "/apis/logs.kruntimes.io/v1alpha1/namespaces/{namespace}/runs/{name}/log";
  await expect.poll(() => Object.keys(v2.paths), { timeout: 10_000 }).toContain(path);
  const v3 = JSON.parse(await kubectl(["get", "--raw", "/openapi/v3/apis/logs.kruntimes.io/v1alpha1"]));
  expect(Object.keys(v3.paths)).toEqual([path]);
});

test("errors through the API server keep code and reason: 404, 400, 405, 410", async () => {
  const client = adminClient();
  const logs = logsOf(client);
  const code = (promise: Promise<unknown>) =>
    promise.then(
      () => 200,
      ({ code, reason }) => `${code} ${reason}`,
    );
  expect(await code(logs.getLogs(namespace.name, "nobody").do().raw())).toBe("404 NotFound");
  expect(await code(logs.getLogs(namespace.name, "nobody", { follow: true }).stream())).toBe("404 NotFound");
  expect(await code(logs.getLogs(namespace.name, "done", { tailLines: 0 }).do().raw())).toBe("400 BadRequest");
  const path = `/apis/logs.kruntimes.io/v1alpha1/namespaces/${namespace.name}/runs/done/log`;
  expect(await code(client.transport.request({ method: "DELETE", path }))).toBe("405 MethodNotAllowed");
  const { cursor } = await logs.getLogs(namespace.name, "done").do().snapshot();
  const old = cursor.replace(/\d{19}/, "1000000000000000001");
  expect(await code(logs.getLogs(namespace.name, "done", { cursor: old }).do().raw())).toBe("410 Expired");
});

test("through container runtime and node every byte comes as it was printed: 2 MiB without a newline, carriage returns, no UTF-8", async () => {
  const client = adminClient();
  const script = [
    "head -c 2097152 /dev/urandom | tr -d '\\n' > all",
    "printf '10%%\\r20%%\\r\\n\\n\\377\\376 half a character: \\303\\n' >> all",
    "head -c 2000000 /dev/zero | tr '\\0' 'x' >> all",
    "cat all; sha256sum < all >&2",
  ].join("\n");
  const run = await client.of(runs).create(bashRun(namespace.name, "bytes", script));
  expect((await finished(client, run)).status?.phase).toBe("Succeeded");
  const hash = createHash("sha256");
  let sum = "";
  const options = { cursor: fromStart };
  for await (const { stream, message, encoding, partial } of await logsOf(client)
    .getLogs(namespace.name, "bytes", options)
    .stream()) {
    if (stream === "stderr") sum += message;
    else hash.update(Buffer.from(message, encoding)).update(partial ? "" : "\n");
  }
  expect(`${hash.digest("hex")}  -`).toBe(sum);
});

test("an agent that is killed while a Run is followed: nothing is missing and nothing comes twice", async () => {
  const client = adminClient();
  const script = "for n in $(seq 1 60); do echo line $n; sleep 0.1; done";
  const run = await client.of(runs).create(bashRun(namespace.name, "agent-dies", script));
  const restarts = async () => {
    const { status } = await client.of(pods).get({ name: pod, namespace: namespace.name });
    const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
    return containers.find(({ name }) => name === "runtimed")?.restartCount ?? Number.NaN;
  };
  const before = await restarts();
  const items: LogItem[] = [];
  let killed: Promise<unknown> | undefined;
  for await (const item of await logsOf(client).getLogs(namespace.name, "agent-dies", { follow: true }).stream()) {
    items.push(item);
    if (item.message === "line 10") {
      // Every process but the first of the container, which ends with the agent. The image has a shell, and no other programs.
      const kill = "kill -9 -1";
      killed = attempt("kubectl", ["exec", "-n", namespace.name, pod, "-c", "runtimed", "--", "sh", "-c", kill]);
    }
  }
  await killed;
  // It was really killed, and it is another life of it that printed the rest.
  await expect.poll(restarts, { timeout: 30_000 }).toBe(before + 1);
  expect(items.filter(({ stream }) => stream === "system").map(({ message }) => message)).toContainEqual(
    expect.stringContaining("the agent restarted"),
  );
  const lines = items.filter(({ stream }) => stream === "stdout").map(({ message }) => message);
  expect(lines).toEqual(Array.from({ length: 60 }, (_, n) => `line ${n + 1}`));
  expect((await client.of(runs).get(run.metadata)).status?.phase).toBe("Succeeded");
});

test("the kubelet changes the file of a log that is followed: what it took away is told with its number, and nothing else is missing", async () => {
  const client = adminClient();
  const logs = logsOf(client);
  // 12 MB: more than a kubelet keeps in one file, at which it looks every ten seconds.
  const flood = 120_000;
  const ticks = 80;
  const script = `yes "$(printf 'x%.0s' {1..100})" | head -n ${flood}; for n in $(seq ${ticks}); do echo tick $n; sleep 0.25; done`;
  await finished(client, await client.of(runs).create(bashRun(namespace.name, "before-it", "echo early")));
  const run = await client.of(runs).create(bashRun(namespace.name, "rotated", script));
  const count = async (items: AsyncIterable<LogItem>) => {
    const counted = { shown: 0, missing: 0, lastSeq: 0 };
    for await (const { seq, message } of items) {
      if (seq !== undefined) counted.shown++;
      counted.lastSeq = seq ?? counted.lastSeq;
      counted.missing += Number(/^(\d+) records? (?:is|are) missing here: the node removed/.exec(message)?.[1] ?? 0);
    }
    return counted;
  };
  const options = { cursor: fromStart };
  const followed = await count(await logs.getLogs(namespace.name, "rotated", { ...options, follow: true }).stream());
  expect((await finished(client, run)).status?.phase).toBe("Succeeded");
  // A line may be in two records, never the other way round.
  expect(followed.lastSeq).toBeGreaterThanOrEqual(flood + ticks);
  expect(followed.shown + followed.missing).toBe(followed.lastSeq);
  const left = await count(await logs.getLogs(namespace.name, "rotated", options).stream());
  expect([left.lastSeq, left.shown + left.missing]).toEqual([followed.lastSeq, followed.lastSeq]);
  if (ownCluster) expect(left.missing).toBeGreaterThan(0);
  const { items } = await logs.getLogs(namespace.name, "before-it").do().snapshot();
  if (ownCluster) expect(messages(items)).toEqual([expect.stringContaining("nothing of attempt 1 is kept")]);
  console.log(`followed over a change of files: ${JSON.stringify(followed)}; read afterwards: ${JSON.stringify(left)}`);
});

test("a 409 Conflict tells that the Run's Pod, and its log with it, is gone", async () => {
  const client = adminClient();
  await using other = await testNamespace("logs-gone");
  const [first] = await readyRuntime(client, bashRuntime(other.name));
  await finished(client, await client.of(runs).create(bashRun(other.name, "short", "echo gone")));
  await kubectl(["delete", "pod", first?.metadata.name ?? "", "-n", other.name, "--grace-period=0", "--force"]);
  const logs = logsOf(client);
  const ask = () =>
    logs
      .getLogs(other.name, "short")
      .do()
      .raw()
      .then(
        () => "200",
        (error) => `${error.code} ${error.reason}`,
      );
  await expect.poll(ask, { timeout: 30_000 }).toBe("409 Conflict");
  const token = await reader("of-gone", ["short"], other.name);
  await using krt = await KrtUser.make(() => ({ token }));
  const { code, stderr } = await krt.run(["logs", "short", "-n", other.name]);
  expect([code, stderr]).toEqual([
    5,
    expect.stringMatching(/^krt: the log of Run short is gone with its Pod runtime-bash-\S+: nothing brings it back\n/),
  ]);
});

test("while the service is away logs are a 503; a namespace that is deleted meanwhile waits, and goes when it is back", async () => {
  const client = adminClient();
  const deployment = ["deployment", `${release}-run-extension-api`, "-n", platformNamespace];
  const doomed = await testNamespace("logs-doomed");
  try {
    await kubectl(["scale", ...deployment, "--replicas=0"]);
    await kubectl([
      "wait",
      "apiservice",
      "v1alpha1.logs.kruntimes.io",
      "--for=condition=Available=False",
      "--timeout=60s",
    ]);
    await expect(logsOf(client).getLogs(namespace.name, "done").do().raw()).rejects.toMatchObject({ code: 503 });
    await using krt = await KrtUser.make(async () => ({ token: await reader("while-away", ["done"]) }));
    const { code, stderr } = await krt.run(["logs", "done", "-n", namespace.name]);
    expect(code).toBe(4);
    expect(stderr).toContain("krt: the log service of the cluster does not answer: ");
    expect(stderr).toContain("`kubectl get apiservice v1alpha1.logs.kruntimes.io` tells why");
    await kubectl(["delete", "namespace", doomed.name, "--wait=false"]);
    const condition = '{.status.conditions[?(@.type=="NamespaceDeletionDiscoveryFailure")].status}';
    const blocked = () => kubectl(["get", "namespace", doomed.name, "-o", `jsonpath=${condition}`]);
    await expect.poll(blocked, { timeout: 60_000, interval: 500 }).toBe("True");
  } finally {
    await kubectl(["scale", ...deployment, "--replicas=2"]);
  }
  await kubectl(["rollout", "status", ...deployment, "--timeout=60s"]);
  await untilGone(client, namespaces, { name: doomed.name }, 90_000);
  expect((await logsOf(client).getLogs(namespace.name, "done").do().snapshot()).items).toHaveLength(1);
}, 240_000);

test("a second release is refused with a clear message, and is welcome without the API", async () => {
  const values = JSON.stringify(await platformValues());
  const install = ["install", "second", "charts/kruntimes", "-n", namespace.name, "--dry-run=server", "--values", "-"];
  const { code, stderr } = await attempt("helm", install, { input: values });
  expect(code).toBe(1);
  expect(stderr).toContain(
    `APIService v1alpha1.logs.kruntimes.io belongs to release ${platformNamespace}/${release}: exactly one release of a cluster may own it. ` +
      "Set runExtensionAPI.enabled=false for this release",
  );
  const without = await attempt(
    "helm",
    [
      "template",
      "second",
      "charts/kruntimes",
      "--set",
      "runExtensionAPI.enabled=false",
      "--dry-run=server",
      "-n",
      namespace.name,
      "--values",
      "-",
    ],
    { input: values },
  );
  expect(without.stderr).not.toContain("APIService");
});

test("a line that a program prints is at the client within 50 ms (median)", async () => {
  const client = adminClient();
  const logs = logsOf(client);
  // The time in each line is that of the node, which is this machine.
  const ticks = "for n in $(seq 1 60); do date +%s%N; sleep 0.05; done";
  await client.of(runs).create(bashRun(namespace.name, "ticks", ticks));
  const delays: number[] = [];
  for await (const { message } of await logs.getLogs(namespace.name, "ticks", { follow: true }).stream()) {
    delays.push(performance.timeOrigin + performance.now() - Number(message) / 1e6);
  }
  delays.sort((a, b) => a - b);
  const p50 = delays[Math.floor(delays.length / 2)] ?? Number.NaN;
  console.log(
    `line printed to line at the client: p50 ${p50.toFixed(1)} ms, p95 ${delays[Math.floor(delays.length * 0.95)]?.toFixed(1)} ms`,
  );
  expect(delays).toHaveLength(60);
  expect(p50).toBeLessThan(ownCluster ? 50 : 500);
});

/** Secrets and ConfigMaps on a real cluster: as the kubelet mounts them, and in images of ours. */
import { beforeAll, expect, test } from "vitest";
import { findCondition } from "#api/conditions.ts";
import type { Runtime } from "#api/kinds/runtime.ts";
import type { Condition } from "#api/meta.ts";
import { runs, runtimes } from "#api/resources.ts";
import { configMaps, events, secrets } from "#kube/builtin.ts";
import { startGitServer } from "#test/integration/support/git-server.ts";
import { bashRun, bashRuntime, finished, installPlatform, readyRuntime } from "./platform.ts";
import { startSshServer } from "./ssh-server.ts";
import { adminClient, apply, attempt, kubectl, nodeAddress, testNamespace, until } from "./support.ts";
import { claimOf, ownCluster, volumeFor } from "./volumes.ts";

beforeAll(() => installPlatform());

const fromSecret = (variable: string, name: string, key: string) => ({
  name: variable,
  valueFrom: { secretKeyRef: { name, key } },
});

test("values reach the program and nobody else; what is absent is told, and what changes is seen without a restart", async () => {
  const client = adminClient();
  await using namespace = await testNamespace("secrets");
  const at = (name: string) => ({ name, namespace: namespace.name });
  const password = "correct horse battery";
  await client.of(secrets).create({ metadata: at("db"), stringData: { password } });
  await client.of(configMaps).create({ metadata: at("settings"), data: { level: "debug" } });
  const [pod] = await readyRuntime(
    client,
    bashRuntime(namespace.name, { secrets: ["db", "later"], configMaps: ["settings"] }),
  );
  const podName = pod?.metadata.name ?? "";

  const script = `test "$PASSWORD" = "$(printf 'correct horse %s' battery)" || exit 9
    test ! -e /references || exit 8
    echo "level $LEVEL, password $PASSWORD" >&2; exit 3`;
  const env = [
    fromSecret("PASSWORD", "db", "password"),
    { name: "LEVEL", valueFrom: { configMapKeyRef: { name: "settings", key: "level" } } },
  ];
  const run = await finished(client, await client.of(runs).create(bashRun(namespace.name, "uses", script, { env })));
  expect(run.status).toMatchObject({ phase: "Failed", reason: "ExitNonZero", exitCode: 3 });
  expect(run.status?.message).toContain("level debug, password ***");
  const log = await kubectl(["logs", "-n", namespace.name, podName, "-c", "runtimed"]);
  expect(log).toContain("level debug, password ***");
  const told = await client.of(events).list({ namespace: namespace.name });
  expect(`${log}${JSON.stringify([run, told.items])}`).not.toContain(password);

  // Nothing that a program could reach has it: neither a mount of its container nor a right of the agent.
  const exec = (container: string, ...command: string[]) =>
    attempt("kubectl", ["exec", "-n", namespace.name, podName, "-c", container, "--", ...command]);
  expect((await exec("runtimed", "cat", "/references/secrets/db/password")).stdout).toBe(password);
  expect((await exec("runtime", "ls", "/references")).code).not.toBe(0);
  expect((await exec("runtime", "grep", "-c", "references", "/proc/mounts")).stdout.trim()).toBe("0");
  const agent = `system:serviceaccount:${namespace.name}:runtime-bash`;
  const canI = await attempt("kubectl", ["auth", "can-i", "get", "secret/db", "-n", namespace.name, `--as=${agent}`]);
  expect(canI.stdout.trim()).toBe("no");

  const uses = (name: string) =>
    client.of(runs).create(bashRun(namespace.name, name, "true", { env: [fromSecret("V", "later", "key")] }));
  const early = await finished(client, await uses("early"));
  expect(early.status).toMatchObject({ phase: "Failed", reason: "SecretNotAvailable" });
  expect(early.status?.message).toContain("there is no Secret later with a key key; create it");
  await client.of(secrets).create({ metadata: at("later"), stringData: { key: "value" } });
  let tries = 0;
  await expect
    .poll(async () => (await finished(client, await uses(`later-${tries++}`))).status?.phase, {
      timeout: 110_000,
      interval: 3000,
    })
    .toBe("Succeeded");

  const unlisted = bashRun(namespace.name, "unlisted", "true", { env: [fromSecret("V", "other", "key")] });
  await expect(client.of(runs).create(unlisted)).rejects.toThrow("Runtime bash does not list Secret other");
}, 240_000);

const degraded = ({ status }: Runtime) => findCondition(status?.conditions as Condition[] | undefined, "Degraded");

test("a workspace on a claim that does not exist is told, and recovers when it is made", async () => {
  const client = adminClient();
  await using namespace = await testNamespace("claim");
  const ref = { name: "bash", namespace: namespace.name };
  const workspace = { persistentVolumeClaim: { claimName: "files" } };
  await client.of(runtimes).create(bashRuntime(namespace.name, { workspace }));
  const told = await until(
    client,
    runtimes,
    ref,
    (one) => /persistentvolumeclaim "files" not found/.test(degraded(one)?.message ?? ""),
    30_000,
  );
  expect(degraded(told)).toMatchObject({ status: "True", reason: "PodsFailing" });
  await using volume = await volumeFor(namespace.name, "files");
  await apply([claimOf(namespace.name, "files", volume)]);
  await until(client, runtimes, ref, ({ status }) => status?.readyReplicas === 1, 90_000);
  const run = bashRun(namespace.name, "writes", "echo here > file && test -s file");
  expect((await finished(client, await client.of(runs).create(run))).status).toMatchObject({ phase: "Succeeded" });
});

test("a workspace in memory has the size that it may have", async () => {
  const client = adminClient();
  await using namespace = await testNamespace("memory");
  const workspace = { emptyDir: { medium: "Memory", sizeLimit: "16Mi" } };
  await readyRuntime(client, bashRuntime(namespace.name, { workspace }));
  const script = `grep -q '^tmpfs /workspace ' /proc/mounts && expr $(stat -f -c '%b * %S' /workspace) '<=' 16777216`;
  const run = await client.of(runs).create(bashRun(namespace.name, "looks", script));
  expect((await finished(client, run)).status).toMatchObject({ phase: "Succeeded" });
});

// The servers are on this machine, which Pods of another cluster need not reach.
test.runIf(ownCluster)(
  "private repositories are fetched over https and ssh, by commit, with the programs of our image",
  async () => {
    const client = adminClient();
    await using namespace = await testNamespace("git");
    const host = await nodeAddress();
    const login = { username: "ada", password: "correct horse battery" };
    await using git = await startGitServer({
      login,
      commits: [{ script: "echo one; env" }, { script: "exit 5" }],
      host,
    });
    await using ssh = await startSshServer(host);
    const made = {
      https: { ...login, "ca.crt": git.ca },
      ssh: { "ssh-privatekey": ssh.key, known_hosts: ssh.knownHosts },
      stale: { ...login, password: "wr0ng-p4ss", "ca.crt": git.ca },
      stranger: { "ssh-privatekey": ssh.key, known_hosts: ssh.knownHosts.replace(/^\S+/, "example.com") },
    };
    for (const [name, stringData] of Object.entries(made)) {
      await client.of(secrets).create({ metadata: { name, namespace: namespace.name }, stringData });
    }
    await readyRuntime(client, bashRuntime(namespace.name, { secrets: Object.keys(made) }));
    const fetched = async (secret: keyof typeof made) => {
      const repoURL = "known_hosts" in made[secret] ? `${ssh.address}${git.repository}` : git.url;
      const source = { repoURL, commitSHA: git.commits[0] ?? "", credentialsSecretName: secret };
      const run = { ...bashRun(namespace.name, secret, ""), spec: { runtime: "bash", source } };
      return (await finished(client, await client.of(runs).create(run))).status;
    };
    expect(await fetched("https")).toMatchObject({ phase: "Succeeded" });
    expect(await fetched("ssh")).toMatchObject({ phase: "Succeeded" });
    const stale = await fetched("stale");
    expect(stale).toMatchObject({ phase: "Failed", reason: "SourceFailed" });
    expect(stale?.message).toMatch(/Authentication failed/);
    expect(JSON.stringify(stale)).not.toContain("wr0ng");
    const stranger = await fetched("stranger");
    expect(stranger).toMatchObject({ phase: "Failed", reason: "SourceFailed" });
    expect(stranger?.message).toMatch(/Host key verification failed/);
    const log = await kubectl([
      "logs",
      "-n",
      namespace.name,
      "-l",
      "kruntimes.io/runtime=bash",
      "-c",
      "runtimed",
      "--tail=-1",
    ]);
    expect(log).toContain("one");
    expect(log).not.toMatch(/horse|wr0ng|PRIVATE KEY/);
  },
);

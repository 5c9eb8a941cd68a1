import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { EnvVar, Run, RunSpec } from "#api/kinds/run.ts";
import { persistentWorkspaces, runs, runtimes } from "#api/resources.ts";
import { configMaps, events, persistentVolumeClaims, secrets } from "#kube/builtin.ts";
import { bashRun, bashRuntime, claim, namespace, TestCluster } from "./support/cluster.ts";
import { type GitServer, startGitServer } from "./support/git-server.ts";

const password = "correct horse battery";
let cluster: TestCluster;
let git: GitServer;
beforeAll(async () => {
  git = await startGitServer({
    login: { username: "ada", password },
    commits: [{ script: "echo one; env" }, { script: "echo two; env" }],
  });
  cluster = await TestCluster.start();
  await cluster.create(persistentVolumeClaims, claim);
  await cluster.create(secrets, secret("db", { user: "ada", password, pem: "-----BEGIN KEY-----\nMIIabc\nline2\n" }));
  await cluster.create(secrets, secret("git", { username: "ada", password, "ca.crt": git.ca }));
  await cluster.create(secrets, secret("stale", { username: "ada", password: "wr0ng-p4ss", "ca.crt": git.ca }));
  await cluster.create(configMaps, {
    metadata: { name: "settings", namespace },
    data: { level: "debug" },
    binaryData: { text: Buffer.from("größe").toString("base64"), raw: Buffer.from([0xff, 0]).toString("base64") },
  });
  await cluster.create(
    runtimes,
    bashRuntime({ secrets: ["db", "git", "stale", "later", "changing"], configMaps: ["settings", "none"] }),
  );
  await cluster.ready("bash", 1);
});
afterAll(async () => {
  await cluster?.stop();
  await git?.[Symbol.asyncDispose]();
});

const secret = (name: string, stringData: Record<string, string>) => ({ metadata: { name, namespace }, stringData });
const fromSecret = (variable: string, name: string, key: string, optional?: true): EnvVar => ({
  name: variable,
  valueFrom: { secretKeyRef: { name, key, ...(optional && { optional }) } },
});
const fromConfigMap = (variable: string, name: string, key: string, optional?: true): EnvVar => ({
  name: variable,
  valueFrom: { configMapKeyRef: { name, key, ...(optional && { optional }) } },
});

/** A Run that has ended, and what it has logged. */
async function outcome(name: string, spec: Partial<RunSpec>, script = "true"): Promise<{ run: Run; log: string }> {
  await cluster.create(runs, bashRun(name, script, spec));
  const run = await cluster.finished(name);
  const records = await cluster.logOf(name);
  return { run, log: records.map(({ message }) => message).join("\n") };
}

test("a program has the values of Secrets and ConfigMaps, and its log has none of the Secrets", async () => {
  const env = [
    fromSecret("PASSWORD", "db", "password"),
    fromSecret("PEM", "db", "pem"),
    fromSecret("NOTHING", "later", "key", true),
    fromConfigMap("LEVEL", "settings", "level"),
    fromConfigMap("WORD", "settings", "text"),
    fromConfigMap("NONE", "none", "key", true),
    { name: "PLAIN", value: "plain" },
  ];
  const { run, log } = await outcome(
    "values",
    { env },
    `test "$PASSWORD" = "${password}" && test \${#PEM} = 33 && test -z "\${NOTHING+x}\${NONE+x}" || exit 1
    echo "level $LEVEL, $WORD, $PLAIN"; echo "password [$PASSWORD]"; echo "$PEM" | sed 's/^/> /'
    printf 'correct ho'; sleep 0.2; echo 'rse battery!'`,
  );
  expect(run.status, log).toMatchObject({ phase: "Succeeded" });
  expect(log).toContain("level debug, größe, plain");
  expect(log).toContain("password [***]");
  expect(log).toContain("> ***\n> ***\n> ***");
  expect(log).not.toMatch(/horse|MIIabc/);
});

test("neither status nor Events repeat a value, whatever the program does with it", async () => {
  const env = [fromSecret("PASSWORD", "db", "password")];
  const { run } = await outcome("loud", { env }, 'echo "cannot log in with $PASSWORD" >&2; exit 3');
  expect(run.status).toMatchObject({ phase: "Failed", reason: "ExitNonZero" });
  expect(run.status?.message).toContain("cannot log in with ***");
  const { run: handed } = await outcome("handed", { env }, 'echo "token=$PASSWORD" >> "$KRUNTIME_OUTPUTS"');
  expect(handed.status).toMatchObject({ phase: "Failed", reason: "OutputsInvalid" });
  expect(handed.status?.message).toContain('output "token" holds the value of a Secret');
  const { items } = await cluster.client.of(runs).list({ namespace });
  const told = await cluster.client.of(events).list({ namespace });
  expect(items.length).toBeGreaterThan(2);
  expect(JSON.stringify([items.map(({ status }) => status), told.items])).not.toContain("horse");
});

const missing: Record<string, { env: EnvVar; says: string }> = {
  "a Secret that does not exist": {
    env: fromSecret("V", "later", "key"),
    says: "there is no Secret later with a key key; create it",
  },
  "a key that does not exist": { env: fromSecret("V", "db", "port"), says: "Secret db has no key port; add it" },
  "a ConfigMap that does not exist": {
    env: fromConfigMap("V", "none", "key"),
    says: "there is no ConfigMap none with a key key",
  },
  "binary data": { env: fromConfigMap("V", "settings", "raw"), says: "it holds a zero byte; store it as base64 text" },
};

test.each(Object.entries(missing))("%s fails the Run at once, with what to do", async (what, { env, says }) => {
  const name = what.replaceAll(" ", "-").toLowerCase();
  const { run } = await outcome(name, { env: [env], retryPolicy: { maxAttempts: 3 } });
  expect(run.status).toMatchObject({ phase: "Failed", reason: "SecretNotAvailable", attempt: 1 });
  expect(run.status?.message).toContain(says);
});

test("what the Runtime does not list is refused at creation", async () => {
  const creating = cluster.create(runs, bashRun("unlisted", "true", { env: [fromSecret("V", "other", "key")] }));
  await expect(creating).rejects.toThrow(
    "spec.env[0].valueFrom.secretKeyRef.name: Forbidden: Runtime bash does not list Secret other.",
  );
});

test("a Run that was there before its Runtime is told by the agent", async () => {
  await cluster.create(runs, {
    metadata: { name: "early", namespace },
    spec: { runtime: "later", source: { inline: "true" }, env: [fromSecret("V", "other", "key")] },
  });
  await cluster.create(runtimes, bashRuntime({}, "later"));
  const { status } = await cluster.finished("early");
  expect(status).toMatchObject({ phase: "Failed", reason: "SecretNotAvailable" });
  expect(status?.message).toContain("Secret other is not for Runs of Runtime later; add it to spec.secrets");
});

test("a Run that comes with the change of its Runtime waits for a Pod that has what was added", async () => {
  await cluster.create(secrets, secret("added", { key: "value" }));
  await cluster.create(runtimes, bashRuntime({}, "growing"));
  const [before] = await cluster.ready("growing", 1);
  await cluster.client.of(runtimes).patch({ name: "growing", namespace }, { spec: { secrets: ["added"] } });
  await cluster.create(runs, {
    metadata: { name: "eager", namespace },
    spec: { runtime: "growing", source: { inline: 'test "$V" = value' }, env: [fromSecret("V", "added", "key")] },
  });
  const { status } = await cluster.finished("eager");
  expect(status, JSON.stringify(status)).toMatchObject({ phase: "Succeeded" });
  expect(status?.assignedPod).not.toBe(before?.metadata.name);
});

test("a Secret that is changed, deleted and made again is seen by later Runs of the same Pod, and not by one that runs", async () => {
  const [pod] = await cluster.pods("bash");
  const env = [fromSecret("V", "changing", "key")];
  const see = async (name: string) => {
    const { run } = await outcome(name, { env }, 'echo "seen=${#V}" >> "$KRUNTIME_OUTPUTS"');
    return run.status?.outputs?.seen ?? run.status?.reason;
  };
  await cluster.create(secrets, secret("changing", { key: "1" }));
  expect(await see("first")).toBe("1");
  await cluster.client.of(secrets).patch({ name: "changing", namespace }, { stringData: { key: "22" } });
  let tries = 0;
  await expect.poll(() => see(`second-${tries++}`), { timeout: 20_000 }).toBe("2");

  const script = 'touch here; until test -e go; do sleep 0.05; done; echo "seen=${#V}" >> "$KRUNTIME_OUTPUTS"';
  const { uid } = (await cluster.create(runs, bashRun("long", script, { env }))).metadata;
  const directory = `${cluster.directory}/pods/${pod?.metadata.uid}/workspace/runs/${uid}`;
  await expect.poll(() => existsSync(`${directory}/here`), { timeout: 10_000 }).toBe(true);
  await cluster.client.of(secrets).delete({ name: "changing", namespace });
  await expect.poll(() => see(`third-${tries++}`), { timeout: 20_000 }).toBe("SecretNotAvailable");
  await writeFile(`${directory}/go`, "");
  expect((await cluster.finished("long")).status).toMatchObject({ phase: "Succeeded", outputs: { seen: "2" } });

  await cluster.create(secrets, secret("changing", { key: "333" }));
  await expect.poll(() => see(`fourth-${tries++}`), { timeout: 20_000 }).toBe("3");
  expect((await cluster.pods("bash")).map(({ metadata }) => metadata.name)).toEqual([pod?.metadata.name]);
});

const source = (more: object) => ({ source: { repoURL: git.url, ...more } });

test("a private repository is the source of a Run: branch, and commit by its full id", async () => {
  const branch = await outcome("branch", source({ credentialsSecretName: "git" }));
  expect(branch.run.status, branch.log).toMatchObject({ phase: "Succeeded" });
  expect(branch.log).toMatch(/^two$/m);
  const commit = await outcome("commit", source({ credentialsSecretName: "git", commitSHA: git.commits[0] }));
  expect(commit.log).toMatch(/^one$/m);
  // The program gets nothing of what opened the repository.
  expect(branch.log + commit.log).not.toMatch(/horse|KRUNTIMES_|GIT_/);
});

test("in a workspace a Git source lies beside the shared files, and the program begins among those", async () => {
  await cluster.create(persistentWorkspaces, { metadata: { name: "work", namespace }, spec: { runtime: "bash" } });
  const workspace = { workspace: { name: "work" } };
  await outcome("before", workspace, "echo mine > script");
  const { run, log } = await outcome("beside", { ...source({ credentialsSecretName: "git" }), ...workspace });
  expect(run.status, log).toMatchObject({ phase: "Succeeded" });
  expect(log).toMatch(/^two$/m);
  expect(log).toMatch(/^PWD=.*\/persistent\/work$/m);
  const script = `test "$(cat script)" = mine && test "$(ls -A)" = ".kruntimes\nscript" && test -f .kruntimes/runs/${run.metadata.uid}/1/source/script`;
  const after = await outcome("after", workspace, script);
  expect(after.run.status, after.log).toMatchObject({ phase: "Succeeded" });
});

test("a wrong password fails with git's own words", async () => {
  const { run } = await outcome("wrong", source({ credentialsSecretName: "stale" }));
  expect(run.status).toMatchObject({ phase: "Failed", reason: "SourceFailed" });
  expect(run.status?.message).toMatch(/Authentication failed/);
  expect(JSON.stringify(run)).not.toContain("wr0ng");
});

test("credentials that are none for this kind of repository are named", async () => {
  const { run } = await outcome("unfit", source({ credentialsSecretName: "later" }));
  expect(run.status).toMatchObject({ phase: "Failed", reason: "SecretNotAvailable" });
  expect(run.status?.message).toContain("there is no Secret later with a key token");
});

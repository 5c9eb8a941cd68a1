/** The life of an installation: upgrades keep what must be kept, an uninstall keeps what belongs to users. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { runs } from "#api/resources.ts";
import { secrets } from "#kube/builtin.ts";
import {
  bashRun,
  bashRuntime,
  finished,
  installPlatform,
  platformNamespace,
  podsOf,
  readyRuntime,
  release,
} from "../platform.ts";
import { adminClient, attempt, helm, kubectl, testNamespace, until } from "../support.ts";

beforeAll(() => installPlatform());
afterAll(() => installPlatform());

const certificate = async () => {
  const ref = { name: `${release}-webhook-tls`, namespace: platformNamespace };
  return (await adminClient().of(secrets).get(ref)).data?.["tls.crt"];
};

test("an upgrade keeps the certificate, the warm Pods and the Runs on them", async () => {
  const client = adminClient();
  await using namespace = await testNamespace("upgrade");
  await readyRuntime(client, bashRuntime(namespace.name));
  const before = await podsOf(client, namespace.name, "bash");
  const stored = await certificate();
  const run = await client.of(runs).create(bashRun(namespace.name, "long", "sleep 10"));
  await until(client, runs, run.metadata, ({ status }) => status?.phase === "Running");
  const change = { scheduler: { logLevel: "debug" }, controller: { logLevel: "debug" } };
  await installPlatform(change);
  expect(await certificate()).toBe(stored);
  expect((await finished(client, run)).status).toMatchObject({ phase: "Succeeded", attempt: 1 });
  expect(await podsOf(client, namespace.name, "bash")).toMatchObject(
    before.map(({ metadata }) => ({ metadata: { uid: metadata.uid } })),
  );
});

test("a certificate that was deleted is made anew by the next upgrade, and the webhook answers with it", async () => {
  await using namespace = await testNamespace("certificate");
  const old = await certificate();
  await kubectl(["delete", "secret", `${release}-webhook-tls`, "-n", platformNamespace]);
  await installPlatform();
  expect(await certificate()).not.toBe(old);
  // Signed by the same authority: there is no moment at which the API server trusts neither.
  const wrong = bashRun(namespace.name, "wrong", "true", { workspace: { name: "nowhere" } });
  const { stderr } = await attempt("kubectl", ["create", "-f", "-"], { input: JSON.stringify(wrong) });
  expect(stderr).toContain("there is no PersistentWorkspace nowhere");
});

test("an uninstall takes everything but the kinds and the objects of users, and can be undone", async () => {
  const client = adminClient();
  await using namespace = await testNamespace("uninstall");
  await readyRuntime(client, bashRuntime(namespace.name));
  const run = await client.of(runs).create(bashRun(namespace.name, "before", "true"));
  await finished(client, run);
  await helm(["uninstall", release, "-n", platformNamespace, "--wait"]);
  const kinds =
    "validatingadmissionpolicies,validatingadmissionpolicybindings,validatingwebhookconfigurations,clusterroles,clusterrolebindings,apiservices";
  const left = await kubectl(["get", kinds, "-o", "name"]);
  expect(left.split("\n").filter((line) => line.includes(release) || line.includes("logs.kruntimes"))).toEqual([]);
  expect((await client.of(runs).get(run.metadata)).metadata.uid).toBe(run.metadata.uid);

  await installPlatform();
  const next = await client.of(runs).create(bashRun(namespace.name, "after", "true"));
  expect((await finished(client, next)).status?.phase).toBe("Succeeded");
});

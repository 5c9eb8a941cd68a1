/** The admission policies in a real API server: the fence around each Pod, and the way around it for emergencies. */
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { beforeAll, expect, inject, test } from "vitest";
import type { Run } from "#api/kinds/run.ts";
import { runs } from "#api/resources.ts";
import { isForbidden } from "#kube/transport.ts";
import { bashRun, bashRuntime, clientWithToken, installPlatform, readyRuntime, release } from "./platform.ts";
import { adminClient, attempt, kubectl, testNamespace, until } from "./support.ts";
import { ownCluster } from "./volumes.ts";

beforeAll(() => installPlatform());

test("a token taken from a Pod is worth its own Runs, and nothing of another Pod", async () => {
  const admin = adminClient();
  await using namespace = await testNamespace("stolen");
  const [first, second] = await readyRuntime(admin, bashRuntime(namespace.name, { replicas: 2 }));
  const inFirst = first?.metadata.name ?? "";
  // From the agent's container: the program's container has none.
  const token = await kubectl([
    "exec",
    "-n",
    namespace.name,
    inFirst,
    "-c",
    "runtimed",
    "--",
    "/usr/lib/kruntimes/node",
    "-p",
    'require("fs").readFileSync("/var/run/secrets/kubernetes.io/serviceaccount/token", "utf8")',
  ]);
  const thief = clientWithToken(token.trim());

  await Promise.all(["a", "b"].map((name) => admin.of(runs).create(bashRun(namespace.name, name, "sleep 30"))));
  const started = await Promise.all(
    ["a", "b"].map((name) =>
      until(admin, runs, { name, namespace: namespace.name }, ({ status }) => status?.phase === "Running"),
    ),
  );
  const ofFirst = started.find((run) => run.status?.assignedPod === inFirst);
  const ofSecond = started.find((run) => run.status?.assignedPod === second?.metadata.name);
  if (ofFirst === undefined || ofSecond === undefined) throw new Error("the Runs were not spread over both Pods");

  const end = (run: Run) =>
    thief.of(runs).update({ ...run, status: { ...run.status, phase: "Succeeded" } } as Run, "status");
  const refused = await end(ofSecond).catch((error: unknown) => error);
  expect(isForbidden(refused), String(refused)).toBe(true);
  expect(String(refused)).toContain("only the agent of the Pod that a Run is assigned to may write its status");
  // Its own Run it may end: that is what the token is for.
  expect((await end(ofFirst)).status?.phase).toBe("Succeeded");
  await expect(thief.of(runs).create(bashRun(namespace.name, "c", "true"))).rejects.toMatchObject({ code: 403 });
});

test("who can edit a namespace cannot write a status; who has the verb override can", async () => {
  const admin = adminClient();
  await using namespace = await testNamespace("override");
  const user = "somebody@example.com";
  const bind = (name: string, role: string) =>
    kubectl(["create", "rolebinding", name, "-n", namespace.name, `--clusterrole=${role}`, `--user=${user}`]);
  await bind("edit", "edit");
  await kubectl([
    "create",
    "role",
    "status",
    "-n",
    namespace.name,
    "--verb=get,update,patch",
    "--resource=runs.kruntimes.io/status",
  ]);
  await kubectl(["create", "rolebinding", "status", "-n", namespace.name, "--role=status", `--user=${user}`]);
  const created = await admin.of(runs).create(bashRun(namespace.name, "a", "true", { runtime: "nobody" }));
  const run = await until(admin, runs, created.metadata, (one) => one.status?.reason === "RuntimeNotFound");
  const cancel = () =>
    attempt("kubectl", [
      "patch",
      "run",
      "a",
      "-n",
      namespace.name,
      `--as=${user}`,
      "--subresource=status",
      "--type=merge",
      '--patch={"status":{"phase":"Cancelled"}}',
    ]);
  const refused = await cancel();
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain(`${user} (as agent) may not move this Run from Pending to Cancelled`);

  const verbs = "--verb=override,get,update,patch";
  await kubectl(["create", "role", "override", "-n", namespace.name, verbs, "--resource=runs.kruntimes.io/status"]);
  await kubectl(["create", "rolebinding", "override", "-n", namespace.name, "--role=override", `--user=${user}`]);
  // Rights are cached for a moment.
  await expect.poll(async () => (await cancel()).code, { timeout: 10_000, interval: 200 }).toBe(0);
  expect(run.status?.phase).toBe("Pending");
  if (ownCluster) {
    const noted = await overrideNoted(namespace.name);
    expect(noted).toMatchObject({
      impersonatedUser: { username: user },
      objectRef: { resource: "runs", name: "a", subresource: "status" },
    });
  }
});

/** What the audit log of our own cluster says of writes in that namespace that went against the rules: one was admitted. */
async function overrideNoted(namespace: string): Promise<object> {
  const path = join(dirname(inject("kubeconfig")), "log/audit.log");
  const key = `${release}-runs-status/against-the-rules`;
  for (let round = 0; round < 100; round++) {
    const lines = (await readFile(path, "utf8")).split("\n").filter((line) => line.includes(namespace));
    const events = lines.map((line) => JSON.parse(line) as AuditEvent);
    const noted = events.filter(({ annotations }) => annotations?.[key] !== undefined);
    for (const { annotations } of noted) expect(annotations?.[key]).toBe("Run from Pending to Cancelled");
    const [admitted, ...more] = noted.filter(({ responseStatus }) => responseStatus?.code === 200);
    if (admitted !== undefined) {
      expect(more).toEqual([]);
      expect(noted.filter(({ responseStatus }) => responseStatus?.code === 403)).not.toEqual([]);
      return admitted;
    }
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error(`${path} has no event of namespace ${namespace} with ${key}`);
}

interface AuditEvent {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly responseStatus?: { readonly code: number };
}

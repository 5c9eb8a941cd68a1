/** Mistakes of whoever runs the platform: each is told where one looks, and is over when it is corrected. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { findCondition } from "#api/conditions.ts";
import type { Runtime } from "#api/kinds/runtime.ts";
import type { Condition } from "#api/meta.ts";
import { runs, runtimes } from "#api/resources.ts";
import {
  bashRun,
  bashRuntime,
  finished,
  installPlatform,
  platformNamespace,
  readyRuntime,
  release,
} from "../platform.ts";
import { adminClient, attempt, kubectl, testNamespace, until } from "../support.ts";

beforeAll(() => installPlatform());
afterAll(() => installPlatform());

interface Rule {
  readonly resources?: readonly string[];
}

/** Takes the rules for a resource out of a ClusterRole; answers what puts them back. */
async function without(role: string, resource: string): Promise<() => Promise<unknown>> {
  const { rules } = JSON.parse(await kubectl(["get", "clusterrole", role, "-o", "json"])) as { rules: readonly Rule[] };
  const write = (next: readonly Rule[]) =>
    kubectl(["patch", "clusterrole", role, "--type=merge", `--patch=${JSON.stringify({ rules: next })}`]);
  const left = rules.filter(({ resources }) => !resources?.includes(resource));
  expect(left.length).toBeLessThan(rules.length);
  await write(left);
  return () => write(rules);
}

test("a controller that may not bind agents says so in the Runtime, and goes on when it may", async () => {
  const client = adminClient();
  await using namespace = await testNamespace("rights");
  const putBack = await without(`${release}-controller`, "rolebindings");
  try {
    await client.of(runtimes).create(bashRuntime(namespace.name));
    const ref = { name: "bash", namespace: namespace.name };
    const degraded = ({ status }: Runtime) => findCondition(status?.conditions as Condition[] | undefined, "Degraded");
    const told = await until(client, runtimes, ref, (one) => degraded(one)?.status === "True");
    expect(degraded(told)).toMatchObject({ reason: "ObjectRefused" });
    expect(degraded(told)?.message).toMatch(/RoleBinding runtime-bash.*cannot (get|create|list).*rolebindings/);
    await putBack();
    await until(client, runtimes, ref, (one) => one.status?.readyReplicas === 1, 90_000);
  } finally {
    await putBack();
  }
});

test("a scheduler that may not write says so in its log, and Runs are placed when it may", async () => {
  const client = adminClient();
  await using namespace = await testNamespace("rights");
  await readyRuntime(client, bashRuntime(namespace.name));
  const putBack = await without(`${release}-scheduler`, "runs/status");
  try {
    const run = await client.of(runs).create(bashRun(namespace.name, "waits", "true"));
    const select = ["-l", "app.kubernetes.io/component=scheduler", "--tail=-1"];
    await expect
      .poll(() => kubectl(["logs", "-n", platformNamespace, ...select]), { timeout: 30_000, interval: 500 })
      .toMatch(/cannot (update|patch) resource \\?"runs\/status\\?"/);
    await putBack();
    expect((await finished(client, run, 90_000)).status?.phase).toBe("Succeeded");
  } finally {
    await putBack();
  }
});

test("an upgrade to an image that does not exist fails, says why, and takes nothing away; the next one puts it right", async () => {
  const client = adminClient();
  await using namespace = await testNamespace("image");
  await readyRuntime(client, bashRuntime(namespace.name));
  const image = { repository: "localhost/no-such-platform", tag: "1", pullPolicy: "Never" };
  await expect(installPlatform({ image }, { timeout: "8s" })).rejects.toThrow(/context deadline exceeded|not ready/);
  const pods = await kubectl(["get", "pods", "-n", platformNamespace]);
  expect(pods).toContain("ErrImageNeverPull");
  // Those that work stay until the others do.
  const run = await client.of(runs).create(bashRun(namespace.name, "meanwhile", "true"));
  expect((await finished(client, run)).status?.phase).toBe("Succeeded");
  await installPlatform();
  const { stdout } = await attempt("kubectl", ["get", "pods", "-n", platformNamespace]);
  expect(stdout).not.toContain("ErrImageNeverPull");
});

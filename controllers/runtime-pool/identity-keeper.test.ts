import { afterEach, expect, test } from "vitest";
import type { Runtime } from "#api/kinds/runtime.ts";
import { runtimes } from "#api/resources.ts";
import { networkPolicies, roleBindings, serviceAccounts } from "#kube/builtin.ts";
import { createClient } from "#kube/client.ts";
import { memoryTransport } from "#kube/memory.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { TinyApi } from "#kube/testing/tiny-api.ts";
import { failure, StatusError } from "#kube/transport.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { contains, createIdentityKeeper } from "./identity-keeper.ts";

const life = new AbortController();
afterEach(() => {
  expect.hasAssertions();
});

async function arrange(before: (client: ReturnType<typeof createClient>) => Promise<unknown> = async () => {}) {
  const clock = new VirtualClock();
  const api = new TinyApi();
  const client = createClient(memoryTransport(api, clock));
  const spec = { template: { spec: { containers: [{ name: "runtime" }] } } };
  const runtime: Runtime = await client.of(runtimes).create({ metadata: { name: "bash", namespace: "n" }, spec });
  await before(client);
  const woken: string[] = [];
  const deps = { client, clock, random: seededRandom(1), logger: silentLogger };
  const keeper = createIdentityKeeper(deps, "kruntimes-agent", (key) => woken.push(key));
  keeper.start(life.signal);
  await clock.elapse(100);
  const ensure = async () => {
    const problem = await keeper.ensure(runtime, life.signal);
    await clock.elapse(100);
    return problem;
  };
  return { api, client, clock, runtime, woken, ensure };
}

const ref = { name: "runtime-bash", namespace: "n" };
const writes = (api: TinyApi) => api.requests.filter(({ method }) => method !== "GET").length;

test("an agent gets an identity of its own, the role for it in its namespace, and no callers", async () => {
  const { client, runtime, ensure } = await arrange();
  expect(await ensure()).toBeUndefined();
  const account = await client.of(serviceAccounts).get(ref);
  expect(account.automountServiceAccountToken).toBe(false);
  expect(account.metadata.ownerReferences).toMatchObject([
    { kind: "Runtime", uid: runtime.metadata.uid, controller: true },
  ]);
  expect(await client.of(roleBindings).get(ref)).toMatchObject({
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "kruntimes-agent" },
    subjects: [{ kind: "ServiceAccount", name: "runtime-bash", namespace: "n" }],
  });
  expect((await client.of(networkPolicies).get(ref)).spec).toEqual({
    podSelector: { matchLabels: { "kruntimes.io/runtime": "bash" } },
    policyTypes: ["Ingress"],
  });
});

test("what is as it should be is not written again", async () => {
  const { api, ensure } = await arrange();
  await ensure();
  const before = writes(api);
  expect(await ensure()).toBeUndefined();
  expect(writes(api)).toBe(before);
});

test("what was changed or deleted wakes the Runtime and is put right", async () => {
  const { client, clock, woken, ensure } = await arrange();
  await ensure();
  woken.length = 0;
  await client.of(roleBindings).delete(ref);
  await client.of(serviceAccounts).patch(ref, { automountServiceAccountToken: true });
  await clock.elapse(1000);
  expect(new Set(woken)).toEqual(new Set(["n/bash"]));
  await ensure();
  expect((await client.of(serviceAccounts).get(ref)).automountServiceAccountToken).toBe(false);
  expect((await client.of(roleBindings).get(ref)).subjects).toHaveLength(1);
});

test("a binding to another role is replaced, because its role cannot be changed", async () => {
  const { client, clock, ensure } = await arrange();
  await ensure();
  const old = await client.of(roleBindings).patch(ref, { roleRef: { name: "cluster-admin" } });
  await clock.elapse(100);
  await ensure();
  const binding = await client.of(roleBindings).get(ref);
  expect(binding.roleRef.name).toBe("kruntimes-agent");
  expect(binding.metadata.uid).not.toBe(old.metadata.uid);
});

test.each([
  ["without a label of ours", {}],
  ["with our label", { "kruntimes.io/runtime": "bash" }],
])("a ServiceAccount of somebody else, %s, is left alone and told", async (_, labels) => {
  const { client, ensure } = await arrange((client) =>
    client.of(serviceAccounts).create({ metadata: { ...ref, labels } }),
  );
  expect(await ensure()).toEqual({
    reason: "NameCollision",
    message: "ServiceAccount runtime-bash does not belong to this Runtime; delete it, or give the Runtime another name",
  });
  expect((await client.of(serviceAccounts).get(ref)).metadata.ownerReferences).toBeUndefined();
  await expect(client.of(roleBindings).get(ref)).rejects.toMatchObject({ code: 404 });
});

test("a missing right is told with the answer of the API server", async () => {
  const { api, ensure } = await arrange();
  api.before = ({ method, path }) => {
    if (method === "POST" && path.includes("rolebindings")) {
      throw new StatusError(failure(403, "Forbidden", "rolebindings is forbidden: may not bind kruntimes-agent"));
    }
  };
  expect(await ensure()).toEqual({
    reason: "ObjectRefused",
    message: "RoleBinding runtime-bash: rolebindings is forbidden: may not bind kruntimes-agent",
  });
});

test("in a namespace that goes away nothing is wrong", async () => {
  const { api, ensure } = await arrange();
  api.before = ({ method }) => {
    if (method !== "POST") return;
    const causes = [{ reason: "NamespaceTerminating", message: "namespace n is being terminated" }];
    throw new StatusError(failure(403, "Forbidden", "forbidden", { causes }));
  };
  expect(await ensure()).toBeUndefined();
});

test("an API server that fails is an error of the pass, not of the pool", async () => {
  const { api, ensure } = await arrange();
  api.before = ({ method }) => {
    if (method === "POST") throw new StatusError(failure(500, "InternalError", "broken"));
  };
  await expect(ensure()).rejects.toThrow("broken");
});

test.each([
  ["defaults of others do not matter", { a: 1, b: 2 }, { a: 1 }, true],
  ["lists are compared as a whole", [{ a: 1 }, { a: 2 }], [{ a: 1 }], false],
  ["items of lists may have more", [{ a: 1, b: 2 }], [{ a: 1 }], true],
  ["a missing member differs", {}, { a: 1 }, false],
  ["no value is not an object", undefined, { a: 1 }, false],
])("%s", (_, live, wanted, same) => {
  expect(contains(live, wanted)).toBe(same);
});

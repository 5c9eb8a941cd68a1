import { expect, test } from "vitest";
import {
  configMaps,
  controllerRevisions,
  events,
  leases,
  networkPolicies,
  type Pod,
  persistentVolumeClaims,
  pods,
  replicaSets,
  roleBindings,
  type Secret,
  secrets,
  serviceAccounts,
  services,
} from "#kube/builtin.ts";
import { refusal, setup } from "../testing/setup.ts";

const at = (name: string) => ({ name, namespace: "default" });
const containers = [{ name: "c", image: "i" }];
const pod = (name = "p", spec: Partial<Pod["spec"]> = {}): Pod => ({
  metadata: at(name),
  spec: { containers, ...spec },
});

test("a kind that is not served is refused with what there is", async () => {
  const { server } = setup();
  const error = await refusal(server.handle({ method: "GET", path: "/apis/apps/v1/namespaces/default/deployments" }));
  expect(error.status).toMatchObject({ code: 404, reason: "NotFound" });
  expect(error.message).toMatch(
    /^the server could not find the requested resource \(deployments of apps\/v1 is not served here; this server has .*pods.*widgets\.example\.com/,
  );
});

const lost: Record<string, { method: "GET" | "POST" | "PUT"; path: string; code: number }> = {
  "a path that is none": { method: "GET", path: "/healthz", code: 404 },
  "an unknown version": { method: "GET", path: "/api/v2/pods", code: 404 },
  "an unknown subresource": { method: "GET", path: "/api/v1/namespaces/default/pods/p/log", code: 404 },
  "a namespaced object without a namespace": { method: "GET", path: "/api/v1/pods/p", code: 404 },
  "a cluster-wide object in a namespace": {
    method: "POST",
    path: "/apis/authorization.k8s.io/v1/namespaces/default/subjectaccessreviews",
    code: 404,
  },
  "a method that does not fit": { method: "PUT", path: "/api/v1/namespaces/default/pods", code: 405 },
  "a verb that a subresource does not have": {
    method: "POST",
    path: "/api/v1/namespaces/default/pods/p/status",
    code: 405,
  },
};

test.each(Object.entries(lost))("%s", async (_, { method, path, code }) => {
  expect((await refusal(setup().server.handle({ method, path, body: {} }))).code).toBe(code);
});

test("a new Pod is Pending with the defaults that others rely on", async () => {
  const created = await setup()
    .client.of(pods)
    .create({ ...pod(), status: { phase: "Running" } });
  expect(created).toMatchObject({
    spec: { restartPolicy: "Always", terminationGracePeriodSeconds: 30, serviceAccountName: "default" },
    status: { phase: "Pending" },
  });
});

test("a Pod needs containers with names and images", async () => {
  const { client } = setup();
  expect((await refusal(client.of(pods).create(pod("p", { containers: [] })))).message).toBe(
    'Pod "p" is invalid: spec.containers: Required value',
  );
  expect((await refusal(client.of(pods).create(pod("p", { containers: [{ name: "c" }] })))).message).toBe(
    'Pod "p" is invalid: spec.containers[0].image: Required value',
  );
});

test("the spec of a Pod stays as it is, but for images", async () => {
  const api = setup().client.of(pods);
  const created = await api.create(pod());
  const changed = await refusal(api.update({ ...created, spec: { ...created.spec, restartPolicy: "Never" } }));
  expect(changed.message).toContain(
    'Pod "p" is invalid: spec: Forbidden: pod updates may not change fields other than',
  );
  const image = await api.update({ ...created, spec: { ...created.spec, containers: [{ name: "c", image: "j" }] } });
  expect(image.spec.containers[0]?.image).toBe("j");
});

test("a Pod is bound to a node once", async () => {
  const { client, server } = setup();
  await client.of(pods).create(pod());
  const bind = (name: string) =>
    server.execute({ method: "POST", path: "/api/v1/namespaces/default/pods/p/binding", body: { target: { name } } });
  expect(await bind("n1")).toMatchObject({ code: 201, body: { status: "Success" } });
  const bound = await client.of(pods).get(at("p"));
  expect(bound.spec.nodeName).toBe("n1");
  expect(bound.status?.conditions).toMatchObject([{ type: "PodScheduled", status: "True" }]);
  expect((await refusal(bind("n2"))).message).toBe(
    'Operation cannot be fulfilled on pods "p": pod p is already assigned to node "n1"',
  );
  const moved = await refusal(client.of(pods).update({ ...bound, spec: { ...bound.spec, nodeName: "n2" } }));
  expect(moved.code).toBe(422);
});

const set = (name = "rs") => ({
  metadata: at(name),
  spec: { selector: { matchLabels: { a: "b" } }, template: { metadata: { labels: { a: "b" } }, spec: { containers } } },
});

test("a ReplicaSet defaults to one replica and its template to a Pod's defaults", async () => {
  const created = await setup().client.of(replicaSets).create(set());
  expect(created).toMatchObject({
    metadata: { generation: 1 },
    spec: { replicas: 1, template: { spec: { restartPolicy: "Always", terminationGracePeriodSeconds: 30 } } },
    status: { replicas: 0 },
  });
});

const badSets: Record<string, { spec: object; message: string }> = {
  "a selector that misses its template": {
    spec: { selector: { matchLabels: { a: "c" } } },
    message: 'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template `labels`',
  },
  "an empty selector": { spec: { selector: {} }, message: "`selector` does not match template `labels`" },
  "an expression that does not hold": {
    spec: { selector: { matchExpressions: [{ key: "a", operator: "NotIn", values: ["b"] }] } },
    message: "`selector` does not match template `labels`",
  },
  "no selector": { spec: { selector: undefined }, message: "spec.selector: Required value" },
  "negative replicas": {
    spec: { replicas: -1 },
    message: "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
  },
  "a template without containers": {
    spec: { template: { metadata: { labels: { a: "b" } }, spec: { containers: [] } } },
    message: "spec.template.spec.containers: Required value",
  },
};

test.each(Object.entries(badSets))("a ReplicaSet with %s is refused", async (_, { spec, message }) => {
  const value = set();
  const error = await refusal(
    setup()
      .client.of(replicaSets)
      .create({ ...value, spec: { ...value.spec, ...spec } }),
  );
  expect(error.message).toContain(message);
});

test("expressions select as they say", async () => {
  const value = set();
  const matchExpressions = [
    { key: "a", operator: "In" as const, values: ["b", "c"] },
    { key: "a", operator: "Exists" as const },
    { key: "z", operator: "DoesNotExist" as const },
    { key: "z", operator: "NotIn" as const, values: ["b"] },
  ];
  await expect(
    setup()
      .client.of(replicaSets)
      .create({ ...value, spec: { ...value.spec, selector: { matchExpressions } } }),
  ).resolves.toBeDefined();
});

test("the selector of a ReplicaSet cannot change", async () => {
  const api = setup().client.of(replicaSets);
  const created = await api.create(set());
  const error = await refusal(
    api.update({
      ...created,
      spec: {
        ...created.spec,
        selector: { matchLabels: { a: "c" } },
        template: { ...created.spec.template, metadata: { labels: { a: "c" } } },
      },
    }),
  );
  expect(error.message).toContain("spec.selector: Invalid value");
  expect(error.message).toContain("field is immutable");
});

test("stringData of a Secret becomes data in base64", async () => {
  const created = await setup()
    .client.of(secrets)
    .create({ metadata: at("s"), stringData: { a: "héllo" }, data: { b: "Yg==" } });
  expect(created).toMatchObject({ type: "Opaque", data: { a: "aMOpbGxv", b: "Yg==" } });
  expect(created).not.toHaveProperty("stringData");
});

test("data is a map of texts under fitting keys", async () => {
  const { client } = setup();
  const wrong = { a: 1 } as unknown as Record<string, string>;
  expect((await refusal(client.of(configMaps).create({ metadata: at("c"), data: wrong }))).message).toContain(
    "data: Invalid value",
  );
  expect((await refusal(client.of(configMaps).create({ metadata: at("c"), data: { "a/b": "x" } }))).message).toContain(
    'data[a/b]: Invalid value: "a/b": a valid config key must consist of',
  );
  expect(
    (await refusal(client.of(configMaps).create({ metadata: at("c"), data: { a: "x" }, binaryData: { a: "eA==" } })))
      .message,
  ).toContain('binaryData[a]: Duplicate value: "a"');
});

const refusedSecrets: Record<string, { object: Partial<Secret>; says: string }> = {
  "a key that would be a directory": {
    object: { data: { "..": "eA==" } },
    says: "data[..]: Invalid value: \"..\": must not be '..'",
  },
  "a key that begins like one": {
    object: { data: { "..data": "eA==" } },
    says: "data[..data]: Invalid value: \"..data\": must not start with '..'",
  },
  "more than a mebibyte": {
    object: { stringData: { a: "x".repeat(700_000), b: "x".repeat(400_000) } },
    says: "data: Too long: may not be more than 1048576 bytes",
  },
  "basic-auth without user and password": {
    object: { type: "kubernetes.io/basic-auth", stringData: { token: "x" } },
    says: "data[username]: Required value",
  },
  "ssh-auth without a key": {
    object: { type: "kubernetes.io/ssh-auth", stringData: { known_hosts: "x" } },
    says: "data[ssh-privatekey]: Required value",
  },
};

test.each(Object.entries(refusedSecrets))("a Secret is refused: %s", async (_, { object, says }) => {
  const creating = setup()
    .client.of(secrets)
    .create({ metadata: at("s"), ...object });
  expect((await refusal(creating)).message).toContain(says);
});

test("what is marked immutable stays as it is", async () => {
  const api = setup().client.of(configMaps);
  const created = await api.create({ metadata: at("c"), data: { a: "1" }, immutable: true });
  expect((await refusal(api.update({ ...created, data: { a: "2" } }))).message).toBe(
    'ConfigMap "c" is invalid: data: Forbidden: field is immutable when `immutable` is set',
  );
  expect((await refusal(api.update({ ...created, immutable: false }))).message).toContain("immutable: Forbidden");
  await expect(
    api.update({ ...created, metadata: { ...created.metadata, labels: { a: "b" } } }),
  ).resolves.toBeDefined();
});

test("a lease has a positive duration", async () => {
  const { client } = setup();
  const error = await refusal(client.of(leases).create({ metadata: at("l"), spec: { leaseDurationSeconds: 0 } }));
  expect(error.message).toBe(
    'Lease.coordination.k8s.io "l" is invalid: spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0',
  );
});

test("a claim is Pending and asks for modes and storage", async () => {
  const api = setup().client.of(persistentVolumeClaims);
  const spec = { accessModes: ["ReadWriteMany"], resources: { requests: { storage: "1Gi" } } };
  expect((await api.create({ metadata: at("c"), spec })).status).toEqual({ phase: "Pending" });
  expect((await refusal(api.create({ metadata: at("d"), spec: {} }))).message).toContain(
    "spec.accessModes: Required value",
  );
});

test("a revision keeps its data", async () => {
  const api = setup().client.of(controllerRevisions);
  const created = await api.create({ metadata: at("r"), data: { a: 1 }, revision: 1 });
  expect((await refusal(api.update({ ...created, data: { a: 2 } }))).message).toContain("field is immutable");
  expect((await refusal(api.create({ metadata: at("s"), revision: 1 }))).message).toContain("data: Required value");
});

test("a role binding keeps its role and may be named like a user", async () => {
  const api = setup().client.of(roleBindings);
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role" as const, name: "r" };
  const created = await api.create({ metadata: at("system:User"), roleRef });
  expect((await refusal(api.update({ ...created, roleRef: { ...roleRef, name: "s" } }))).message).toContain(
    "cannot change roleRef",
  );
  expect((await refusal(api.create({ metadata: at("a/b"), roleRef }))).code).toBe(422);
});

test("kinds that are only stored keep what they are given", async () => {
  const { client } = setup();
  const policy = { podSelector: {}, policyTypes: ["Ingress" as const] };
  expect((await client.of(networkPolicies).create({ metadata: at("n"), spec: policy })).spec).toEqual(policy);
  expect((await client.of(serviceAccounts).create({ metadata: at("s") })).metadata.name).toBe("s");
  const service = await client
    .of(services)
    .create({ metadata: at("s"), spec: { clusterIP: "None", ports: [{ port: 80 }] } });
  expect(service.spec).toMatchObject({ type: "ClusterIP", clusterIP: "None", ports: [{ port: 80 }] });
  expect((await refusal(client.of(services).create({ metadata: at("1s"), spec: {} }))).message).toContain(
    "a DNS-1035 label must",
  );
});

const event = {
  metadata: at("e"),
  eventTime: "2026-01-01T00:00:00.000000Z",
  reportingController: "kruntimes.io/scheduler",
  reportingInstance: "scheduler-0",
  action: "Assign",
  reason: "Assigned",
  regarding: { kind: "Widget", namespace: "default", name: "w", uid: "1" },
  note: "assigned to p",
  type: "Normal" as const,
};

test("an event is one object under two names", async () => {
  const { client, server } = setup();
  const created = await client.of(events).create(event);
  expect(created).toMatchObject({ apiVersion: "events.k8s.io/v1", note: "assigned to p", regarding: { name: "w" } });
  const core = await server.handle({ method: "GET", path: "/api/v1/namespaces/default/events/e" });
  expect(core).toMatchObject({
    apiVersion: "v1",
    kind: "Event",
    involvedObject: { name: "w" },
    message: "assigned to p",
    reportingComponent: "kruntimes.io/scheduler",
    metadata: { uid: created.metadata.uid, resourceVersion: created.metadata.resourceVersion },
  });
  expect(core).not.toHaveProperty("note");
});

test("an event written under the old name is read under the new one", async () => {
  const { client, server } = setup();
  await server.handle({
    method: "POST",
    path: "/api/v1/namespaces/default/events",
    body: {
      metadata: { name: "old" },
      involvedObject: { kind: "Pod", namespace: "default", name: "p" },
      message: "m",
      count: 3,
      source: { component: "kubelet" },
    },
  });
  expect(await client.of(events).get(at("old"))).toMatchObject({
    regarding: { name: "p" },
    note: "m",
    deprecatedCount: 3,
    deprecatedSource: { component: "kubelet" },
  });
});

test("events are selected under either name, and watched in the version asked for", async () => {
  const { client, server } = setup();
  await client.of(events).create(event);
  const list = (await server.handle({
    method: "GET",
    path: "/api/v1/namespaces/default/events",
    query: { fieldSelector: "involvedObject.uid=1" },
  })) as { items: unknown[] };
  expect(list.items).toHaveLength(1);
  const watch = await client.of(events).watch({ namespace: "default", fieldSelector: "regarding.uid=1" });
  for await (const { object } of watch) {
    expect(object).toMatchObject({ apiVersion: "events.k8s.io/v1", note: "assigned to p" });
    break;
  }
});

test.each([
  [{ eventTime: undefined }, "eventTime: Required value"],
  [{ action: "" }, "action: Required value"],
  [{ reportingInstance: undefined }, "reportingInstance: Required value"],
  [{ type: "Odd" as "Normal" }, "type: Invalid value"],
  [{ note: "x".repeat(1025) }, "can have at most 1024 characters"],
  [
    { regarding: { namespace: "other", name: "w" } },
    'regarding.namespace: Invalid value: "other": does not match event.namespace',
  ],
])("an event with %j is refused", async (change, message) => {
  const value = { ...event, ...change } as typeof event;
  expect((await refusal(setup().client.of(events).create(value))).message).toContain(message);
});

test("access reviews allow everything and store nothing", async () => {
  const { server } = setup();
  const answer = await server.execute({
    method: "POST",
    path: "/apis/authorization.k8s.io/v1/subjectaccessreviews",
    body: { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec: { user: "u" } },
  });
  expect(answer).toMatchObject({ code: 201, body: { spec: { user: "u" }, status: { allowed: true } } });
  const error = await refusal(
    server.handle({ method: "GET", path: "/apis/authorization.k8s.io/v1/subjectaccessreviews" }),
  );
  expect(error.code).toBe(405);
});

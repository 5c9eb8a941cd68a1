import { expect, test } from "vitest";
import { type Pod, pods } from "#kube/builtin.ts";
import { refusal, type Setup, setup, take, type Widget, widget, widgets } from "../testing/setup.ts";

const ref = { name: "a", namespace: "default" };
const path = "/apis/example.com/v1/namespaces/default/widgets/a";
const podPath = "/api/v1/namespaces/default/pods/p";

async function one(metadata: Partial<Widget["metadata"]> = {}) {
  const made = setup();
  const api = made.client.of(widgets);
  return { ...made, api, object: await api.create(widget("a", {}, metadata)) };
}

test("deleting answers with a Status that names what went", async () => {
  const { server, object } = await one();
  expect(await server.handle({ method: "DELETE", path })).toEqual({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: { name: "a", group: "example.com", kind: "widgets", uid: object.metadata.uid },
  });
});

test("what does not exist cannot be deleted", async () => {
  const { api } = await one();
  await api.delete(ref);
  expect((await refusal(api.delete(ref))).code).toBe(404);
});

test("a finalizer keeps the object until it is removed", async () => {
  const { api, clock, server } = await one({ finalizers: ["example.com/x", "example.com/y"] });
  clock.advance(10_000);
  const answer = (await server.handle({ method: "DELETE", path })) as Widget;
  expect(answer).toMatchObject({
    kind: "Widget",
    metadata: { deletionTimestamp: "2026-01-01T00:00:10Z", deletionGracePeriodSeconds: 0, generation: 2 },
  });
  await api.patch(ref, { metadata: { finalizers: ["example.com/y"] } });
  expect((await api.get(ref)).metadata.deletionTimestamp).toBe("2026-01-01T00:00:10Z");
  await api.patch(ref, { metadata: { finalizers: null } });
  expect((await refusal(api.get(ref))).code).toBe(404);
});

test("deleting again changes nothing", async () => {
  const { api, clock } = await one({ finalizers: ["example.com/x"] });
  await api.delete(ref);
  const first = await api.get(ref);
  clock.advance(60_000);
  await api.delete(ref);
  expect(await api.get(ref)).toEqual(first);
});

test("a leaving object takes no new finalizers", async () => {
  const { api } = await one({ finalizers: ["example.com/x"] });
  await api.delete(ref);
  const error = await refusal(api.patch(ref, { metadata: { finalizers: ["example.com/x", "example.com/z"] } }));
  expect(error.message).toBe(
    'Widget.example.com "a" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.com/z"}',
  );
});

test("the last finalizer can go in a PUT that changes other things too", async () => {
  const { api } = await one({ finalizers: ["example.com/x"] });
  await api.delete(ref);
  const leaving = await api.get(ref);
  const gone = await api.update({ ...leaving, metadata: { ...leaving.metadata, finalizers: [] }, spec: { size: 3 } });
  expect(gone.spec).toEqual({ size: 3 });
  expect((await refusal(api.get(ref))).code).toBe(404);
});

test("preconditions protect against deleting another object or another version", async () => {
  const { api, object } = await one();
  const { uid = "", resourceVersion = "" } = object.metadata;
  const wrongUid = await refusal(api.delete(ref, { preconditions: { uid: "other" } }));
  expect(wrongUid.status).toMatchObject({
    code: 409,
    reason: "Conflict",
    message: `Operation cannot be fulfilled on Widget.example.com "a": the UID in the precondition (other) does not match the UID in record (${uid}). The object might have been deleted and then recreated`,
  });
  const wrongVersion = await refusal(api.delete(ref, { preconditions: { uid, resourceVersion: "1" } }));
  expect(wrongVersion.message).toContain(
    `the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (${resourceVersion}). The object might have been modified`,
  );
  await api.delete(ref, { preconditions: { uid, resourceVersion } });
  expect((await refusal(api.get(ref))).code).toBe(404);
});

test("a deletion carries a version of its own", async () => {
  const { api, object } = await one();
  const events = await api.watch({ namespace: "default", resourceVersion: object.metadata.resourceVersion });
  await api.delete(ref);
  const [event] = await take(events, 1);
  expect(event?.type).toBe("DELETED");
  expect(Number(event?.object.metadata.resourceVersion)).toBeGreaterThan(Number(object.metadata.resourceVersion));
});

const pod = (spec: Partial<Pod["spec"]> = {}): Pod => ({
  metadata: { name: "p", namespace: "default" },
  spec: { containers: [{ name: "c", image: "i" }], ...spec },
});

async function onNode({ client, server }: Setup, spec: Partial<Pod["spec"]> = {}): Promise<void> {
  await client.of(pods).create(pod(spec));
  await server.handle({ method: "POST", path: `${podPath}/binding`, body: { target: { name: "n" } } });
}

test("a Pod without a node goes at once", async () => {
  const { client } = setup();
  await client.of(pods).create(pod());
  await client.of(pods).delete({ name: "p", namespace: "default" });
  expect((await client.of(pods).list({ namespace: "default" })).items).toEqual([]);
});

test("a Pod on a node gets its grace period and stays until it is deleted with none", async () => {
  const made = setup();
  const api = made.client.of(pods);
  await onNode(made, { terminationGracePeriodSeconds: 45 });
  await api.delete({ name: "p", namespace: "default" });
  const leaving = await api.get({ name: "p", namespace: "default" });
  expect(leaving.metadata).toMatchObject({ deletionTimestamp: "2026-01-01T00:00:45Z", deletionGracePeriodSeconds: 45 });
  const answer = await made.server.handle({ method: "DELETE", path: podPath, body: { gracePeriodSeconds: 0 } });
  expect(answer).toMatchObject({ kind: "Pod", metadata: { name: "p" } });
  expect((await refusal(api.get({ name: "p", namespace: "default" }))).code).toBe(404);
});

test("the grace period of a Pod defaults to 30 s, may be given, and may only be shortened later", async () => {
  const made = setup();
  const api = made.client.of(pods);
  const at = { name: "p", namespace: "default" };
  await onNode(made);
  await api.delete(at);
  expect((await api.get(at)).metadata.deletionTimestamp).toBe("2026-01-01T00:00:30Z");
  made.clock.advance(2000);
  await api.delete(at, { gracePeriodSeconds: 60 });
  await api.delete(at);
  expect((await api.get(at)).metadata.deletionTimestamp).toBe("2026-01-01T00:00:30Z");
  await api.delete(at, { gracePeriodSeconds: 10 });
  expect((await api.get(at)).metadata).toMatchObject({
    deletionTimestamp: "2026-01-01T00:00:10Z",
    deletionGracePeriodSeconds: 10,
  });
});

test("a period that is shortened into the past ends now, after one last second", async () => {
  const made = setup();
  const api = made.client.of(pods);
  const at = { name: "p", namespace: "default" };
  await onNode(made);
  await api.delete(at);
  made.clock.advance(20_000);
  await api.delete(at, { gracePeriodSeconds: 10 });
  expect((await api.get(at)).metadata).toMatchObject({
    deletionTimestamp: "2026-01-01T00:00:20Z",
    deletionGracePeriodSeconds: 1,
  });
});

test("a negative period counts as one second", async () => {
  const made = setup();
  const at = { name: "p", namespace: "default" };
  await onNode(made);
  await made.client.of(pods).delete(at, { gracePeriodSeconds: -5 });
  expect((await made.client.of(pods).get(at)).metadata.deletionGracePeriodSeconds).toBe(1);
});

test.each(["Succeeded", "Failed"] as const)("a %s Pod gets no grace", async (phase) => {
  const made = setup();
  const api = made.client.of(pods);
  await onNode(made);
  await api.patch({ name: "p", namespace: "default" }, { status: { phase } }, { subresource: "status" });
  await api.delete({ name: "p", namespace: "default" });
  expect((await refusal(api.get({ name: "p", namespace: "default" }))).code).toBe(404);
});

test("a Pod with a finalizer outlives even a deletion without grace", async () => {
  const made = setup();
  const api = made.client.of(pods);
  const at = { name: "p", namespace: "default" };
  await onNode(made);
  await api.patch(at, { metadata: { finalizers: ["example.com/x"] } });
  await api.delete(at, { gracePeriodSeconds: 0 });
  expect((await api.get(at)).metadata.deletionGracePeriodSeconds).toBe(0);
  await api.patch(at, { metadata: { finalizers: null } });
  expect((await refusal(api.get(at))).code).toBe(404);
});

test("a finalizer that goes before the grace is over does not end the Pod", async () => {
  const made = setup();
  const api = made.client.of(pods);
  const at = { name: "p", namespace: "default" };
  await onNode(made);
  await api.patch(at, { metadata: { finalizers: ["example.com/x"] } });
  await api.delete(at);
  await api.patch(at, { metadata: { finalizers: null } });
  expect((await api.get(at)).metadata.deletionGracePeriodSeconds).toBe(30);
});

test("a collection is deleted by selector, each object by its own rules", async () => {
  const { client, server } = setup();
  const api = client.of(widgets);
  await api.create(widget("a", { color: "red" }));
  await api.create(widget("b", { color: "red" }, { finalizers: ["example.com/x"] }));
  await api.create(widget("c", { color: "blue" }));
  const answer = await server.handle({
    method: "DELETE",
    path: "/apis/example.com/v1/namespaces/default/widgets",
    query: { fieldSelector: "spec.color=red" },
  });
  expect(answer).toMatchObject({
    kind: "WidgetList",
    items: [{ metadata: { name: "a" } }, { metadata: { name: "b" } }],
  });
  const left = (await api.list({ namespace: "default" })).items;
  expect(left.map(({ metadata }) => [metadata.name, metadata.deletionTimestamp !== undefined])).toEqual([
    ["b", true],
    ["c", false],
  ]);
});

test.each([
  [{ gracePeriodSeconds: "x" }, 400, "gracePeriodSeconds"],
  [
    { propagationPolicy: "Sideways" },
    422,
    'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Sideways": supported values: "Foreground", "Background", "Orphan", "nil"',
  ],
  ["x", 400, "DeleteOptions"],
])("options that make no sense are refused: %j", async (body, code, message) => {
  const { server } = await one();
  const error = await refusal(server.handle({ method: "DELETE", path, body }));
  expect(error.code).toBe(code);
  expect(error.message).toContain(message);
});

test("options may come in the query", async () => {
  const made = setup();
  await onNode(made);
  await made.server.handle({ method: "DELETE", path: podPath, query: { gracePeriodSeconds: "0" } });
  expect((await made.client.of(pods).list({ namespace: "default" })).items).toEqual([]);
});

test("a dry run deletes nothing", async () => {
  const { server, api, object } = await one();
  await server.handle({ method: "DELETE", path, query: { dryRun: "All" } });
  await server.handle({ method: "DELETE", path, body: { dryRun: ["All"] } }); // as kubectl sends it
  expect(await api.get(ref)).toEqual(object);
});

test("the old option for dependents is understood, and says when the object is still there", async () => {
  const { server, api } = await one();
  await api.patch(ref, { metadata: { finalizers: ["example.com/held"] } });
  const remove = (body: object) => server.execute({ method: "DELETE", path, body });
  expect((await remove({ orphanDependents: false })).code).toBe(202);
  expect((await remove({ propagationPolicy: "Background" })).code).toBe(200);
  expect((await remove({ orphanDependents: true })).body).toMatchObject({
    metadata: { finalizers: ["example.com/held", "orphan"] },
  });
});

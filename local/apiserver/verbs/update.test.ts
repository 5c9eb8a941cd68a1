import { expect, test } from "vitest";
import { configMaps, leases, pods } from "#kube/builtin.ts";
import { refusal, setup, type Widget, widget, widgets } from "../testing/setup.ts";

const ref = { name: "a", namespace: "default" };
const path = "/apis/example.com/v1/namespaces/default/widgets/a";

async function one(spec: Widget["spec"] = { size: 1 }) {
  const made = setup();
  const api = made.client.of(widgets);
  return { ...made, api, object: await api.create(widget("a", spec)) };
}

test("an object that changed meanwhile is not overwritten", async () => {
  const { api, object } = await one();
  await api.update({ ...object, spec: { size: 2 } });
  const error = await refusal(api.update({ ...object, spec: { size: 3 } }));
  expect(error.status).toMatchObject({
    code: 409,
    reason: "Conflict",
    message:
      'Operation cannot be fulfilled on widgets.example.com "a": the object has been modified; please apply your changes to the latest version and try again',
    details: { name: "a", group: "example.com", kind: "widgets" },
  });
});

test("of many writers from one version exactly one wins", async () => {
  const { api, object } = await one();
  const results = await Promise.allSettled(
    Array.from({ length: 20 }, (_, size) => api.update({ ...object, spec: { size } })),
  );
  expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
});

test("a custom object is not overwritten without a version", async () => {
  const { api, object } = await one();
  const { resourceVersion: _, ...metadata } = object.metadata;
  const error = await refusal(api.update({ ...object, metadata }));
  expect(error.status).toMatchObject({
    code: 422,
    message:
      'widgets.example.com "a" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
    details: { kind: "widgets", causes: [{ reason: "FieldValueInvalid", field: "metadata.resourceVersion" }] },
  });
});

test("some built-in kinds may be overwritten without a version, leases may not", async () => {
  const { client } = setup();
  const map = await client.of(configMaps).create({ metadata: { name: "c", namespace: "default" }, data: { a: "1" } });
  const overwritten = await client
    .of(configMaps)
    .update({ metadata: { name: "c", namespace: "default" }, data: { a: "2" } });
  expect(overwritten).toMatchObject({ data: { a: "2" }, metadata: { uid: map.metadata.uid } });
  await client.of(leases).create({ metadata: { name: "l", namespace: "default" } });
  expect((await refusal(client.of(leases).update({ metadata: { name: "l", namespace: "default" } }))).code).toBe(422);
});

test("a write that changes nothing keeps the version and is seen by no watch", async () => {
  const { api, object, client } = await one();
  const events = await api.watch({ namespace: "default", resourceVersion: object.metadata.resourceVersion });
  const same = await api.update({ ...object, spec: { ...object.spec } });
  const patched = await api.patch(ref, { spec: { size: 1 } });
  expect(same.metadata.resourceVersion).toBe(object.metadata.resourceVersion);
  expect(patched.metadata.resourceVersion).toBe(object.metadata.resourceVersion);
  await client.of(widgets).create(widget("b"));
  for await (const event of events) {
    expect(event).toMatchObject({ type: "ADDED", object: { metadata: { name: "b" } } });
    break;
  }
});

test("only changes beside metadata and status count generations", async () => {
  const { api, object } = await one();
  const labelled = await api.update({ ...object, metadata: { ...object.metadata, labels: { a: "b" } } });
  expect(labelled.metadata.generation).toBe(1);
  const status = await api.update({ ...labelled, status: { phase: "Ready" } }, "status");
  expect(status.metadata.generation).toBe(1);
  const spec = await api.update({ ...status, spec: { size: 5 } });
  expect(spec.metadata.generation).toBe(2);
  const forged = await api.update({ ...spec, metadata: { ...spec.metadata, generation: 99 } });
  expect(forged.metadata.generation).toBe(2);
});

test("the status endpoint of a custom object changes nothing but the status", async () => {
  const { api, object } = await one();
  const written = await api.update(
    {
      ...object,
      metadata: { ...object.metadata, labels: { x: "y" }, finalizers: ["a/b"] },
      spec: { size: 9 },
      status: { phase: "Ready" },
    },
    "status",
  );
  expect(written.spec).toEqual({ size: 1 });
  expect(written.metadata.labels).toBeUndefined();
  expect(written.metadata.finalizers).toBeUndefined();
  expect(written.status).toEqual({ phase: "Ready" });
});

test("the status endpoint of a built-in kind takes labels too, but no spec and no owners", async () => {
  const { client } = setup();
  const api = client.of(pods);
  const pod = await api.create({
    metadata: { name: "p", namespace: "default" },
    spec: { containers: [{ name: "c", image: "i" }] },
  });
  const written = await api.update(
    {
      ...pod,
      metadata: {
        ...pod.metadata,
        labels: { x: "y" },
        ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "q", uid: "1" }],
      },
      spec: { ...pod.spec, containers: [] },
      status: { phase: "Running" },
    },
    "status",
  );
  expect(written).toMatchObject({
    metadata: { labels: { x: "y" } },
    spec: { containers: [{ name: "c" }] },
    status: { phase: "Running" },
  });
  expect(written.metadata.ownerReferences).toBeUndefined();
});

const immutable: Record<string, { metadata: object; message: string }> = {
  deletionTimestamp: {
    metadata: { deletionTimestamp: "2001-01-01T00:00:00Z" },
    message: 'metadata.deletionTimestamp: Invalid value: "2001-01-01T00:00:00Z": field is immutable',
  },
  deletionGracePeriodSeconds: {
    metadata: { deletionGracePeriodSeconds: 3 },
    message: "metadata.deletionGracePeriodSeconds: Invalid value: 3: field is immutable",
  },
};

test.each(Object.entries(immutable))("metadata.%s cannot be changed", async (_, { metadata, message }) => {
  const { api, object } = await one();
  const error = await refusal(api.update({ ...object, metadata: { ...object.metadata, ...metadata } }));
  expect(error.message).toBe(`Widget.example.com "a" is invalid: ${message}`);
});

test("a changed creationTimestamp, and on a leaving object a changed deletionTimestamp, is ignored", async () => {
  const { api, object } = await one();
  const time = "2001-01-01T00:00:00Z";
  const updated = await api.update({
    ...object,
    metadata: { ...object.metadata, creationTimestamp: time, finalizers: ["a/b"] },
  });
  expect(updated.metadata.creationTimestamp).toBe(object.metadata.creationTimestamp);
  await api.delete(ref);
  const leaving = await api.get(ref);
  const kept = await api.update({ ...leaving, metadata: { ...leaving.metadata, deletionTimestamp: time } });
  expect(kept).toEqual(leaving);
});

test("another uid is another object: a conflict in a PUT, immutable in a patch", async () => {
  const { api, object } = await one();
  const put = await refusal(api.update({ ...object, metadata: { ...object.metadata, uid: "other" } }));
  expect(put.status).toMatchObject({ code: 409, reason: "Conflict" });
  expect(put.message).toContain(
    `Precondition failed: UID in precondition: other, UID in object meta: ${object.metadata.uid}`,
  );
  const patch = await refusal(api.patch(ref, { metadata: { uid: "other" } }));
  expect(patch.message).toBe(
    'Widget.example.com "a" is invalid: metadata.uid: Invalid value: "other": field is immutable',
  );
});

test("what the server knows may be left out", async () => {
  const { api, object } = await one();
  const { resourceVersion } = object.metadata;
  const updated = await api.update({
    metadata: { ...ref, ...(resourceVersion === undefined ? {} : { resourceVersion }) },
    spec: { size: 2 },
  });
  expect(updated.metadata).toMatchObject({
    uid: object.metadata.uid,
    creationTimestamp: object.metadata.creationTimestamp,
  });
});

test("name and namespace must be those of the path", async () => {
  const { server } = await one();
  const put = (metadata: object) =>
    server.handle({ method: "PUT", path, body: { apiVersion: "example.com/v1", kind: "Widget", metadata } });
  expect((await refusal(put({ name: "b" }))).message).toBe(
    "the name of the object (b) does not match the name on the URL (a)",
  );
  expect((await refusal(put({}))).message).toContain("name must be provided");
  expect((await refusal(put({ name: "a", namespace: "x" }))).message).toBe(
    "the namespace of the object (x) does not match the namespace on the request (default)",
  );
});

test("what does not exist cannot be updated", async () => {
  const { api, object } = await one();
  await api.delete(ref);
  expect((await refusal(api.update(object))).message).toBe('widgets.example.com "a" not found');
  expect((await refusal(api.patch(ref, {}))).code).toBe(404);
});

test("unchanged parts are stored once", async () => {
  const { server, api, object } = await one({ list: [{ a: 1 }, { a: 2 }] });
  const items = async (): Promise<unknown[]> => {
    const { spec = {} } = (await server.handle({ method: "GET", path })) as Widget;
    return spec.list as unknown[];
  };
  const before = await items();
  const metadata = { ...object.metadata, labels: { x: "y" } };
  await api.update({ ...object, metadata, spec: { list: [{ a: 1 }, { a: 3 }] } });
  const after = await items();
  expect(after[0]).toBe(before[0]);
  expect(after[1]).toEqual({ a: 3 });
});

import { expect, test } from "vitest";
import { configMaps, namespaces } from "#kube/builtin.ts";
import { refusal, setup, widget, widgets } from "./testing/setup.ts";

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("the namespaces of every cluster are there from the start", async () => {
  const list = await setup().client.of(namespaces).list();
  expect(list.items.map(({ metadata, status }) => `${metadata.name} ${status?.phase}`)).toEqual([
    "default Active",
    "kube-public Active",
    "kube-system Active",
  ]);
});

test("a new namespace is active and carries its name as a label", async () => {
  const { client } = setup();
  const made = await client.of(namespaces).create({ metadata: { name: "space", labels: { a: "b" } } });
  expect(made).toMatchObject({
    metadata: { labels: { a: "b", "kubernetes.io/metadata.name": "space" } },
    spec: { finalizers: ["kubernetes"] },
    status: { phase: "Active" },
  });
  const drawn = await client.of(namespaces).create({ metadata: { name: "", generateName: "g-" } });
  expect(drawn.metadata.labels?.["kubernetes.io/metadata.name"]).toBe(drawn.metadata.name);
});

test("an empty namespace goes soon after it was deleted", async () => {
  const { client } = setup();
  await client.of(namespaces).create({ metadata: { name: "space" } });
  await client.of(namespaces).delete({ name: "space" });
  await settled();
  expect((await refusal(client.of(namespaces).get({ name: "space" }))).code).toBe(404);
});

test("a namespace takes its content with it and waits for finalizers", async () => {
  const { client, server } = setup();
  const at = { namespace: "space" };
  await client.of(namespaces).create({ metadata: { name: "space" } });
  await client.of(configMaps).create({ metadata: { name: "c", ...at } });
  await client.of(widgets).create(widget("w", {}, { ...at, finalizers: ["example.com/x"] }));
  await client.of(widgets).create(widget("elsewhere"));
  const answer = await server.handle({ method: "DELETE", path: "/api/v1/namespaces/space" });
  expect(answer).toMatchObject({ kind: "Namespace", status: { phase: "Terminating" } });
  await settled();
  expect((await client.of(configMaps).list(at)).items).toEqual([]);
  expect((await client.of(namespaces).get({ name: "space" })).status?.phase).toBe("Terminating");

  await client.of(widgets).patch({ name: "w", ...at }, { metadata: { finalizers: null } });
  await settled();
  expect((await refusal(client.of(namespaces).get({ name: "space" }))).code).toBe(404);
  expect((await client.of(widgets).list({ namespace: "default" })).items).toHaveLength(1);
});

test("nothing new may come into a namespace that goes", async () => {
  const { client } = setup();
  await client.of(namespaces).create({ metadata: { name: "space" } });
  await client.of(widgets).create(widget("w", {}, { namespace: "space", finalizers: ["example.com/x"] }));
  await client.of(namespaces).delete({ name: "space" });
  const error = await refusal(client.of(widgets).create(widget("late", {}, { namespace: "space" })));
  expect(error.status).toMatchObject({
    code: 403,
    reason: "Forbidden",
    message:
      'widgets.example.com "late" is forbidden: unable to create new content in namespace space because it is being terminated',
    details: {
      name: "late",
      group: "example.com",
      kind: "widgets",
      causes: [
        { reason: "NamespaceTerminating", message: "namespace space is being terminated", field: "metadata.namespace" },
      ],
    },
  });
});

test.each(["default", "kube-system", "kube-public"])("%s cannot be deleted", async (name) => {
  const error = await refusal(setup().client.of(namespaces).delete({ name }));
  expect(error.message).toBe(`namespaces "${name}" is forbidden: this namespace may not be deleted`);
});

test("finalizers of the spec change at their own endpoint only", async () => {
  const { client, server } = setup();
  const space = await client.of(namespaces).create({ metadata: { name: "space" } });
  const kept = await client.of(namespaces).update({ ...space, spec: { finalizers: [] } });
  expect(kept.spec).toEqual({ finalizers: ["kubernetes"] });
  await client.of(widgets).create(widget("w", {}, { namespace: "space", finalizers: ["example.com/x"] }));
  await client.of(namespaces).delete({ name: "space" });
  const leaving = await client.of(namespaces).get({ name: "space" });
  await server.handle({
    method: "PUT",
    path: "/api/v1/namespaces/space/finalize",
    body: { ...leaving, spec: { finalizers: [] } },
  });
  expect((await refusal(client.of(namespaces).get({ name: "space" }))).code).toBe(404);
});

test("a namespace is named by a DNS label", async () => {
  const error = await refusal(
    setup()
      .client.of(namespaces)
      .create({ metadata: { name: "a.b" } }),
  );
  expect(error.message).toContain("a lowercase RFC 1123 label must consist of");
});

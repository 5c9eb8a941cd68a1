import { expect, test } from "vitest";
import { replicaSets } from "#kube/builtin.ts";
import type { CustomResourceDefinition } from "../crd/types.ts";
import { refusal, setup, widgetCrd, widgets } from "../testing/setup.ts";

const path = "/apis/apps/v1/namespaces/default/replicasets/rs/scale";

async function withSet() {
  const made = setup();
  const set = await made.client.of(replicaSets).create({
    metadata: { name: "rs", namespace: "default" },
    spec: {
      replicas: 2,
      selector: { matchLabels: { a: "b" } },
      template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } },
    },
  });
  return { ...made, set };
}

test("the scale of a ReplicaSet is read in the common form", async () => {
  const { server, set } = await withSet();
  expect(await server.handle({ method: "GET", path })).toEqual({
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: {
      name: "rs",
      namespace: "default",
      uid: set.metadata.uid,
      resourceVersion: set.metadata.resourceVersion,
      creationTimestamp: set.metadata.creationTimestamp,
    },
    spec: { replicas: 2 },
    status: { replicas: 0, selector: "a=b" },
  });
});

test("a PUT of the scale changes replicas, and with them the generation", async () => {
  const { server, client } = await withSet();
  const scale = (await server.handle({ method: "GET", path })) as object;
  await server.handle({ method: "PUT", path, body: { ...scale, spec: { replicas: 5 } } });
  const set = await client.of(replicaSets).get({ name: "rs", namespace: "default" });
  expect(set).toMatchObject({
    spec: { replicas: 5, selector: { matchLabels: { a: "b" } } },
    metadata: { generation: 2 },
  });
  expect((await refusal(server.handle({ method: "PUT", path, body: { ...scale, spec: { replicas: 6 } } }))).code).toBe(
    409,
  );
});

test("a patch of the scale needs no version", async () => {
  const { server } = await withSet();
  const answer = await server.handle({
    method: "PATCH",
    path,
    contentType: "application/merge-patch+json",
    body: { spec: { replicas: 0 } },
  });
  expect(answer).toMatchObject({ spec: { replicas: 0 } });
});

test("replicas are whole and not negative", async () => {
  const { server } = await withSet();
  const error = await refusal(server.handle({ method: "PUT", path, body: { spec: { replicas: -1 } } }));
  expect(error.message).toBe(
    'Scale.autoscaling "rs" is invalid: spec.replicas: Invalid value: -1: should be a non-negative integer',
  );
});

test("a custom kind scales through the paths of its CRD, under its schema", async () => {
  const crd = widgetCrd({
    type: "object",
    properties: {
      spec: { type: "object", properties: { count: { type: "integer", maximum: 9 } } },
      status: { type: "object", properties: { count: { type: "integer" }, selector: { type: "string" } } },
    },
  });
  const [version] = crd.spec.versions;
  if (version === undefined) throw new Error("no version");
  const scale = {
    specReplicasPath: ".spec.count",
    statusReplicasPath: ".status.count",
    labelSelectorPath: ".status.selector",
  };
  const scaled: CustomResourceDefinition = {
    ...crd,
    spec: { ...crd.spec, versions: [{ ...version, subresources: { status: {}, scale } }] },
  };
  const { client, server } = setup({ crds: [scaled] });
  const at = "/apis/example.com/v1/namespaces/default/widgets/a/scale";
  const api = client.of(widgets);
  const made = await api.create({ metadata: { name: "a", namespace: "default" }, spec: { count: 1 } });
  await api.update({ ...made, status: { count: 1, selector: "x=y" } }, "status");
  const patch = (replicas: number) =>
    server.handle({
      method: "PATCH",
      path: at,
      contentType: "application/merge-patch+json",
      body: { spec: { replicas } },
    });
  expect(await patch(3)).toMatchObject({ spec: { replicas: 3 }, status: { replicas: 1, selector: "x=y" } });
  expect((await api.get({ name: "a", namespace: "default" })).spec).toEqual({ count: 3 });
  expect((await refusal(patch(10))).message).toContain("spec.count in body should be less than or equal to 9");
});

test("a kind without the subresource has no scale", async () => {
  const { server, client } = setup();
  await client.of(widgets).create({ metadata: { name: "a", namespace: "default" } });
  const error = await refusal(
    server.handle({ method: "GET", path: "/apis/example.com/v1/namespaces/default/widgets/a/scale" }),
  );
  expect(error.code).toBe(404);
});

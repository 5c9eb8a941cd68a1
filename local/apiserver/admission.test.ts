import { expect, test } from "vitest";
import type { AdmissionRequest, AdmissionRule } from "./admission.ts";
import { refusal, setup, widget, widgets } from "./testing/setup.ts";

const ref = { name: "a", namespace: "default" };

function watched(rule: AdmissionRule = () => undefined) {
  const requests: AdmissionRequest[] = [];
  const made = setup({
    admission: [
      (request) => {
        requests.push(request);
        return rule(request);
      },
    ],
  });
  return { ...made, requests, api: made.client.of(widgets) };
}

test("rules see every write with what was and what would be", async () => {
  const { api, requests } = watched();
  const created = await api.create(widget("a", { size: 1 }));
  await api.patch(ref, { spec: { size: 2 } });
  await api.patch(ref, { status: { phase: "Ready" } }, { subresource: "status" });
  await api.delete(ref);
  await api.list({ namespace: "default" });
  expect(
    requests.map(({ operation, subresource, name, namespace, resource, object, oldObject }) => [
      operation,
      subresource,
      `${resource} ${namespace}/${name}`,
      object?.spec,
      oldObject?.spec,
    ]),
  ).toEqual([
    ["CREATE", undefined, "widgets.example.com default/a", { size: 1 }, undefined],
    ["UPDATE", undefined, "widgets.example.com default/a", { size: 2 }, { size: 1 }],
    ["UPDATE", "status", "widgets.example.com default/a", { size: 2 }, { size: 2 }],
    ["DELETE", undefined, "widgets.example.com default/a", undefined, { size: 2 }],
  ]);
  expect(requests[0]?.object?.metadata.uid).toBe(created.metadata.uid);
});

test("a bad object is answered 422 with every field, word for word", async () => {
  const { api } = watched(() => [
    { field: "spec.size", value: 5, message: "must be even" },
    { field: "spec.mode", message: "is not supported; use task" },
  ]);
  const error = await refusal(api.create(widget("a", { size: 5 })));
  expect(error.status).toMatchObject({
    code: 422,
    reason: "Invalid",
    message:
      'Widget.example.com "a" is invalid: [spec.size: Invalid value: 5: must be even, spec.mode: Forbidden: is not supported; use task]',
    details: { causes: [{ field: "spec.size" }, { field: "spec.mode" }] },
  });
});

test("a request that this user may not make is answered 403", async () => {
  const { api } = watched(() => [{ code: 403, message: "only the scheduler assigns" }]);
  const error = await refusal(api.create(widget("a")));
  expect(error.status).toMatchObject({
    code: 403,
    reason: "Forbidden",
    message: 'widgets.example.com "a" is forbidden: only the scheduler assigns',
  });
});

test("rules come after the schema and see who asks", async () => {
  const { server, requests } = watched();
  const asAgent = server.as({ username: "agent", groups: ["agents"] });
  const path = "/apis/example.com/v1/namespaces/default/widgets";
  const body = { apiVersion: "example.com/v1", kind: "Widget", metadata: { name: "A" } };
  await refusal(asAgent.handle({ method: "POST", path, body }));
  expect(requests).toEqual([]);
  await asAgent.handle({ method: "POST", path, body: { ...body, metadata: { name: "a" } } });
  expect(requests[0]?.userInfo).toEqual({ username: "agent", groups: ["agents"] });
});

test("a rule that changes what it judges fails", async () => {
  const { api } = watched(({ object }) => {
    (object?.spec as { size: number }).size = 9;
    return undefined;
  });
  expect((await refusal(api.create(widget("a", { size: 1 })))).code).toBe(500);
});

test("the first rule that objects is the one that answers", async () => {
  const order: string[] = [];
  const { client } = setup({
    admission: [
      () => void order.push("first"),
      async () => {
        order.push("second");
        return [{ message: "no", field: "spec" }];
      },
      () => void order.push("third"),
    ],
  });
  await refusal(client.of(widgets).create(widget("a")));
  expect(order).toEqual(["first", "second"]);
});

test("while a slow rule thinks about a patch, another write may come; the patch is computed again", async () => {
  let release = (): void => undefined;
  let asked = 0;
  const { api } = watched(({ operation }) => {
    asked += 1;
    if (operation !== "UPDATE" || asked !== 2) return undefined;
    return new Promise((resolve) => {
      release = () => resolve(undefined);
    });
  });
  await api.create(widget("a", { size: 1 }));
  const slow = api.patch(ref, { spec: { color: "red" } });
  await expect.poll(() => asked).toBe(2);
  await api.patch(ref, { spec: { size: 2 } });
  release();
  expect((await slow).spec).toEqual({ size: 2, color: "red" });
});

test("while a slow rule thinks about an update, another write makes it a conflict", async () => {
  let release = (): void => undefined;
  let asked = 0;
  const { api } = watched(() => {
    asked += 1;
    if (asked !== 2) return undefined;
    return new Promise((resolve) => {
      release = () => resolve(undefined);
    });
  });
  const created = await api.create(widget("a", { size: 1 }));
  const slow = api.update({ ...created, spec: { size: 3 } });
  await expect.poll(() => asked).toBe(2);
  await api.patch(ref, { spec: { size: 2 } });
  release();
  expect((await refusal(slow)).reason).toBe("Conflict");
  expect((await api.get(ref)).spec).toEqual({ size: 2 });
});

test("what cannot be decided at the moment is answered 503", async () => {
  const { api } = watched(() => [{ code: 503, message: "nobody knows" }]);
  const error = await refusal(api.create(widget("a")));
  expect(error.status).toMatchObject({
    code: 503,
    reason: "ServiceUnavailable",
    message: 'widgets.example.com "a" cannot be admitted now: nobody knows',
  });
});

test("what a rule tells beside its permission is a warning of the answer, for creations and updates", async () => {
  const { server } = watched(({ operation, warn }) => {
    warn(`careful with ${operation}`);
    return undefined;
  });
  const path = "/apis/example.com/v1/namespaces/default/widgets";
  const body = { apiVersion: "example.com/v1", kind: "Widget", metadata: { name: "a" } };
  const created = await server.execute({ method: "POST", path, body });
  expect(created.warnings).toEqual(["careful with CREATE"]);
  const patch = { metadata: { labels: { a: "b" } } };
  const contentType = "application/merge-patch+json";
  const patched = await server.execute({ method: "PATCH", path: `${path}/a`, body: patch, contentType });
  expect(patched.warnings).toEqual(["careful with UPDATE"]);
});

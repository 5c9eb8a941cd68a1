import { expect, test } from "vitest";
import { serviceAccounts } from "#kube/builtin.ts";
import { refusal, setup, type Widget, widget, widgetCrd, widgets } from "../testing/setup.ts";

const ref = { name: "a", namespace: "default" };
const json = { type: "application/json-patch+json" } as const;

async function one(spec: Widget["spec"] = { size: 1, color: "red" }) {
  const made = setup();
  const api = made.client.of(widgets);
  return { ...made, api, object: await api.create(widget("a", spec, { labels: { x: "1" } })) };
}

const merges: Record<string, { patch: object; spec: unknown }> = {
  "replaces members": { patch: { spec: { size: 2 } }, spec: { size: 2, color: "red" } },
  "removes members with null": { patch: { spec: { color: null } }, spec: { size: 1 } },
  "adds objects": {
    patch: { spec: { more: { a: { b: 1 } } } },
    spec: { size: 1, color: "red", more: { a: { b: 1 } } },
  },
  "replaces lists whole": { patch: { spec: { list: [1] } }, spec: { size: 1, color: "red", list: [1] } },
  "drops nulls from new objects": { patch: { spec: { more: { a: null } } }, spec: { size: 1, color: "red", more: {} } },
};

test.each(Object.entries(merges))("a merge patch %s", async (_, { patch, spec }) => {
  const { api } = await one();
  expect((await api.patch(ref, patch)).spec).toEqual(spec);
});

test("a JSON patch is applied in order", async () => {
  const { api } = await one();
  const patched = await api.patch(
    ref,
    [
      { op: "test", path: "/spec/size", value: 1 },
      { op: "replace", path: "/spec/size", value: 2 },
      { op: "remove", path: "/metadata/labels/x" },
      { op: "add", path: "/metadata/labels/y~1z", value: "2" },
    ],
    json,
  );
  expect(patched).toMatchObject({ spec: { size: 2 }, metadata: { labels: { "y/z": "2" } } });
});

test("a JSON patch whose test fails is refused and changes nothing", async () => {
  const { api, object } = await one();
  const patch = [
    { op: "replace", path: "/spec/size", value: 2 },
    { op: "test", path: "/spec/color", value: "blue" },
  ];
  const error = await refusal(api.patch(ref, patch, json));
  expect(error.status).toMatchObject({
    code: 422,
    reason: "Invalid",
    message: "the server rejected our request due to an error in our request",
    details: { causes: [{ message: "testing path /spec/color value failed" }] },
  });
  expect(await api.get(ref)).toEqual(object);
});

test("a patch with a version is refused when the object has another", async () => {
  const { api, object } = await one();
  const { resourceVersion } = object.metadata;
  await api.patch(ref, { metadata: { resourceVersion }, spec: { size: 2 } });
  const error = await refusal(api.patch(ref, { metadata: { resourceVersion }, spec: { size: 3 } }));
  expect(error.status).toMatchObject({ code: 409, reason: "Conflict" });
});

test("patches without a version all take effect, whoever comes first", async () => {
  const { api } = await one({});
  await Promise.all(Array.from({ length: 10 }, (_, i) => api.patch(ref, { spec: { [`k${i}`]: i } })));
  expect(Object.keys((await api.get(ref)).spec ?? {})).toHaveLength(10);
});

test("a patch is judged by the schema like any write", async () => {
  const made = setup({
    crds: [
      widgetCrd({
        type: "object",
        properties: { spec: { type: "object", properties: { size: { type: "integer" } } } },
      }),
    ],
  });
  const api = made.client.of(widgets);
  await api.create(widget("a", { size: 1 }));
  expect((await refusal(api.patch(ref, { spec: { size: "x" } }))).message).toContain("must be of type integer");
});

test("under Strict a patch with unknown members is refused with the result it would have", async () => {
  const made = setup({
    crds: [
      widgetCrd({
        type: "object",
        properties: { spec: { type: "object", properties: { size: { type: "integer" } } } },
      }),
    ],
  });
  await made.client.of(widgets).create(widget("a", { size: 1 }));
  const error = await refusal(
    made.server.handle({
      method: "PATCH",
      path: "/apis/example.com/v1/namespaces/default/widgets/a",
      query: { fieldValidation: "Strict" },
      contentType: "application/merge-patch+json",
      body: { spec: { sise: 2 } },
    }),
  );
  expect(error.code).toBe(422);
  expect(error.message).toMatch(
    /^ "" is invalid: patch: Invalid value: ".*": strict decoding error: unknown field "spec.sise"$/,
  );
});

const refused: Record<string, { type: string; body: unknown; code: number; message: string }> = {
  "a strategic merge patch": {
    type: "application/strategic-merge-patch+json",
    body: {},
    code: 415,
    message:
      "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json",
  },
  "plain JSON": {
    type: "application/json",
    body: {},
    code: 415,
    message: "the body of the request was in an unknown format",
  },
  "a merge patch that is a list": {
    type: "application/merge-patch+json",
    body: [],
    code: 400,
    message: "error decoding patch",
  },
  "a JSON patch that is an object": {
    type: "application/json-patch+json",
    body: {},
    code: 400,
    message: "error decoding patch: a JSON patch is an array",
  },
  "a merge patch that takes the kind away": {
    type: "application/merge-patch+json",
    body: { kind: null },
    code: 422,
    message: "Object 'Kind' is missing",
  },
  "a merge patch that makes a label a number": {
    type: "application/merge-patch+json",
    body: { metadata: { labels: { x: 1 } } },
    code: 422,
    message: ' "" is invalid: patch: Invalid value: ',
  },
  "a JSON patch of more than 10,000 operations": {
    type: "application/json-patch+json",
    body: Array.from({ length: 10_001 }, () => ({ op: "test", path: "/kind", value: "Widget" })),
    code: 413,
    message: "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001",
  },
  "a merge patch of the name": {
    type: "application/merge-patch+json",
    body: { metadata: { name: "b" } },
    code: 422,
    message: 'metadata.name: Invalid value: "b": field is immutable',
  },
};

test.each(Object.entries(refused))("refuses %s", async (_, { type, body, code, message }) => {
  const { server } = await one();
  const error = await refusal(
    server.handle({
      method: "PATCH",
      path: "/apis/example.com/v1/namespaces/default/widgets/a",
      contentType: type,
      body,
    }),
  );
  expect(error.code).toBe(code);
  expect(error.message).toContain(message);
});

test("parameters of the media type do not matter", async () => {
  const { server } = await one();
  const answer = server.handle({
    method: "PATCH",
    path: "/apis/example.com/v1/namespaces/default/widgets/a",
    contentType: "application/merge-patch+json; charset=utf-8",
    body: { spec: { size: 4 } },
  });
  await expect(answer).resolves.toMatchObject({ spec: { size: 4 } });
});

test("a member called __proto__ harms nobody", async () => {
  const { api } = await one();
  const patch = JSON.parse('{"spec": {"__proto__": {"polluted": true}}}') as object;
  const patched = await api.patch(ref, patch);
  expect(Object.keys(patched.spec ?? {})).toContain("__proto__");
  expect(Object.hasOwn({}, "polluted")).toBe(false);
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
});

test("a strategic merge patch merges lists of built-in kinds, and is refused for custom ones", async () => {
  const { client, api } = await one();
  const type = "application/strategic-merge-patch+json";
  const accounts = client.of(serviceAccounts);
  await accounts.create({ metadata: { name: "b", namespace: "default", finalizers: ["example.com/a"] } });
  const patched = await accounts.patch(
    { name: "b", namespace: "default" },
    { metadata: { finalizers: ["example.com/b"] } },
    { type },
  );
  expect(patched.metadata.finalizers).toEqual(["example.com/a", "example.com/b"]);
  const error = await refusal(api.patch(ref, { spec: {} }, { type }));
  expect(error).toMatchObject({ code: 415, message: expect.not.stringContaining("strategic") });
});

test("server-side apply is refused with what to do instead", async () => {
  const { server } = await one();
  const path = "/apis/example.com/v1/namespaces/default/widgets/a";
  const contentType = "application/apply-patch+yaml";
  const error = await refusal(server.handle({ method: "PATCH", path, contentType, body: {} }));
  expect(error).toMatchObject({ code: 415, message: expect.stringContaining("without --server-side") });
});

import { expect, test } from "vitest";
import { configMaps, namespaces, pods } from "#kube/builtin.ts";
import { refusal, setup, widget, widgetCrd, widgets } from "../testing/setup.ts";

const path = "/apis/example.com/v1/namespaces/default/widgets";
const body = (metadata: object, more: object = {}) => ({
  apiVersion: "example.com/v1",
  kind: "Widget",
  metadata,
  ...more,
});
const post = (server: ReturnType<typeof setup>["server"], value: unknown, query = {}, at = path) =>
  server.execute({ method: "POST", path: at, body: value, query });

test("a second object of the same name is refused", async () => {
  const api = setup().client.of(widgets);
  await api.create(widget("a"));
  const error = await refusal(api.create(widget("a")));
  expect(error.message).toBe('widgets.example.com "a" already exists');
  expect(error.status).toMatchObject({
    code: 409,
    reason: "AlreadyExists",
    details: { name: "a", group: "example.com", kind: "widgets" },
  });
});

test("an object that is being deleted is told as such", async () => {
  const api = setup().client.of(widgets);
  await api.create(widget("a", {}, { finalizers: ["example.com/x"] }));
  await api.delete({ name: "a", namespace: "default" });
  const error = await refusal(api.create(widget("a")));
  expect(error.message).toBe('object is being deleted: widgets.example.com "a" already exists');
});

test("the same name in another namespace is another object", async () => {
  const { client } = setup();
  await client.of(namespaces).create({ metadata: { name: "other" } });
  await client.of(widgets).create(widget("a"));
  await expect(client.of(widgets).create(widget("a", {}, { namespace: "other" }))).resolves.toBeDefined();
});

test("what only the server decides is taken from nobody", async () => {
  const { server } = setup();
  const answer = await post(
    server,
    body(
      {
        name: "a",
        uid: "mine",
        generation: 7,
        creationTimestamp: "2001-01-01T00:00:00Z",
        deletionTimestamp: "2001-01-01T00:00:00Z",
        deletionGracePeriodSeconds: 5,
        selfLink: "/x",
        managedFields: [],
      },
      { status: { phase: "Ready" } },
    ),
  );
  expect(answer.code).toBe(201);
  expect(answer.body).toEqual({
    apiVersion: "example.com/v1",
    kind: "Widget",
    metadata: {
      name: "a",
      namespace: "default",
      uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
      generation: 1,
      creationTimestamp: "2026-01-01T00:00:00Z",
      resourceVersion: expect.stringMatching(/^\d+$/),
    },
  });
});

test("generateName completes the name with five letters and draws again when it is taken", async () => {
  const numbers = [...Array(10).fill(0), ...Array(5).fill(0.5)];
  let uuid = 0;
  const { client } = setup({ random: { next: () => numbers.shift() ?? 0.9, uuid: () => `uid-${uuid++}` } });
  const api = client.of(widgets);
  const first = await api.create(widget("", {}, { generateName: "run-" }));
  expect(first.metadata).toMatchObject({ name: "run-bbbbb", generateName: "run-" });
  expect((await api.create(widget("", {}, { generateName: "run-" }))).metadata.name).toBe("run-rrrrr");
  const long = await api.create(widget("", {}, { generateName: "x".repeat(80) }));
  expect(long.metadata.name).toHaveLength(63);
});

test("when every drawn name is taken the request fails", async () => {
  const { client } = setup({ random: { next: () => 0, uuid: () => "u" } });
  const api = client.of(widgets);
  await api.create(widget("run-bbbbb"));
  const error = await refusal(api.create(widget("", {}, { generateName: "run-" })));
  expect(error.status).toMatchObject({
    code: 409,
    reason: "AlreadyExists",
    message:
      'widgets.example.com "run-bbbbb" already exists, the server was not able to generate a unique name for the object',
    details: { retryAfterSeconds: 1 },
  });
});

const unreadable: Record<string, { value: unknown; code: number; message: string | RegExp }> = {
  "no object": { value: "x", code: 400, message: /the object provided is unrecognized/ },
  nothing: { value: undefined, code: 400, message: /the object provided is unrecognized/ },
  "an object without a kind": {
    value: { apiVersion: "example.com/v1", metadata: { name: "a" } },
    code: 400,
    message: /^Object 'Kind' is missing in/,
  },
  "an object without a version": {
    value: { kind: "Widget", metadata: { name: "a" } },
    code: 400,
    message: /^Object 'apiVersion' is missing in/,
  },
  "another version": {
    value: { ...body({ name: "a" }), apiVersion: "example.com/v2" },
    code: 400,
    message: "the API version in the data (example.com/v2) does not match the expected API version (example.com/v1)",
  },
  "another kind": {
    value: { ...body({ name: "a" }), kind: "Gadget" },
    code: 400,
    message: 'Gadget in version "v1" cannot be handled as a Widget',
  },
  "another namespace": {
    value: body({ name: "a", namespace: "other" }),
    code: 400,
    message: /^the namespace of the provided object does not match the namespace sent on the request/,
  },
  "labels that are no texts": {
    value: body({ name: "a", labels: { n: 1 } }),
    code: 400,
    message:
      'Widget in version "v1" cannot be handled as a Widget: json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string',
  },
  "a name that is no text": {
    value: body({ name: 5 }),
    code: 400,
    message: /cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string/,
  },
  "a list of finalizers that is none": {
    value: body({ name: "a", finalizers: "x" }),
    code: 400,
    message: /metadata.finalizers of type/,
  },
  "metadata that is a list": { value: { ...body({}), metadata: [] }, code: 400, message: /cannot unmarshal array/ },
  "a version of its own": {
    value: body({ name: "a", resourceVersion: "1" }),
    code: 500,
    message: "resourceVersion should not be set on objects to be created",
  },
  "more than 3 MiB": {
    value: body({ name: "a" }, { spec: { color: "x".repeat(3 * 1024 * 1024) } }),
    code: 413,
    message: "Request entity too large: limit is 3145728",
  },
};

test.each(Object.entries(unreadable))("refuses %s", async (_, { value, code, message }) => {
  const error = await refusal(post(setup().server, value));
  expect(error.code).toBe(code);
  if (typeof message === "string") expect(error.message).toBe(message);
  else expect(error.message).toMatch(message);
});

test("refuses nesting without end", async () => {
  let deep: unknown = 1;
  for (let i = 0; i < 5000; i++) deep = [deep];
  const error = await refusal(post(setup().server, body({ name: "a" }, { spec: { deep } })));
  expect(error.status).toMatchObject({ code: 400, message: "json: exceeded max depth" });
});

const invalid: Record<string, { metadata: object; message: string }> = {
  "no name": {
    metadata: {},
    message: 'Widget.example.com "" is invalid: metadata.name: Required value: name or generateName is required',
  },
  "a name with capitals": {
    metadata: { name: "A" },
    message: `Widget.example.com "A" is invalid: metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
  },
  "a label that is too long": {
    metadata: { name: "a", labels: { l: "x".repeat(64) } },
    message: `metadata.labels: Invalid value: "${"x".repeat(64)}": must be no more than 63 bytes`,
  },
  "a label with a space": {
    metadata: { name: "a", labels: { l: "x y" } },
    message: 'metadata.labels: Invalid value: "x y": a valid label must be',
  },
  "a label key with two slashes": {
    metadata: { name: "a", labels: { "a/b/c": "x" } },
    message: 'metadata.labels: Invalid value: "a/b/c": a qualified name',
  },
  "a label key with a bad prefix": {
    metadata: { name: "a", labels: { "A_/b": "x" } },
    message: 'metadata.labels: Invalid value: "A_/b": prefix part a lowercase RFC 1123 subdomain',
  },
  "an annotation key with a space": {
    metadata: { name: "a", annotations: { "a b": "x" } },
    message: 'metadata.annotations: Invalid value: "a b": name part must consist',
  },
  "annotations beyond 256 KiB": {
    metadata: { name: "a", annotations: { a: "x".repeat(262144) } },
    message: "metadata.annotations: Too long: may not be more than 262144 bytes",
  },
  "a finalizer that is no name": {
    metadata: { name: "a", finalizers: ["a b"] },
    message: 'metadata.finalizers: Invalid value: "a b": name part',
  },
  "both finalizers of the garbage collector": {
    metadata: { name: "a", finalizers: ["orphan", "foregroundDeletion"] },
    message:
      'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer orphan and foregroundDeletion cannot be both set',
  },
  "an owner without a uid": {
    metadata: { name: "a", ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "p" }] },
    message: 'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
  },
  "two controllers": {
    metadata: {
      name: "a",
      ownerReferences: [
        { apiVersion: "v1", kind: "Pod", name: "p", uid: "1", controller: true },
        { apiVersion: "v1", kind: "Pod", name: "q", uid: "2", controller: true },
      ],
    },
    message: 'Only one reference can have Controller set to true. Found "true" in references for Pod/p and Pod/q',
  },
};

test.each(Object.entries(invalid))("refuses %s", async (_, { metadata, message }) => {
  const error = await refusal(post(setup().server, body(metadata)));
  expect(error.code).toBe(422);
  expect(error.message).toContain(message);
});

const strict = widgetCrd({
  type: "object",
  properties: { spec: { type: "object", properties: { a: { type: "string" } } } },
});
const typos = body({ name: "a", lables: {} }, { spec: { a: "x", b: 1 }, extra: 1 });

test("fieldValidation=Strict refuses members that nobody knows", async () => {
  const { server } = setup({ crds: [strict] });
  const error = await refusal(post(server, typos, { fieldValidation: "Strict" }));
  expect(error.status).toMatchObject({
    code: 400,
    reason: "BadRequest",
    message:
      'Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "metadata.lables", unknown field "extra", unknown field "spec.b"',
  });
});

test.each([undefined, "Warn"])("fieldValidation=%s drops and reports them", async (fieldValidation) => {
  const { server } = setup({ crds: [strict] });
  const answer = await post(server, typos, { fieldValidation });
  expect(answer.warnings).toEqual([
    'unknown field "metadata.lables"',
    'unknown field "extra"',
    'unknown field "spec.b"',
  ]);
  expect(answer.body).toMatchObject({ spec: { a: "x" } });
  expect(answer.body).not.toHaveProperty("extra");
});

test("fieldValidation=Ignore drops them silently", async () => {
  const { server } = setup({ crds: [strict] });
  expect((await post(server, typos, { fieldValidation: "Ignore" })).warnings).toEqual([]);
});

test("fieldValidation takes no other word", async () => {
  const error = await refusal(post(setup().server, typos, { fieldValidation: "Loose" }));
  expect(error.status).toMatchObject({
    code: 422,
    message:
      'CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Loose": supported values: "", "Ignore", "Strict", "Warn"',
  });
  const dry = await refusal(post(setup().server, typos, { dryRun: "Some" }));
  expect(dry.message).toBe(
    'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Some"]: supported values: "All"',
  );
});

test("a dry run checks everything and stores nothing", async () => {
  const { server, client } = setup();
  const answer = await post(server, body({ name: "a" }), { dryRun: "All" });
  expect(answer.body).toMatchObject({ metadata: { name: "a" } });
  expect((await client.of(widgets).list({ namespace: "default" })).items).toEqual([]);
  expect((await refusal(post(server, body({ name: "A" }), { dryRun: "All" }))).code).toBe(422);
});

test("without a namespace in the path nothing can be created", async () => {
  const error = await refusal(post(setup().server, body({ name: "a" }), {}, "/apis/example.com/v1/widgets"));
  expect(error.status).toMatchObject({ code: 405, reason: "MethodNotAllowed" });
});

test("a missing namespace is named", async () => {
  const error = await refusal(
    setup()
      .client.of(pods)
      .create({ metadata: { name: "p", namespace: "nope" }, spec: { containers: [{ name: "c", image: "i" }] } }),
  );
  expect(error.status).toMatchObject({
    code: 404,
    message: 'namespaces "nope" not found',
    details: { name: "nope", kind: "namespaces" },
  });
});

test("the body stays the caller's: changing it later changes nothing stored", async () => {
  const { server, client } = setup();
  const value = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" }, data: { a: "1" } };
  await post(server, value, {}, "/api/v1/namespaces/default/configmaps");
  value.data.a = "2";
  expect((await client.of(configMaps).get({ name: "c", namespace: "default" })).data).toEqual({ a: "1" });
});

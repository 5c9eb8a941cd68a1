import { expect, test } from "vitest";
import { parse } from "yaml";
import { TransportError } from "#kube/transport.ts";
import { setup, widgetCrd } from "#local/apiserver/testing/setup.ts";
import type { Extension } from "#local/extensions.ts";
import { clientLibraryModels } from "#local/openapi/model-files.ts";
import { createModels } from "#local/openapi/models.ts";
import { bearerCheck } from "./bearer.ts";
import { createFront, type FrontOptions } from "./front.ts";
import type { HttpAnswer, HttpRequest } from "./message.ts";

const models = createModels(clientLibraryModels());
const user = { username: "me", groups: ["all"] };

/** A Widget with columns, as a definition of ours has them. */
function crd() {
  const plain = widgetCrd();
  const [version] = plain.spec.versions;
  if (version === undefined) throw new Error("the Widget has no version");
  const additionalPrinterColumns = [
    { name: "Size", type: "integer", jsonPath: ".spec.size", description: "How large." },
    { name: "Phase", type: "string", jsonPath: ".status.phase" },
    { name: "Color", type: "string", jsonPath: ".spec.color", priority: 1 },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
  ] as const;
  return { ...plain, spec: { ...plain.spec, versions: [{ ...version, additionalPrinterColumns }] } };
}

function start(more: Partial<FrontOptions> = {}) {
  const { server, clock } = setup({ crds: [crd()] });
  const front = createFront({ api: server, clock, models, authorized: bearerCheck("t"), user, ...more });
  const send = (method: string, target: string, body?: unknown, headers: HttpRequest["headers"] = {}) => {
    const url = new URL(target, "http://x");
    return front({
      method,
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers: { authorization: "Bearer t", ...headers },
      body: Buffer.from(body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body)),
      signal: new AbortController().signal,
    });
  };
  return { send, server, clock };
}

const json = ({ body }: HttpAnswer): unknown => JSON.parse(typeof body === "string" ? body : "null");
const widgets = "/apis/example.com/v1/namespaces/default/widgets";
const widget = (name: string, spec: object = { size: 1 }) => ({
  apiVersion: "example.com/v1",
  kind: "Widget",
  metadata: { name },
  spec,
});
const table = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io,application/json" };
const merge = { "content-type": "application/merge-patch+json" };

test("requests without the token are refused, but for health and version", async () => {
  const { send } = start();
  const nobody = { authorization: "Bearer x" };
  expect(json(await send("GET", widgets, undefined, nobody))).toMatchObject({ code: 401, reason: "Unauthorized" });
  expect((await send("GET", "/apis", undefined, { authorization: undefined })).code).toBe(401);
  for (const path of ["/healthz", "/livez", "/readyz", "/readyz/ping"]) {
    expect(await send("GET", path, undefined, nobody)).toMatchObject({ code: 200, body: "ok" });
  }
  expect(json(await send("GET", "/version", undefined, nobody))).toMatchObject({ major: "1", minor: "34" });
});

test("acting as somebody else is refused", async () => {
  const { send } = start();
  const answer = await send("GET", widgets, undefined, { "impersonate-user": "bob" });
  expect(json(answer)).toMatchObject({ code: 403, message: expect.stringContaining("impersonation is not supported") });
});

test("verbs answer with the status codes of the real server", async () => {
  const { send } = start();
  const codes = [
    await send("POST", widgets, widget("a")),
    await send("POST", widgets, widget("a")),
    await send("GET", `${widgets}/a`),
    await send("PATCH", `${widgets}/a`, { spec: { size: 2 } }, merge),
    await send("GET", `${widgets}/b`),
    await send("DELETE", `${widgets}/a`),
    await send("POST", `${widgets}/a`, {}),
    await send("TRACE", widgets),
    await send("POST", widgets, "{"),
    await send("POST", widgets, "a", { "content-type": "text/plain" }),
    await send("PATCH", widgets.concat("/a"), {}, { "content-type": "application/strategic-merge-patch+json" }),
    await send("GET", widgets, undefined, { accept: "application/vnd.kubernetes.protobuf" }),
    await send("GET", "/apis/example.com/v1/namespaces/default/gadgets"),
    await send("GET", "/nothing"),
  ].map(({ code }) => code);
  expect(codes).toEqual([201, 409, 200, 200, 404, 200, 405, 405, 400, 415, 415, 406, 404, 404]);
});

test("what a caller is told of a path that leads nowhere says where to look", async () => {
  const { send } = start();
  expect(json(await send("GET", "/nothing"))).toMatchObject({
    kind: "Status",
    message: expect.stringContaining("nothing is served at /nothing"),
  });
  expect(json(await send("GET", "/apis/apps/v1/namespaces/default/deployments"))).toMatchObject({
    message: expect.stringContaining("deployments of apps/v1 is not served here"),
  });
  expect(json(await send("GET", "/openapi/v2"))).toMatchObject({ message: expect.stringContaining("/openapi/v3") });
});

test("YAML goes in and comes out", async () => {
  const { send } = start();
  const yaml = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\nspec: {size: 3}\n";
  const made = await send("POST", widgets, yaml, { "content-type": "application/yaml", accept: "application/yaml" });
  expect(made).toMatchObject({ code: 201, headers: { "content-type": "application/yaml" } });
  expect(parse(made.body as string)).toMatchObject({ kind: "Widget", spec: { size: 3 } });
  const broken = await send("POST", widgets, "a: b: c", { "content-type": "application/yaml" });
  expect(json(broken)).toMatchObject({ code: 400, message: expect.stringContaining("the body is no YAML") });
});

test("objects and lists are shown as tables with the columns of their definition", async () => {
  const { send, clock } = start();
  await send("POST", widgets, widget("a", { size: 1, color: "red" }));
  await clock.advance(90_000);
  const one = json(await send("GET", `${widgets}/a`, undefined, table)) as Record<string, unknown>;
  expect(one).toMatchObject({
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    metadata: { resourceVersion: expect.stringMatching(/^\d+$/) },
    columnDefinitions: [
      { name: "Name", type: "string", format: "name", priority: 0 },
      { name: "Size", type: "integer", description: "How large.", priority: 0 },
      { name: "Phase", type: "string", priority: 0 },
      { name: "Color", type: "string", priority: 1 },
      { name: "Age", type: "date", priority: 0 },
    ],
    rows: [
      {
        cells: ["a", 1, null, "red", "90s"],
        object: { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: { name: "a" } },
      },
    ],
  });
  await send("POST", widgets, widget("b"));
  const list = json(await send("GET", `${widgets}?limit=1`, undefined, table));
  expect(list).toMatchObject({
    kind: "Table",
    metadata: { continue: expect.any(String), remainingItemCount: 1 },
    rows: [{ cells: ["a", 1, null, "red", "90s"] }],
  });
});

test.each([
  ["None", null],
  ["Object", { kind: "Widget", apiVersion: "example.com/v1", spec: { size: 1 } }],
])("rows carry what includeObject=%s says", async (include, object) => {
  const { send } = start();
  await send("POST", widgets, widget("a"));
  const answer = json(await send("GET", `${widgets}?includeObject=${include}`, undefined, table)) as {
    rows: { object: unknown }[];
  };
  if (object === null) expect(answer.rows[0]?.object).toBeNull();
  else expect(answer.rows[0]?.object).toMatchObject(object);
});

test("an unknown includeObject is refused", async () => {
  const { send } = start();
  expect((await send("GET", `${widgets}?includeObject=All`, undefined, table)).code).toBe(400);
});

test("failures stay Status objects for those who want tables", async () => {
  const { send } = start();
  expect(json(await send("GET", `${widgets}/a`, undefined, table))).toMatchObject({ kind: "Status", code: 404 });
});

test("metadata alone is given on request", async () => {
  const { send } = start();
  await send("POST", widgets, widget("a"));
  const partial = (kind: string) => ({ accept: `application/json;as=${kind};v=v1;g=meta.k8s.io` });
  const one = json(await send("GET", `${widgets}/a`, undefined, partial("PartialObjectMetadata")));
  expect(one).toMatchObject({ kind: "PartialObjectMetadata", metadata: { name: "a" } });
  expect(one).not.toHaveProperty("spec");
  const list = json(await send("GET", widgets, undefined, partial("PartialObjectMetadataList")));
  expect(list).toMatchObject({
    kind: "PartialObjectMetadataList",
    items: [{ kind: "PartialObjectMetadata", metadata: { name: "a" } }],
  });
});

test("a watch of tables tells the columns once", async () => {
  const { send } = start();
  await send("POST", widgets, widget("a"));
  const answer = await send("GET", `${widgets}?watch=true`, undefined, table);
  const lines = (answer.body as AsyncIterable<string>)[Symbol.asyncIterator]();
  const event = async () => JSON.parse((await lines.next()).value as string) as { type: string; object: object };
  expect(await event()).toMatchObject({
    type: "ADDED",
    object: { kind: "Table", columnDefinitions: expect.any(Array), rows: [{ cells: ["a", 1, null, null, "0s"] }] },
  });
  await send("PATCH", `${widgets}/a`, { spec: { size: 2 } }, merge);
  expect(await event()).toMatchObject({
    type: "MODIFIED",
    object: { kind: "Table", columnDefinitions: null, rows: [{ cells: ["a", 2, null, null, "0s"] }] },
  });
  await lines.return?.();
});

const pods = "/api/v1/namespaces/default/pods";
const pod = (spec: object) => ({ metadata: { name: "a" }, spec: { containers: [{ name: "c", image: "i" }], ...spec } });

test("unknown fields of built-in kinds are refused, reported or dropped as asked", async () => {
  const { send } = start();
  const typo = pod({ containrs: [], containers: [{ name: "c", image: "i", imagePolicy: "x" }] });
  const strict = await send("POST", `${pods}?fieldValidation=Strict`, typo);
  expect(json(strict)).toMatchObject({
    code: 400,
    message: expect.stringContaining(
      'strict decoding error: unknown field "spec.containers[0].imagePolicy", unknown field "spec.containrs"',
    ),
  });
  const warned = await send("POST", `${pods}?dryRun=All`, typo);
  expect(warned.headers.warning).toEqual([
    '299 - "unknown field \\"spec.containers[0].imagePolicy\\""',
    '299 - "unknown field \\"spec.containrs\\""',
  ]);
  const dropped = await send("POST", `${pods}?fieldValidation=Ignore`, typo);
  expect(dropped.headers.warning).toBeUndefined();
  expect(json(dropped)).not.toHaveProperty("spec.containrs");
  const patched = await send("PATCH", `${pods}/a?fieldValidation=Strict`, { spec: { x: 1 } }, merge);
  expect(json(patched)).toMatchObject({ code: 422, message: expect.stringContaining('unknown field "spec.x"') });
});

test("a dry run of any write changes nothing", async () => {
  const { send } = start();
  await send("POST", widgets, widget("a"));
  const before = json(await send("GET", widgets));
  const dry = "?dryRun=All";
  expect((await send("POST", `${widgets}${dry}`, widget("b"))).code).toBe(201);
  const version = (json(await send("GET", `${widgets}/a`)) as { metadata: object }).metadata;
  expect((await send("PUT", `${widgets}/a${dry}`, { ...widget("a", { size: 9 }), metadata: version })).code).toBe(200);
  const patched = await send("PATCH", `${widgets}/a${dry}`, { spec: { size: 8 } }, merge);
  expect(json(patched)).toMatchObject({ spec: { size: 8 } });
  expect((await send("DELETE", `${widgets}/a${dry}`)).code).toBe(200);
  expect((await send("DELETE", `${widgets}${dry}`)).code).toBe(200);
  expect(json(await send("GET", widgets))).toEqual(before);
});

test("every way of discovery lists the same resources", async () => {
  const { send } = start();
  const aggregated = {
    accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json",
  };
  const answer = await send("GET", "/apis", undefined, aggregated);
  expect(answer.headers["content-type"]).toBe("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
  type Aggregated = {
    items: { metadata: { name: string }; versions: { version: string; resources: { resource: string }[] }[] }[];
  };
  const { items } = json(answer) as Aggregated;
  const groups = json(await send("GET", "/apis")) as { groups: { name: string }[] };
  expect(groups.groups.map(({ name }) => name)).toEqual(items.map(({ metadata }) => metadata.name));
  for (const { metadata, versions } of items) {
    for (const { version, resources } of versions) {
      const list = json(await send("GET", `/apis/${metadata.name}/${version}`)) as { resources: { name: string }[] };
      const names = list.resources.map(({ name }) => name).filter((name) => !name.includes("/"));
      expect(resources.map(({ resource }) => resource)).toEqual(names);
    }
  }
  const core = json(await send("GET", "/api", undefined, aggregated)) as Aggregated;
  expect(core.items[0]?.versions[0]?.resources).toContainEqual(
    expect.objectContaining({
      resource: "pods",
      scope: "Namespaced",
      shortNames: ["po"],
      subresources: expect.arrayContaining([expect.objectContaining({ subresource: "log", verbs: ["get"] })]),
    }),
  );
});

test("a custom kind is discovered with its short names, categories and subresources", async () => {
  const { send } = start();
  const list = json(await send("GET", "/apis/example.com/v1"));
  expect(list).toMatchObject({
    kind: "APIResourceList",
    groupVersion: "example.com/v1",
    resources: [
      { name: "widgets", singularName: "widget", kind: "Widget", namespaced: true, shortNames: ["wd"] },
      { name: "widgets/status", verbs: ["get", "patch", "update"] },
    ],
  });
  expect((await send("GET", "/apis/example.com/v2")).code).toBe(404);
  expect((await send("GET", "/apis/none")).code).toBe(404);
  expect(json(await send("GET", "/"))).toMatchObject({ paths: expect.arrayContaining(["/apis/example.com/v1"]) });
});

test("OpenAPI documents are found through their index", async () => {
  const { send } = start();
  const index = json(await send("GET", "/openapi/v3")) as { paths: Record<string, { serverRelativeURL: string }> };
  const answer = await send("GET", index.paths["apis/example.com/v1"]?.serverRelativeURL ?? "");
  expect(json(answer)).toMatchObject({ components: { schemas: { "com.example.v1.Widget": { type: "object" } } } });
  expect((await send("GET", "/openapi/v3/apis/none/v1")).code).toBe(404);
});

test("APIs beside the server are served and discovered", async () => {
  const root = "/apis/extra.example.com";
  const documents: Record<string, object> = {
    [root]: { name: "extra.example.com", versions: [{ version: "v1" }] },
    [`${root}/v1`]: { resources: [{ name: "things", singularName: "", namespaced: true, kind: "Thing", verbs: [] }] },
    [`${root}/v1/things`]: { items: [1] },
  };
  const extra: Extension = {
    handle: async ({ path }) => documents[path],
    watch: async () => {
      throw new Error("over HTTP a stream is lines");
    },
    lines: async () =>
      (async function* () {
        yield ['{"n":1}', '{"n":2}'];
      })(),
  };
  const { send } = start({ extensions: { [root]: extra } });
  expect(json(await send("GET", `${root}/v1/things`))).toEqual({ items: [1] });
  const stream = await send("GET", `${root}/v1/things?follow=true`);
  const pieces: string[] = [];
  for await (const piece of stream.body as AsyncIterable<string>) pieces.push(piece);
  expect(pieces).toEqual(['{"n":1}\n{"n":2}\n']);
  expect(json(await send("GET", "/apis"))).toMatchObject({
    groups: expect.arrayContaining([expect.objectContaining({ name: "extra.example.com" })]),
  });
});

test("the server knows who asks, and that everything is allowed", async () => {
  const { send } = start();
  const self = await send("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {});
  expect(json(self)).toMatchObject({ status: { userInfo: user } });
  const access = await send("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", { spec: {} });
  expect(access.code).toBe(201);
  expect(json(access)).toMatchObject({ status: { allowed: true } });
  const rules = await send("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", { spec: {} });
  expect(json(rules)).toMatchObject({ status: { resourceRules: [{ verbs: ["*"] }], incomplete: false } });
});

test("a server that loses the connection is no answer, one that fails is status 500", async () => {
  const { send, server } = start();
  server.faults.onRequest = () => {
    throw new Error("out of order");
  };
  expect(json(await send("GET", widgets))).toMatchObject({
    code: 500,
    message: expect.stringContaining("out of order"),
  });
  server.close();
  await expect(send("GET", widgets)).rejects.toBeInstanceOf(TransportError);
});

test("a busy server says when to try again", async () => {
  const { send, server } = start();
  server.faults.onRequest = () => ({ kind: "tooManyRequests", retryAfterMs: 1500 });
  expect(await send("GET", widgets)).toMatchObject({ code: 429, headers: { "retry-after": "2" } });
});

test("what stands twice and what is unknown are told together, in the order of a real API server", async () => {
  const { send } = start();
  const pod =
    '{"metadata":{"name":"a","foo":1},"spec":{"bar":2,"containers":[{"name":"c","image":"i","image":"j","zap":true}],"nodeName":"n","nodeName":"m"}}';
  const inOrder = [
    'unknown field "metadata.foo"',
    'unknown field "spec.bar"',
    'duplicate field "spec.containers[0].image"',
    'unknown field "spec.containers[0].zap"',
    'duplicate field "spec.nodeName"',
  ];
  const said = (answer: HttpAnswer) => (json(answer) as { message: string }).message;
  const strict = `fieldValidation=Strict&dryRun=All`;
  expect(said(await send("POST", `${pods}?${strict}`, pod))).toBe(
    `Pod in version "v1" cannot be handled as a Pod: strict decoding error: ${inOrder.join(", ")}`,
  );
  const warned = await send("POST", `${pods}?dryRun=All`, pod);
  expect(warned.headers.warning).toEqual(inOrder.map((text) => `299 - ${JSON.stringify(text)}`));

  const yaml = { "content-type": "application/yaml" };
  const text =
    "metadata:\n  name: a\n  foo: 1\nspec:\n  bar: 2\n  containers:\n  - name: c\n    image: i\n    image: j\n    zap: true\n";
  expect(said(await send("POST", `${pods}?${strict}`, text, yaml))).toBe(
    'Pod in version "v1" cannot be handled as a Pod: strict decoding error: yaml: unmarshal errors:\n' +
      '  line 9: key "image" already set in map, unknown field "metadata.foo", unknown field "spec.bar", unknown field "spec.containers[0].zap"',
  );

  const widget =
    '{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","foo":1},"spec":{"size":1,"size":2},"nope":1}';
  expect(said(await send("POST", `${widgets}?${strict}`, widget))).toBe(
    'Widget in version "v1" cannot be handled as a Widget: strict decoding error: duplicate field "spec.size", ' +
      'unknown field "metadata.foo", unknown field "nope"',
  );
});

test("a patch of a custom object tells what stands twice and what the kind has not, as a creation does", async () => {
  const { send } = start();
  await send(
    "POST",
    widgets,
    '{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"size":1}}',
  );
  const twice = '{"metadata":{"labels":{"a":null},"foo":1},"spec":{"size":1,"size":2},"nope":1,"gone":null}';
  const merge = { "content-type": "application/merge-patch+json" };
  const refused = await send("PATCH", `${widgets}/w?fieldValidation=Strict`, twice, merge);
  expect(refused.code).toBe(422);
  const { message } = json(refused) as { message: string };
  expect(message).toContain(
    'strict decoding error: duplicate field "spec.size", unknown field "metadata.foo", unknown field "nope"',
  );
  expect(message).not.toContain('unknown field "gone"');
});

test("fields that stand twice are refused or reported, in the words of the reader of JSON or YAML, and the last one counts", async () => {
  const { send } = start();
  const twice = '{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i","image":"j"}]}}';
  expect(json(await send("POST", `${pods}?fieldValidation=Strict`, twice))).toMatchObject({
    code: 400,
    message: expect.stringContaining('strict decoding error: duplicate field "spec.containers[0].image"'),
  });
  const warned = await send("POST", pods, twice);
  expect(warned.headers.warning).toEqual(['299 - "duplicate field \\"spec.containers[0].image\\""']);
  expect(json(warned)).toHaveProperty("spec.containers[0].image", "j");
  const ignored = await send("PUT", `${pods}/a?fieldValidation=Ignore&dryRun=All`, twice);
  expect(ignored.headers.warning).toBeUndefined();

  const yaml = { "content-type": "application/yaml" };
  const text =
    "apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: w\n  name: x\nspec:\n  size: 1\n  size: 2\n";
  const refused = await send("POST", `${widgets}?fieldValidation=Strict&dryRun=All`, text, yaml);
  expect(json(refused)).toMatchObject({ code: 400 });
  expect(json(refused)).toHaveProperty(
    "message",
    expect.stringContaining(
      'strict decoding error: yaml: unmarshal errors:\n  line 5: key "name" already set in map\n  line 8: key "size" already set in map',
    ),
  );
});

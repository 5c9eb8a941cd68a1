import { expect, test } from "vitest";
import { labels } from "#api/labels.ts";
import { persistentWorkspaces, workflowRuns } from "#api/resources.ts";
import { controllerReference } from "#kube/builtin.ts";
import { createClient } from "#kube/client.ts";
import { type ApiHandler, memoryTransport } from "#kube/memory.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { TinyApi } from "#kube/testing/tiny-api.ts";
import { failure, StatusError } from "#kube/transport.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { createHandler } from "./handler.ts";
import { liveLookups } from "./lookups.ts";
import { controller } from "./testing/objects.ts";

function arrange() {
  const clock = new VirtualClock();
  const api = new TinyApi();
  /** What the API server says of the right to use a workspace. */
  let access: object | undefined;
  const answering: ApiHandler = {
    async handle(request) {
      if (!request.path.endsWith("/subjectaccessreviews")) return api.handle(request);
      await api.before(request);
      return { status: access };
    },
    watch: (request) => api.watch(request),
  };
  const client = createClient(memoryTransport(answering, clock));
  const handler = createHandler({ lookups: liveLookups(() => client, clock), controller, clock, logger: silentLogger });
  const ask = async (body: unknown) => {
    const { status, body: text } = await handler.handle({
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
    return { status, answer: status === 200 ? JSON.parse(text) : text };
  };
  const answerReviews = (status: object) => {
    access = status;
  };
  const shown = () => handler.metrics()[0]?.samples.map(({ labels, value }) => [...Object.values(labels ?? {}), value]);
  return { clock, api, client, ask, answerReviews, shown };
}

interface Given {
  readonly userInfo?: object;
  readonly kind?: unknown;
  readonly operation?: unknown;
  readonly object?: object | null;
  readonly oldObject?: object;
  readonly subResource?: string;
  readonly namespace?: unknown;
  readonly group?: unknown;
}

const question = ({ kind = "Run", group = "kruntimes.io", ...rest }: Given) => ({
  apiVersion: "admission.k8s.io/v1",
  kind: "AdmissionReview",
  request: {
    uid: "question",
    kind: { group, version: "v1alpha1", kind },
    namespace: "n",
    operation: "CREATE",
    userInfo: { username: "ann", groups: ["devs"] },
    ...rest,
  },
});

const run = (spec: object, name = "a") => ({ metadata: { name, namespace: "n" }, spec: { runtime: "bash", ...spec } });
const valid = run({ source: { inline: "true" } });
const inAbsentWorkspace = run({ source: { inline: "true" }, workspace: { name: "w" } });

const admitted: Record<string, Given> = {
  "a valid Run": { object: valid },
  "a change that makes nothing wrong": { operation: "UPDATE", object: valid, oldObject: valid },
  "a status of ours, which the machines judge": { subResource: "status", operation: "UPDATE", object: { spec: 1 } },
  "a deletion": { operation: "DELETE", object: null },
  "a kind of somebody else with a name of ours": { group: "example.com", object: { metadata: { name: "a" } } },
  "a kind that no rule is about": { kind: "Other", object: { metadata: { name: "a" } } },
};

test.each(Object.entries(admitted))("%s is admitted", async (_, given) => {
  const { ask } = arrange();
  expect(await ask(question(given))).toEqual({
    status: 200,
    answer: {
      apiVersion: "admission.k8s.io/v1",
      kind: "AdmissionReview",
      response: { uid: "question", allowed: true },
    },
  });
});

test.each([
  { operation: "UPDATE", object: valid },
  { operation: "UPDATE", object: null, oldObject: valid },
  { operation: "CREATE", object: null },
])("what lacks something that is judged is refused as malformed, and not admitted: %j", async (given) => {
  const { ask } = arrange();
  expect(await ask(question(given))).toMatchObject({ status: 400 });
});

let deep: object = {};
for (let level = 0; level < 3000; level++) deep = { a: deep };
const jobs = (value: unknown) => ({
  jobs: { a: { "runs-on": "bash", strategy: { matrix: { x: [value] } }, steps: [{ name: "s", run: "true" }] } },
});

const formless: Record<string, { given: Given; says: RegExp }> = {
  "a spec that is none": {
    given: { object: { metadata: { name: "a" }, spec: null } },
    says: /^object\.spec must be object/,
  },
  "a list of nothing": {
    given: { object: run({ source: { inline: "true" }, env: [null] }) },
    says: /^object\.spec\.env\.0 must be object: it has not the form of a Run/,
  },
  "owners that are none": {
    given: {
      kind: "WorkflowRun",
      object: { metadata: { name: "a", ownerReferences: 5 }, spec: { workflowRef: { name: "w" } } },
    },
    says: /^object\.metadata\.ownerReferences must be array/,
  },
  "something before that was never stored": {
    given: {
      operation: "UPDATE",
      kind: "Workflow",
      object: { metadata: {}, spec: jobs(1) },
      oldObject: { metadata: {}, spec: { jobs: { a: null } } },
    },
    says: /^oldObject\.spec/,
  },
  "a namespace that is none": { given: { namespace: deep }, says: /^the namespace of the request is no text/ },
  "an operation that is none": { given: { operation: deep }, says: /^the operation of the request is no text/ },
  "a kind that is none": { given: { kind: ["Run"] }, says: /^the kind of the request is no text/ },
  "a kind in no group": { given: { group: deep }, says: /^the group of the request is no text/ },
};

test.each(Object.entries(formless))(
  "what an API server would not send is malformed, and no failure of ours: %s",
  async (_, { given, says }) => {
    const { ask } = arrange();
    const { status, answer } = await ask(question({ object: valid, ...given }));
    expect([status, answer]).toEqual([400, expect.stringMatching(says)]);
  },
);

test("a body of another kind is told what is understood, whatever it is", async () => {
  const { ask } = arrange();
  const says = "object list is not understood here; admission.k8s.io/v1 AdmissionReview is\n";
  expect(await ask({ apiVersion: deep, kind: [] })).toEqual({ status: 400, answer: says });
});

test("a spec nested without end is refused like any other fault, whether it is new or changed", async () => {
  const { ask } = arrange();
  const object = { metadata: { name: "a" }, spec: jobs(deep) };
  const before = { metadata: { name: "a" }, spec: jobs(1) };
  for (const given of [{ object }, { operation: "UPDATE", object, oldObject: before }]) {
    const { status, answer } = await ask(question({ kind: "Workflow", ...given }));
    expect([status, answer.response?.status.code]).toEqual([200, 422]);
  }
});

test("a refusal has the path of each field, what is wrong and what to write, as kubectl shows it", async () => {
  const { ask } = arrange();
  const object = run({ mode: { session: {} }, env: [{ name: "KRUNTIME_OUTPUTS", value: "x" }] });
  const { status, answer } = await ask(question({ object }));
  expect(status).toBe(200);
  const { allowed, status: refusal } = answer.response;
  expect(allowed).toBe(false);
  expect(refusal).toMatchObject({
    code: 422,
    reason: "Invalid",
    details: { kind: "Run", group: "kruntimes.io", name: "a" },
  });
  expect(refusal.message).toMatch(/^Run\.kruntimes\.io "a" is invalid: \[spec\.mode\.session: not supported yet\./);
  const fields = refusal.details.causes.map(({ field }: { field: string }) => field);
  expect(fields).toEqual(["spec.mode.session", "spec.env[0].name"]);
  expect(refusal.details.causes[0].message).not.toContain("spec.mode.session");
});

test("a workspace is looked up when the Run is created", async () => {
  const { client, ask, answerReviews } = arrange();
  answerReviews({ allowed: true });
  const { answer } = await ask(question({ object: inAbsentWorkspace }));
  expect(answer.response.status.message).toContain("there is no PersistentWorkspace w in namespace n");
  await client.of(persistentWorkspaces).create({ metadata: { name: "w", namespace: "n" }, spec: { runtime: "bash" } });
  expect((await ask(question({ object: inAbsentWorkspace }))).answer.response.allowed).toBe(true);
});

test("a name that the API server has yet to make is told by its beginning", async () => {
  const { ask } = arrange();
  const { spec } = inAbsentWorkspace;
  const { answer } = await ask(question({ object: { metadata: { generateName: "a-", namespace: "n" }, spec } }));
  expect(answer.response.status.details.name).toBe("a-");
});

test("who may not use the workspace is told so by 403, as RBAC would", async () => {
  const { client, ask, answerReviews } = arrange();
  await client.of(persistentWorkspaces).create({ metadata: { name: "w", namespace: "n" }, spec: { runtime: "bash" } });
  answerReviews({ allowed: false });
  const { status, answer } = await ask(question({ object: inAbsentWorkspace }));
  expect([status, answer.response.allowed]).toEqual([200, false]);
  expect(answer.response.status).toMatchObject({
    code: 403,
    reason: "Forbidden",
    details: { name: "a", group: "kruntimes.io", kind: "runs" },
  });
  expect(answer.response.status.message).toMatch(/^runs\.kruntimes\.io "a" is forbidden: user "ann" may not use/);
});

test("the identity of the controller is the configured one", async () => {
  const { client, ask, answerReviews } = arrange();
  await client.of(persistentWorkspaces).create({ metadata: { name: "w", namespace: "n" }, spec: { runtime: "bash" } });
  // It would be allowed if it were asked for.
  answerReviews({ allowed: true });
  const asked = question({ object: inAbsentWorkspace, userInfo: { username: controller } });
  expect((await ask(asked)).answer.response.status).toMatchObject({ code: 403 });
});

test("the proof of the controller costs two reads from the memory of the API server, that of the WorkflowRun without its status", async () => {
  const { api, client, ask } = arrange();
  const owner = await client.of(workflowRuns).create({ metadata: { name: "ci", namespace: "n" }, spec: { jobs: {} } });
  const { uid = "" } = owner.metadata;
  const ofJob = {
    namespace: "n",
    labels: { [labels.workflowRunUID]: uid, [labels.job]: "build" },
    ownerReferences: [controllerReference(workflowRuns, owner)],
  };
  await client.of(persistentWorkspaces).create({ metadata: { name: "w", ...ofJob }, spec: { runtime: "bash" } });
  const asked: unknown[] = [];
  api.before = ({ path, query, accept }) => {
    asked.push([path.replace(/^.*\/namespaces\/n\//, ""), query, accept]);
  };
  const object = { ...inAbsentWorkspace, metadata: { name: "a", ...ofJob } };
  const { answer } = await ask(question({ object, userInfo: { username: controller } }));
  expect(answer.response).toEqual({ uid: "question", allowed: true });
  expect(asked).toEqual([
    ["persistentworkspaces/w", { resourceVersion: "0" }, undefined],
    ["workflowruns/ci", { resourceVersion: "0" }, expect.stringContaining("as=PartialObjectMetadata")],
  ]);
});

test("a permission that cannot be found out is refused, whatever the failurePolicy; clients may try again", async () => {
  const { api, ask } = arrange();
  api.before = () => {
    throw new StatusError(failure(500, "InternalError", "etcd is away"));
  };
  const { status, answer } = await ask(question({ object: inAbsentWorkspace }));
  expect([status, answer.response.allowed, answer.response.status.code]).toEqual([200, false, 503]);
  expect(answer.response.status.message).toContain("etcd is away");
});

test("a request that does not say who asks is refused where that matters", async () => {
  const { ask } = arrange();
  const { answer } = await ask(question({ object: inAbsentWorkspace, userInfo: {} }));
  expect(answer.response).toMatchObject({ allowed: false, status: { code: 503 } });
  expect((await ask(question({ object: valid, userInfo: {} }))).answer.response.allowed).toBe(true);
});

const hangs = { lookup: /persistentworkspaces/, review: /subjectaccessreviews/ };

test.each(Object.entries(hangs))(
  "a %s that hangs is given up before the API server gives up on us",
  async (_, path) => {
    const { api, client, clock, ask } = arrange();
    await client
      .of(persistentWorkspaces)
      .create({ metadata: { name: "w", namespace: "n" }, spec: { runtime: "bash" } });
    api.before = (request) => (path.test(request.path) ? new Promise(() => {}) : undefined);
    const asked = ask(question({ object: inAbsentWorkspace }));
    await clock.elapse(3500);
    expect((await asked).answer.response).toMatchObject({ allowed: false, status: { code: 503 } });
  },
);

test("when nobody's permission depends on it, a failing API server is an HTTP error, so that the failurePolicy decides", async () => {
  const { api, ask } = arrange();
  api.before = () => {
    throw new StatusError(failure(500, "InternalError", "etcd is away"));
  };
  const object = { metadata: { name: "a", namespace: "n" }, spec: { workflowRef: { name: "ci" } } };
  expect(await ask(question({ kind: "WorkflowRun", object }))).toEqual({ status: 500, answer: "etcd is away\n" });
});

test.each([
  ["no JSON", "{", "the body is no JSON\n"],
  [
    "another version",
    { apiVersion: "admission.k8s.io/v1beta1", kind: "AdmissionReview" },
    "v1beta1 AdmissionReview is not",
  ],
  ["something else", "null", "is not understood here"],
  ["no request", { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" }, "has no request with a uid"],
])("%s is refused as malformed", async (_, body, message) => {
  const { status, answer } = await arrange().ask(body);
  expect(status).toBe(400);
  expect(answer).toContain(message);
});

test("reviews are counted by what came of them", async () => {
  const { api, ask, shown } = arrange();
  await ask(question({ object: valid }));
  await ask(question({ object: valid }));
  await ask(question({ object: run({ mode: { session: {} } }) }));
  api.before = () => {
    throw new StatusError(failure(500, "InternalError", "away"));
  };
  await ask(question({ object: inAbsentWorkspace }));
  expect(shown()).toEqual([
    ["CREATE", "Run", "admitted", 2],
    ["CREATE", "Run", "refused", 1],
    ["CREATE", "Run", "failed", 1],
  ]);
});

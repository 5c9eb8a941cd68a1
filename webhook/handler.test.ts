import { expect, test } from "vitest";
import { persistentWorkspaces } from "#api/resources.ts";
import { createClient } from "#kube/client.ts";
import { memoryTransport } from "#kube/memory.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { TinyApi } from "#kube/testing/tiny-api.ts";
import { failure, StatusError } from "#kube/transport.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { createHandler } from "./handler.ts";
import { liveLookups } from "./lookups.ts";

function arrange() {
  const clock = new VirtualClock();
  const api = new TinyApi();
  const client = createClient(memoryTransport(api, clock));
  const handler = createHandler({ lookups: liveLookups(() => client), clock, logger: silentLogger });
  const ask = async (body: unknown) => {
    const { status, body: text } = await handler.handle({
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
    return { status, answer: status === 200 ? JSON.parse(text) : text };
  };
  const shown = () => handler.metrics()[0]?.samples.map(({ labels, value }) => [...Object.values(labels ?? {}), value]);
  return { clock, api, client, ask, shown };
}

interface Given {
  readonly kind?: string;
  readonly operation?: string;
  readonly object?: object | null;
  readonly oldObject?: object;
  readonly subResource?: string;
  readonly group?: string;
}

const question = ({ kind = "Run", group = "kruntimes.io", ...rest }: Given) => ({
  apiVersion: "admission.k8s.io/v1",
  kind: "AdmissionReview",
  request: {
    uid: "question",
    kind: { group, version: "v1alpha1", kind },
    namespace: "n",
    operation: "CREATE",
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
  const { client, ask } = arrange();
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

test("when the API server fails the webhook fails, so that its failurePolicy decides", async () => {
  const { api, ask } = arrange();
  api.before = () => {
    throw new StatusError(failure(500, "InternalError", "etcd is away"));
  };
  expect(await ask(question({ object: inAbsentWorkspace }))).toEqual({ status: 500, answer: "etcd is away\n" });
});

test("a lookup that hangs is given up before the API server gives up on us", async () => {
  const { api, clock, ask } = arrange();
  api.before = () => new Promise(() => {});
  const asked = ask(question({ object: inAbsentWorkspace }));
  await clock.elapse(4001);
  expect(await asked).toEqual({ status: 500, answer: "the rules took longer than 4000 ms\n" });
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

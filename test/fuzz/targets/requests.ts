import assert from "node:assert/strict";
import fc from "fast-check";
import { kinds } from "#api/crd/kinds.ts";
import type { KubeObject } from "#api/meta.ts";
import { configMaps, pods, replicaSets } from "#kube/builtin.ts";
import type { ApiHandler } from "#kube/memory.ts";
import { pathOf, type ResourceType } from "#kube/resource.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { type ApiRequest, StatusError } from "#kube/transport.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { createApiServer } from "#local/apiserver/index.ts";
import { platformCrds } from "#local/crds.ts";
import { exampleObjects } from "../examples.ts";
import { mutatedText } from "../mutate.ts";
import { mutatedJson } from "../mutate-json.ts";
import { defineTarget } from "../target.ts";

interface Stored {
  readonly resource: Pick<ResourceType<KubeObject>, "group" | "version" | "plural" | "namespaced">;
  readonly object: KubeObject;
}

const metadata = { name: "x", namespace: "default", labels: { app: "web" } };
const podSpec = {
  containers: [{ name: "c", image: "i", env: [{ name: "A", value: "1" }], ports: [{ containerPort: 80 }] }],
};
const selector = { matchLabels: { app: "web" } };
const builtin: readonly Stored[] = [
  { resource: configMaps, object: { metadata, data: { a: "1" }, binaryData: { b: "AQ==" } } as KubeObject },
  { resource: pods, object: { metadata, spec: podSpec, status: { phase: "Pending" } } as KubeObject },
  {
    resource: replicaSets,
    object: {
      metadata,
      spec: { replicas: 1, selector, template: { metadata: { labels: selector.matchLabels }, spec: podSpec } },
    } as KubeObject,
  },
];
const custom = exampleObjects.flatMap((object): Stored[] => {
  const entry = Object.entries(kinds).find(([kind]) => kind === object.kind)?.[1];
  const { generateName: _, ...rest } = object.metadata;
  return entry === undefined
    ? []
    : [{ resource: entry.resource, object: { ...object, metadata: { ...rest, name: "x", namespace: "default" } } }];
});
const stored = [...builtin, ...custom];

const types = ["application/merge-patch+json", "application/json-patch+json", "application/strategic-merge-patch+json"];
const jsonPatch = [
  { op: "add", path: "/metadata/labels", value: { a: "b" } },
  { op: "test", path: "/metadata/name", value: "x" },
  { op: "remove", path: "/spec" },
];
const query = fc.dictionary(
  fc.constantFrom(
    "labelSelector",
    "fieldSelector",
    "limit",
    "continue",
    "resourceVersion",
    "fieldValidation",
    "dryRun",
    "propagationPolicy",
  ),
  fc.oneof(
    fc.constantFrom("Strict", "Ignore", "All", "0", "1", "-1", "99999999999999999999", "", "Foreground"),
    mutatedText(
      ["app=web", "metadata.name=x", "status.phase!=Running", "eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ"],
      ["=", ",", "!", "é"],
    ),
  ),
  { maxKeys: 2 },
);

const request = fc.constantFrom(...stored).chain(({ resource, object }) =>
  fc.record({
    before: fc.constant({ resource, object }),
    method: fc.constantFrom("GET", "POST", "PUT", "PUT", "PATCH", "PATCH", "DELETE"),
    named: fc.oneof({ weight: 5, arbitrary: fc.constant(true) }, fc.boolean()),
    subresource: fc.oneof(
      { weight: 5, arbitrary: fc.constant(undefined) },
      fc.constantFrom("status", "scale", "binding", "nothing"),
    ),
    type: fc.constantFrom(...types),
    body: fc.oneof(
      { weight: 4, arbitrary: mutatedJson([object]) },
      mutatedJson([jsonPatch, { propagationPolicy: "Orphan" }]),
    ),
    query,
  }),
);

/** One for all inputs: each leaves it as empty as it found it. */
export const server = (): ApiHandler =>
  createApiServer({ crds: platformCrds(), clock: new VirtualClock(), random: seededRandom(1) });

export const requests = (handler: ApiHandler = server()) =>
  defineTarget({
    name: "requests",
    holds:
      "any request to the local API server is answered, or refused by a 4xx that says why; what it stored can be read and deleted",
    outcomes: ["answered", "refused"],
    inputs: request,
    sliceRuns: 200,
    async check({ before: { resource, object }, method, named, subresource, type, body, query }) {
      const of = (name?: string) => pathOf(resource, { namespace: "default", name });
      const all = async () => ((await handler.handle({ method: "GET", path: of() })) as { items: KubeObject[] }).items;
      await handler.handle({ method: "POST", path: of(), body: structuredClone(object) });
      const path = pathOf(resource, {
        namespace: "default",
        name: named ? "x" : undefined,
        subresource: named ? subresource : undefined,
      });
      const asked = { method, path, query, body, ...(method === "PATCH" && { contentType: type }) } as ApiRequest;
      try {
        return await outcomeOf(handler, asked);
      } finally {
        for (const { metadata } of await all()) {
          await handler.handle({
            method: "PATCH",
            path: of(metadata.name),
            body: { metadata: { finalizers: null } },
            contentType: types[0] ?? "",
          });
          await handler
            .handle({ method: "DELETE", path: of(metadata.name), query: { gracePeriodSeconds: "0" } })
            .catch(ignoreGone);
        }
        assert.deepEqual(await all(), []);
      }
    },
  });

async function outcomeOf(handler: ApiHandler, asked: ApiRequest): Promise<string> {
  try {
    const answer = await handler.handle(asked);
    assert(typeof answer === "object" && answer !== null);
    return "answered";
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    // A version that the server has not reached yet is waited for, and is a 504 as on the real one.
    const isEarly = error.code === 504 && error.status.reason === "Timeout";
    assert(isEarly || (error.code >= 400 && error.code < 500), `${error.code}: ${error.message}`);
    assert.notEqual(error.message, "");
    return "refused";
  }
}

function ignoreGone(error: unknown): void {
  if (!(error instanceof StatusError) || error.code !== 404) throw error;
}

import assert from "node:assert/strict";
import fc from "fast-check";
import { createClient } from "#kube/client.ts";
import { memoryTransport } from "#kube/memory.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { failure, StatusError } from "#kube/transport.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { createHandler, type Handler } from "#webhook/handler.ts";
import { liveLookups } from "#webhook/lookups.ts";
import { exampleObjects } from "../examples.ts";
import { mutatedBytes } from "../mutate.ts";
import { jsonText, mutatedJson } from "../mutate-json.ts";
import { defineTarget } from "../target.ts";

/** A webhook whose API server has the objects of the examples, and says yes to half of those who ask for a right. */
export function webhook(): Handler {
  const clock = new VirtualClock();
  const handle = async ({ path }: { path: string }) => {
    if (path.endsWith("/subjectaccessreviews")) return { status: { allowed: true } };
    const name = path.split("/").at(-1);
    const found = exampleObjects.find(
      ({ metadata, kind }) => metadata.name === name && path.includes(kind.toLowerCase()),
    );
    if (found === undefined) throw new StatusError(failure(404, "NotFound", "not there"));
    return found;
  };
  const watch = async () => {
    throw new Error("nothing to watch");
  };
  const client = createClient(memoryTransport({ handle, watch }, clock));
  return createHandler({
    lookups: liveLookups(() => client, clock),
    controller: "controller",
    clock,
    logger: silentLogger,
  });
}

const ours = exampleObjects.filter(
  (object) => "apiVersion" in object && String(object.apiVersion).startsWith("kruntimes.io/"),
);

const review = (operation: string, kind: string, object: unknown, oldObject?: unknown) => ({
  apiVersion: "admission.k8s.io/v1",
  kind: "AdmissionReview",
  request: {
    uid: "705ab4f5",
    kind: { group: "kruntimes.io", version: "v1alpha1", kind },
    operation,
    namespace: "default",
    userInfo: { username: "dev", groups: ["system:authenticated"], extra: { scopes: ["a"] } },
    object,
    oldObject,
  },
});
const reviews = ours.map((object) => review("UPDATE", object.kind, object, object));

/** Reviews that are right but for the objects in them. */
const ofMutated = fc
  .constantFrom(...ours)
  .chain((object) => fc.tuple(fc.constant(object), mutatedJson([object]), fc.option(mutatedJson([object]))))
  .map(([{ kind }, object, old]) =>
    old === null ? review("CREATE", kind, object) : review("UPDATE", kind, object, old),
  );

export const webhookBodies = (handler: Handler = webhook()) =>
  defineTarget({
    name: "webhook",
    holds: "any body of an admission review gets an answer with its uid, or a 4xx that says why; soon, and never a 5xx",
    sliceRuns: 120,
    outcomes: ["admitted", "refused", "no review"],
    inputs: fc.oneof(
      { weight: 6, arbitrary: ofMutated.map(jsonText) },
      { weight: 2, arbitrary: mutatedJson(reviews).map(jsonText) },
      mutatedBytes(reviews.map((value) => Buffer.from(JSON.stringify(value)))).map((bytes) => bytes.toString("utf8")),
      fc.string(),
    ),
    async check(body) {
      const { status, body: text } = await handler.handle({ body });
      assert(status === 200 || (status >= 400 && status < 500), `status ${status}: ${text}`);
      assert.notEqual(text.trim(), "", "there is a reason");
      if (status !== 200) return "no review";
      const { uid, allowed, status: why, patch } = JSON.parse(text).response;
      assert.equal(uid, JSON.parse(body).request.uid);
      assert.equal(patch, undefined, "nothing is changed");
      if (allowed === true) return "admitted";
      assert.equal(allowed, false);
      assert(typeof why.message === "string" && why.message !== "", "a refusal says why");
      assert([403, 422, 503].includes(why.code), `code ${why.code}`);
      return "refused";
    },
  });

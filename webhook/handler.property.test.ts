/** Whatever comes in and whatever the API server answers: nobody gets into a workspace without a clear yes. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { createClient } from "#kube/client.ts";
import { memoryTransport } from "#kube/memory.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { failure, StatusError } from "#kube/transport.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { createHandler } from "./handler.ts";
import { liveLookups } from "./lookups.ts";
import { type Child, childMeta, controller, owner, run, workspace } from "./testing/objects.ts";

/** A webhook whose API server answers each path as told. */
function webhook(answers: (path: string) => unknown) {
  const clock = new VirtualClock();
  const handle = async ({ path }: { path: string }) => answers(path);
  const watch = async () => {
    throw new Error("nothing to watch");
  };
  const client = createClient(memoryTransport({ handle, watch }, clock));
  return createHandler({ lookups: liveLookups(() => client, clock), controller, clock, logger: silentLogger });
}

const notFound = () => {
  throw new StatusError(failure(404, "NotFound", "not there"));
};

test("any body gets an answer that says no, or an error", async () => {
  const { handle } = webhook(notFound);
  const half = fc.record({
    apiVersion: fc.constant("admission.k8s.io/v1"),
    kind: fc.constant("AdmissionReview"),
    request: fc.jsonValue(),
  });
  const body = fc.oneof(
    fc.string(),
    fc.json(),
    half.map((value) => JSON.stringify(value)),
  );
  await fc.assert(
    fc.asyncProperty(body, async (text) => {
      const { status, body: answer } = await handle({ body: text });
      expect([200, 400, 500]).toContain(status);
      if (status === 200) expect(typeof JSON.parse(answer).response.uid).toBe("string");
    }),
    { numRuns: 300 },
  );
});

const review = (object: object, userInfo: unknown) =>
  JSON.stringify({
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: {
      uid: "1",
      kind: { group: "kruntimes.io", version: "v1alpha1", kind: "Run" },
      operation: "CREATE",
      namespace: "n",
      userInfo,
      object,
    },
  });

const maybe = <T>(...values: T[]) => fc.constantFrom(undefined, ...values);
const anyJson = fc.jsonValue({ maxDepth: 1 });
const status = fc.oneof(
  anyJson,
  fc.constant({ allowed: true }),
  fc.record(
    {
      allowed: fc.oneof(fc.boolean(), fc.boolean(), anyJson),
      denied: fc.oneof(fc.constant(undefined), fc.boolean(), anyJson),
      reason: fc.oneof(fc.string(), anyJson),
    },
    { requiredKeys: ["allowed"] },
  ),
);
const userInfo = fc.oneof(
  anyJson,
  fc.record({
    username: fc.oneof(fc.string({ minLength: 1 }), anyJson),
    groups: fc.oneof(fc.array(fc.string()), anyJson),
  }),
);

test("whoever is not the controller gets in only by an answer that allows it and does not deny it", async () => {
  let admitted = 0;
  await fc.assert(
    fc.asyncProperty(userInfo, status, async (who, said) => {
      const { handle } = webhook((path) =>
        path.endsWith("/subjectaccessreviews") ? { status: said } : workspace({ name: "shared" }),
      );
      const { body } = await handle({ body: review(run(childMeta("r")), who) });
      if (!JSON.parse(body).response.allowed) return;
      admitted++;
      const { allowed, denied } = said as { allowed?: unknown; denied?: unknown };
      expect([allowed, denied ?? false]).toEqual([true, false]);
      expect((who as { username: string }).username.length).toBeGreaterThan(0);
    }),
    { numRuns: 1000 },
  );
  expect(admitted).toBeGreaterThan(20);
});

const odd: fc.Arbitrary<Child> = fc.record(
  {
    ownerName: maybe("w", "w", "x"),
    ownerUid: maybe("w-uid", "w-uid", "x-uid", ""),
    ownerKind: maybe("WorkflowRun", "WorkflowRun", "Workflow"),
    isController: maybe(true, true, false),
    uidLabel: maybe("w-uid", "w-uid", "x-uid"),
    job: maybe("build", "build", "deploy", ""),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<Child>;

/** As the controller makes it, or with something odd. */
const child = fc.oneof(fc.constant<Child>({}), odd);

test("the controller gets in only when owner, UID, labels and job all agree, and no review can help it", async () => {
  let admitted = 0;
  await fc.assert(
    fc.asyncProperty(child, child, fc.constantFrom("w-uid", "w-uid", "new"), async (ofRun, ofWorkspace, liveUid) => {
      const live = { ...owner, metadata: { ...owner.metadata, uid: liveUid } };
      const [asked, there] = [childMeta("r", ofRun), childMeta("shared", ofWorkspace)];
      const { handle } = webhook((path) => {
        if (path.endsWith("/subjectaccessreviews")) return { status: { allowed: true } };
        if (path.includes("/workflowruns/")) return path.endsWith("/w") ? live : notFound();
        return workspace(there);
      });
      const { body } = await handle({ body: review(run(asked), { username: controller }) });
      if (!JSON.parse(body).response.allowed) return;
      admitted++;
      const facts = [asked, there].map(({ labels, ownerReferences }) => [labels, ownerReferences]);
      expect(facts[0]).toEqual(facts[1]);
      expect(asked.ownerReferences).toMatchObject([{ kind: "WorkflowRun", name: "w", uid: liveUid, controller: true }]);
      expect(Object.values(asked.labels ?? {})).toContain(liveUid);
    }),
    { numRuns: 1000 },
  );
  expect(admitted).toBeGreaterThan(20);
});

import { expect, test } from "vitest";
import { memoryTransport } from "#kube/memory.ts";
import { type ApiRequest, failure, StatusError } from "#kube/transport.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { type Access, reviewTimeoutMs, reviewUse } from "./access-review.ts";
import type { Requester } from "./requester.ts";

const ann: Requester = {
  username: "ann",
  uid: "u-1",
  groups: ["devs", "system:authenticated"],
  extra: { "example.com/team": ["a", "b"] },
};
const workspace = { namespace: "n", name: "shared" };

function server(answer: (request: ApiRequest) => unknown) {
  const requests: ApiRequest[] = [];
  const clock = new VirtualClock();
  const transport = memoryTransport(
    {
      handle: async (request) => {
        requests.push(request);
        return answer(request);
      },
      watch: async () => {
        throw new Error("nothing to watch");
      },
    },
    clock,
  );
  return { transport, requests, clock };
}

const review = (status: unknown, requester = ann) => {
  const { transport, requests } = server(() => ({ kind: "SubjectAccessReview", status }));
  return { answer: reviewUse(transport, requester, workspace), requests };
};

test("the review is for the verb use, the subresource use and the name of the workspace, and for all that is known of the requester", async () => {
  const { answer, requests } = review({ allowed: true });
  await answer;
  expect(requests).toMatchObject([
    {
      method: "POST",
      path: "/apis/authorization.k8s.io/v1/subjectaccessreviews",
      body: {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SubjectAccessReview",
        spec: {
          user: "ann",
          uid: "u-1",
          groups: ["devs", "system:authenticated"],
          extra: { "example.com/team": ["a", "b"] },
          resourceAttributes: {
            namespace: "n",
            verb: "use",
            group: "kruntimes.io",
            version: "v1alpha1",
            resource: "persistentworkspaces",
            subresource: "use",
            name: "shared",
          },
        },
      },
    },
  ]);
});

test("what is not known of the requester is left out", async () => {
  const { answer, requests } = review({ allowed: true }, { username: "bob" });
  await answer;
  const { spec = {} } = Object(requests[0]?.body) as { spec?: object };
  expect(Object.keys(spec)).toEqual(["user", "resourceAttributes"]);
});

const answers: Record<string, { status: unknown; want: Access }> = {
  allowed: { status: { allowed: true }, want: { allowed: true } },
  "allowed by one authorizer while another one failed": {
    status: { allowed: true, evaluationError: "one is away" },
    want: { allowed: true },
  },
  "not allowed": { status: { allowed: false, reason: "no role" }, want: { allowed: false, why: "no role" } },
  denied: { status: { allowed: false, denied: true }, want: { allowed: false, why: "" } },
  "a denial beside a permission": { status: { allowed: true, denied: true }, want: { allowed: false, why: "" } },
  "not allowed, and an authorizer failed": {
    status: { allowed: false, reason: "a", evaluationError: "b" },
    want: { allowed: false, why: "a; b" },
  },
};

test.each(Object.entries(answers))("%s", async (_, { status, want }) => {
  expect(await review(status).answer).toEqual(want);
});

test.each([
  ["no status", undefined],
  ["an empty status", {}],
  ["a word for a truth value", { allowed: "true" }],
  ["a number for a denial", { allowed: true, denied: 0 }],
  ["nothing", null],
])("an answer with %s is none", async (_, status) => {
  await expect(review(status).answer).rejects.toThrow("does not say whether it is allowed");
});

test("no answer at all is none", async () => {
  const { transport } = server(() => undefined);
  await expect(reviewUse(transport, ann, workspace)).rejects.toThrow("does not say whether it is allowed");
});

test("an error of the API server is passed on", async () => {
  const { transport } = server(() => {
    throw new StatusError(failure(403, "Forbidden", "not you"));
  });
  await expect(reviewUse(transport, ann, workspace)).rejects.toThrow("not you");
});

test("the review has about two seconds", async () => {
  expect(reviewTimeoutMs).toBe(2000);
  const { transport, clock } = server(() => new Promise(() => {}));
  const asked = reviewUse(transport, ann, workspace);
  const outcome = expect(asked).rejects.toThrow(/subjectaccessreviews/);
  await clock.elapse(2000);
  await outcome;
});

import { expect, test } from "vitest";
import { answerTo, readReview } from "./admission-review.ts";

const question = readReview(
  JSON.stringify({
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: {
      uid: "1",
      kind: { group: "kruntimes.io", version: "v1alpha1", kind: "Workflow" },
      operation: "CREATE",
      namespace: "n",
      userInfo: { username: "ann", groups: ["devs"] },
      object: { metadata: { name: "ci" }, spec: { jobs: {} } },
    },
  }),
);

const answer = (warnings: readonly string[]) =>
  JSON.parse(answerTo(question, { kind: "admitted", warnings })).response as { warnings?: string[] };

test("who asks is read with the question", () => {
  expect(question.review?.requester).toEqual({ username: "ann", groups: ["devs"] });
});

test("warnings go with the permission, and an answer without any has none", () => {
  expect(answer(["there is no Action x"])).toEqual({ uid: "1", allowed: true, warnings: ["there is no Action x"] });
  expect(answer([])).toEqual({ uid: "1", allowed: true });
});

test("warnings stay within what an API server passes on: 256 characters each, 4096 in all", () => {
  const { warnings = [] } = answer(Array.from({ length: 50 }, (_, n) => `${n} ${"x".repeat(300)}`));
  expect(Math.max(...warnings.map((text) => text.length))).toBe(256);
  expect(warnings.join("").length).toBeLessThanOrEqual(4096);
  expect(warnings).toHaveLength(16);
});

import fc from "fast-check";
import { expect, test } from "vitest";
import { findCondition, isTrue, removeCondition, setCondition } from "./conditions.ts";
import { fieldPath, formatFieldError } from "./field-error.ts";
import {
  childRunName,
  childWorkflowRunName,
  jobWorkspaceName,
  labelValue,
  maxRuntimeName,
  replicaSetName,
  snapshotName,
} from "./names.ts";
import { backoffAfter, isRetried, isTerminal, modeOf, requestsOf, retryOf, timeoutOf } from "./runs.ts";
import { capacityOf, drainTimeoutOf, replicasOf } from "./runtimes.ts";
import { hasEnded } from "./workflow-phases.ts";

const bound = { type: "Bound", status: "True", reason: "Bound", message: "to p1" } as const;

test("a condition's transition time moves only with its status", () => {
  const first = setCondition(undefined, bound, 1000);
  expect(first).toEqual([{ ...bound, lastTransitionTime: "1970-01-01T00:00:01.000000Z" }]);
  expect(setCondition(first, bound, 2000)).toBe(first);
  const reworded = setCondition(first, { ...bound, message: "to p2" }, 2000);
  expect(findCondition(reworded, "Bound")).toMatchObject({
    message: "to p2",
    lastTransitionTime: "1970-01-01T00:00:01.000000Z",
  });
  const lost = setCondition(reworded, { ...bound, status: "False", reason: "BoundPodDeleted" }, 3000);
  expect(findCondition(lost, "Bound")?.lastTransitionTime).toBe("1970-01-01T00:00:03.000000Z");
  expect(isTrue(lost, "Bound")).toBe(false);
  expect(first).toHaveLength(1);
  expect(isTrue(first, "Bound")).toBe(true);
});

test("a condition's message fits its field, however long what it quotes is", () => {
  const long = setCondition(undefined, { ...bound, message: "x".repeat(40_000) }, 0);
  expect(findCondition(long, "Bound")?.message).toHaveLength(32_768);
  expect(setCondition(long, { ...bound, message: "x".repeat(40_000) }, 1000)).toBe(long);
});

test("removing a condition that is not there changes nothing", () => {
  const list = setCondition([], bound, 0);
  expect(removeCondition(list, "InUse")).toBe(list);
  expect(removeCondition(list, "Bound")).toEqual([]);
  expect(removeCondition(undefined, "Bound")).toEqual([]);
});

const label = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const id = { workflowRun: "ci", workflowRunUID: "u1", job: "build", jobAttempt: 1 } as const;
const step = { ...id, step: "test" } as const;

test("every part of a step's identity gives another name", () => {
  const names = [
    step,
    { ...step, workflowRunUID: "u2" },
    { ...step, job: "build.0" },
    { ...step, actionStep: "setup" },
    { ...step, jobAttempt: 2 },
    { ...step, collision: 1 },
  ].map(childRunName);
  expect(new Set(names).size).toBe(6);
  for (const name of names) expect(name).toMatch(/^ci-build-(0-)?test-[0-9a-f]{8}$/);
  expect(childRunName({ ...step })).toBe(childRunName(step));
});

test("workspace, child run and snapshot of one job never share a name", () => {
  const names = [jobWorkspaceName(id), childWorkflowRunName(id), snapshotName("ci", "u1")];
  expect(new Set(names).size).toBe(3);
});

test("generated names are labels of at most 63 characters, whatever they are made from", () => {
  const part = fc.string({ unit: "binary", maxLength: 80 });
  fc.assert(
    fc.property(part, part, part, (workflowRun, job, name) => {
      const long = { ...step, workflowRun: `w${workflowRun}`, job, step: name };
      for (const made of [childRunName(long), jobWorkspaceName(long), childWorkflowRunName(long)]) {
        expect(made.length).toBeLessThanOrEqual(63);
        expect(made).toMatch(label);
      }
    }),
  );
});

test("the longest Runtime name leaves room for the ids of its Pods", () => {
  const set = replicaSetName("r".repeat(maxRuntimeName), "0a1b2c3d");
  expect(`${set}-x7k2p`).toHaveLength(63);
});

const labels: Record<string, { text: string; want: string | RegExp }> = {
  "a good value stays": { text: "ci-1.2_x", want: "ci-1.2_x" },
  "a service account is made readable": { text: "system:serviceaccount:ns:bot", want: "system-serviceaccount-ns-bot" },
  "ends must be letters or digits": { text: ".bot@", want: "bot" },
  "nothing usable": { text: "@@@", want: "" },
  "long values end in a hash": { text: "a".repeat(64), want: /^a{54}-[0-9a-f]{8}$/ },
  "63 characters are kept": { text: "a".repeat(63), want: "a".repeat(63) },
};

test.each(Object.entries(labels))("label value: %s", (_, { text, want }) => {
  expect(labelValue(text)).toEqual(want instanceof RegExp ? expect.stringMatching(want) : want);
});

test("two long values that differ at their ends stay apart", () => {
  expect(labelValue(`${"a".repeat(70)}1`)).not.toBe(labelValue(`${"a".repeat(70)}2`));
});

test("a Run asks for one place unless it says otherwise", () => {
  expect(requestsOf({})).toEqual({ runs: 1 });
  expect(requestsOf({ resources: { requests: { gpu: "2" } } })).toEqual({ runs: 1, gpu: 2 });
  expect(requestsOf({ resources: { requests: { runs: 3 } } })).toEqual({ runs: 3 });
  expect(requestsOf({ resources: { requests: { gpu: "500m" } } })).toBeUndefined();
});

test("defaults of a Runtime", () => {
  expect(capacityOf({})).toEqual({ runs: 2 });
  expect(capacityOf({ capacity: { resources: { runs: 8, gpu: 1 } } })).toEqual({ runs: 8, gpu: 1 });
  expect(capacityOf({ capacity: { resources: { runs: "half" } } })).toBeUndefined();
  expect([replicasOf({}), replicasOf({ replicas: 0 })]).toEqual([1, 0]);
  expect([drainTimeoutOf({}), drainTimeoutOf({ drain: { timeout: "10s" } })]).toEqual([300_000, 10_000]);
});

test("retry: what is retried, how often and after which delay", () => {
  const none = retryOf({});
  expect(isRetried(none, 1, "ExitNonZero")).toBe(false);
  const three = retryOf({ retryPolicy: { maxAttempts: 3, backoff: "20s" } });
  expect(isRetried(three, 2, "ExitNonZero")).toBe(true);
  expect(isRetried(three, 3, "ExitNonZero")).toBe(false);
  expect(isRetried(three, 1, "Cancelled")).toBe(false);
  expect([1, 2, 3, 99].map((attempt) => backoffAfter(three, attempt))).toEqual([20_000, 40_000, 60_000, 60_000]);
  const only = retryOf({ retryPolicy: { maxAttempts: 3, retryableReasons: ["PodDeleted"] } });
  expect(isRetried(only, 1, "ExitNonZero")).toBe(false);
  expect(isRetried(only, 1, "PodDeleted")).toBe(true);
  expect(backoffAfter(only, 1)).toBe(1000);
});

test("mode, timeout and ends", () => {
  expect(modeOf({})).toBe("task");
  expect(modeOf({ mode: { session: {} } })).toBe("session");
  expect(modeOf({ mode: { function: { handler: "a.b" } } })).toBe("function");
  expect(timeoutOf({})).toBeUndefined();
  expect(timeoutOf({ timeout: "1m" })).toBe(60_000);
  expect((["Pending", "Scheduled", "Running", "Ready", "Finalizing"] as const).some(isTerminal)).toBe(false);
  expect((["Succeeded", "Failed", "Timeout", "Cancelled"] as const).every(isTerminal)).toBe(true);
  expect(isTerminal(undefined)).toBe(false);
  expect((["Skipped", "Failed", "Succeeded", "Cancelled"] as const).every(hasEnded)).toBe(true);
  expect((["Waiting", "Suspended", "Stopping", undefined] as const).some(hasEnded)).toBe(false);
});

test("paths of fields read as people write them", () => {
  expect(fieldPath("spec", "jobs", "build-it", "steps", 0, "continue-on-error")).toBe(
    "spec.jobs.build-it.steps[0].continue-on-error",
  );
  expect(fieldPath("metadata", "labels", "example.com/a b")).toBe("metadata.labels[example.com/a b]");
  const error = { path: "spec.a", message: "no", type: "FieldValueInvalid" } as const;
  expect(formatFieldError(error)).toBe("spec.a: no");
  expect(formatFieldError({ ...error, advice: "Write b." })).toBe("spec.a: no. Write b.");
});

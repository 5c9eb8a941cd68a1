import { expect, test } from "vitest";
import type { Event } from "#kube/builtin.ts";
import { aRun, at, start } from "../testing/objects.ts";
import { describeRun } from "./describe-run.ts";

const failed = aRun(
  "hello",
  {
    phase: "Failed",
    reason: "ExitNonZero",
    message: "exit code 7:\nthe last \u001b[31mwords",
    assignedPod: "pod-1",
    attempt: 2,
    attempts: [{ number: 1, reason: "PodDeleted", pod: "pod-0", endTime: at(3) }],
    startTime: at(4),
    completionTime: at(5),
    duration: "1s",
    exitCode: 7,
    outputs: { version: "1.2" },
  },
  { mode: { task: { args: ["sh", "-c", "exit 7"] } }, timeout: "1m", retryPolicy: { maxAttempts: 2 } },
);

const event: Event = {
  metadata: { name: "e", namespace: "default" },
  eventTime: at(4),
  type: "Normal",
  reason: "Assigned",
  note: "assigned to pod-1",
  reportingController: "kruntimes.io/scheduler",
};

test("a Run that failed: why, what to do, what was before, and what it left", () => {
  const run = { ...failed, metadata: { ...failed.metadata, labels: { a: "b" }, creationTimestamp: at(0) } };
  expect(
    describeRun(run, [event], start + 10_000)
      .join("\n")
      .split("\n"),
  ).toEqual([
    "Name:      hello",
    "Namespace: default",
    "Labels:    a=b",
    `Created:   ${at(0)} (10s ago)`,
    "Runtime:   bash",
    'Source:    command sh -c "exit 7"',
    "Timeout:   1m",
    "Retries:   1",
    "Phase:     Failed",
    "Reason:    ExitNonZero",
    "Message:   exit code 7:",
    "           the last \\u001b[31mwords",
    "Advice:    Read the logs of the Run.",
    "Pod:       pod-1",
    "Attempt:   2",
    `Started:   ${at(4)}`,
    `Ended:     ${at(5)}`,
    "Duration:  1s",
    "Exit code: 7",
    "Outputs:",
    "  version = 1.2",
    "Earlier attempts:",
    "  NUMBER   REASON       EXIT CODE   POD     ENDED",
    `  1        PodDeleted               pod-0   ${at(3)}`,
    "Events:",
    "  AGE   TYPE     REASON     FROM                     MESSAGE",
    "  6s    Normal   Assigned   kruntimes.io/scheduler   assigned to pod-1",
  ]);
});

test("what is not there is left out", () => {
  const lines = describeRun(aRun("a", undefined), [], start);
  expect(lines).toEqual(["Name:      a", "Namespace: default", "Runtime:   bash"]);
});

import type { AnyMachineSnapshot } from "xstate";
import type { Retry } from "#api/runs.ts";
import { type RunEvent, type RunSnapshot, restoreRun } from "#machines/run.ts";
import { artifact, at, type Samples, type Walk } from "./samples.ts";

const once: Retry = { maxAttempts: 1, backoffMs: 1000, reasons: [] };
const twice: Retry = { maxAttempts: 2, backoffMs: 1000, reasons: [] };
const timeouts: Retry = { maxAttempts: 3, backoffMs: 1000, reasons: ["Timeout"] };
const message = "text for people";

export const runSamples: Samples<RunEvent> = {
  WAIT: [
    { type: "WAIT", reason: "NoReadyPods", message, now: at(1) },
    { type: "WAIT", reason: "InsufficientCapacity", message: "2 of 2 Pods are full", now: at(31) },
  ],
  ASSIGN: [
    // Too early for a Run that backs off.
    { type: "ASSIGN", pod: "pod-a", podUID: "uid-a", now: at(50) },
    { type: "ASSIGN", pod: "pod-b", podUID: "uid-b", now: at(500) },
  ],
  TAKE_BACK: [{ type: "TAKE_BACK", now: at(515) }],
  HAND_BACK: [{ type: "HAND_BACK", message: "the Pod is draining", now: at(501) }],
  CLAIM: [{ type: "CLAIM", now: at(60) }],
  SUCCEED: [
    { type: "SUCCEED", exitCode: 0, now: at(61) },
    {
      type: "SUCCEED",
      exitCode: 0,
      outputs: { tests: "passed" },
      artifactRefs: [artifact("dist.tgz", "u1")],
      now: at(62),
    },
  ],
  FAIL: [
    { type: "FAIL", reason: "ExitNonZero", message, exitCode: 3, retry: once, now: at(100) },
    { type: "FAIL", reason: "ExitNonZero", message, exitCode: 3, retry: twice, now: at(100) },
    {
      type: "FAIL",
      reason: "ExitNonZero",
      message,
      exitCode: 1,
      outputs: { tests: "3 failed" },
      retry: twice,
      now: at(100),
    },
    { type: "FAIL", reason: "Timeout", message, outputs: { tests: "3 failed" }, retry: once, now: at(100) },
    { type: "FAIL", reason: "OutputsInvalid", message, exitCode: 0, retry: twice, now: at(100) },
    { type: "FAIL", reason: "StartFailed", message, retry: timeouts, now: at(100) },
    { type: "FAIL", reason: "Timeout", message, retry: once, now: at(100) },
    { type: "FAIL", reason: "Timeout", message, retry: timeouts, now: at(100) },
  ],
  CANCEL: [
    { type: "CANCEL", message: "cancelled by its owner", now: at(200) },
    { type: "CANCEL", message: "cancelled by its owner", outputs: { machine: "vm-1" }, now: at(200) },
  ],
  POD_LOST: [
    { type: "POD_LOST", reason: "PodDeleted", message, retry: once, now: at(100) },
    { type: "POD_LOST", reason: "NodeLost", message, retry: twice, now: at(100) },
    { type: "POD_LOST", reason: "RuntimeDeleted", message, retry: twice, now: at(100) },
  ],
  INVALID: [{ type: "INVALID", reason: "InvalidResources", message, now: at(2) }],
  RUNTIME_DELETED: [{ type: "RUNTIME_DELETED", message, now: at(600) }],
};

export const runWalk: Walk = {
  samples: runSamples,
  // A history at its bound: the eleventh attempt pushes the first one out.
  starts: [
    restoreRun({
      phase: "Running",
      assignedPod: "pod-a",
      assignedPodUID: "uid-a",
      assignmentEpoch: 11,
      attempt: 1,
      attempts: Array.from({ length: 10 }, (_, index) => ({ number: index + 1 })),
      startTime: "2025-07-06T12:00:00.000000Z",
    }),
  ],
  essence: (snapshot: AnyMachineSnapshot) => {
    const { value, context } = snapshot as RunSnapshot;
    const { attempt, attempts, reason, message, nextAttemptTime, assignmentEpoch } = context.status;
    const history = Math.min(attempts?.length ?? 0, 10);
    return [value, attempt, history, reason, message, nextAttemptTime, (assignmentEpoch ?? 0) > 0];
  },
};
